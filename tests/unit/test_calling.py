"""How handlers are called: to their very end, in a context of their own, and on which event loop."""

import asyncio
import concurrent.futures
import contextvars
import functools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from idempotent_consumer.calling import Caller
from idempotent_consumer.errors import ConfigurationError, Reject

Handler = Callable[..., Any]


@pytest.fixture
def caller() -> Iterator[Caller]:
    caller = Caller()
    yield caller
    caller.close()


class CallableObject:
    """An object to call, which calls a function in turn."""

    def __init__(self, function: Handler) -> None:
        self.function = function

    def __call__(self, *arguments: object) -> Any:
        return self.function(*arguments)


async def asynchronous(append: Callable[[object], None], *arguments: object) -> None:
    await asyncio.sleep(0)
    append(arguments)


def returning_awaitable(append: Callable[[object], None], *arguments: object) -> Awaitable[None]:
    return asynchronous(append, *arguments)


def synchronous(append: Callable[[object], None], *arguments: object) -> None:
    append(arguments)


KINDS = [synchronous, asynchronous, returning_awaitable, functools.partial(asynchronous)]


@pytest.mark.parametrize("function", [*KINDS, CallableObject(asynchronous)])
def test_a_call_returns_when_the_function_has_ended(caller: Caller, function: Handler) -> None:
    seen: list[object] = []

    caller.call(function, seen.append, "argument")

    assert seen == [("argument",)]


@pytest.mark.parametrize("function", KINDS)
@pytest.mark.parametrize("error", [Reject("no"), ValueError("no"), KeyError("no")])
def test_what_a_function_raises_comes_out_of_the_call(caller: Caller, function: Handler, error: BaseException) -> None:
    def fail(_: object) -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        caller.call(function, fail)

    assert raised.value is error


@pytest.mark.timeout(5)
@pytest.mark.parametrize("function", KINDS)
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_a_handler_that_exits_does_not_take_the_others_with_it(function: Handler, error: type[BaseException]) -> None:
    def leave() -> None:
        raise error

    caller, seen = Caller(), list[object]()

    with pytest.raises(error):
        caller.call(function, lambda _: leave())
    caller.call(function, seen.append)
    caller.close()

    assert seen == [()]


def test_a_handler_that_cancels_itself_raises(caller: Caller) -> None:
    async def cancel() -> None:
        raise asyncio.CancelledError

    with pytest.raises((asyncio.CancelledError, concurrent.futures.CancelledError)):
        caller.call(cancel)


# -- Context variables ----------------------------------------------------------------------------

variable = contextvars.ContextVar("variable", default="unset")


@pytest.mark.parametrize("function", KINDS)
def test_what_one_call_sets_does_not_reach_the_next(caller: Caller, function: Handler) -> None:
    seen: list[str] = []

    def get_and_set(arguments: object) -> None:
        seen.append(variable.get())
        variable.set("left behind")

    caller.call(function, get_and_set)
    caller.call(function, get_and_set)

    assert [*seen, variable.get()] == ["unset", "unset", "unset"]


@pytest.mark.parametrize("function", KINDS)
def test_a_call_sees_what_its_caller_has_set(caller: Caller, function: Handler) -> None:
    seen: list[str] = []

    def call() -> None:
        variable.set("set by the caller")
        caller.call(function, lambda _: seen.append(variable.get()))

    contextvars.copy_context().run(call)

    assert seen == ["set by the caller"]


def test_a_coroutine_sees_what_the_function_that_returned_it_has_set(caller: Caller) -> None:
    seen: list[str] = []

    async def get() -> None:
        seen.append(variable.get())

    def set_and_return() -> Awaitable[None]:
        variable.set("set by the function")
        return get()

    caller.call(set_and_return)

    assert [*seen, variable.get()] == ["set by the function", "unset"]


# -- What is returned -----------------------------------------------------------------------------


def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("function", [generator, async_generator, CallableObject(generator)])
def test_a_generator_fails_and_does_not_pass_for_handled(caller: Caller, function: Handler) -> None:
    with pytest.raises(ConfigurationError, match="generator"):
        caller.call(function)


def test_a_coroutine_that_returns_another_is_awaited_to_the_end(caller: Caller) -> None:
    seen: list[object] = []

    async def forgot_to_await() -> Awaitable[None]:
        return asynchronous(seen.append)

    caller.call(forgot_to_await)

    assert seen == [()]


def test_a_future_is_waited_for(caller: Caller) -> None:
    with ThreadPoolExecutor(1) as workers, pytest.raises(ValueError, match="in the future"):
        caller.call(lambda: workers.submit(int, "in the future"))


@pytest.mark.parametrize("result", [None, 42, "text", [1], {"statusCode": 200}, range(3), iter([1])])
def test_any_other_result_is_ignored(caller: Caller, result: object) -> None:
    caller.call(lambda: result)  # raises nothing


# -- The event loop -------------------------------------------------------------------------------


def test_async_calls_share_one_loop_in_a_thread_of_its_own(caller: Caller) -> None:
    seen: list[tuple[asyncio.AbstractEventLoop, threading.Thread]] = []

    async def note() -> None:
        seen.append((asyncio.get_running_loop(), threading.current_thread()))

    caller.call(note)
    caller.call(note)

    assert seen[0] == seen[1]
    assert seen[0][1] is not threading.current_thread()


def test_async_calls_of_two_workers_run_side_by_side(caller: Caller) -> None:
    first, second = asyncio.Event(), asyncio.Event()

    async def meet(mine: asyncio.Event, other: asyncio.Event) -> None:
        mine.set()
        await asyncio.wait_for(other.wait(), timeout=30)

    with ThreadPoolExecutor(2) as workers:
        calls = [workers.submit(caller.call, meet, *each) for each in ((first, second), (second, first))]

    assert [call.result() for call in calls] == [None, None]


def test_without_async_calls_there_is_no_thread_to_end() -> None:
    before = threading.active_count()
    caller = Caller()

    caller.call(synchronous, id)

    assert threading.active_count() == before
    caller.close()


def test_closing_ends_the_thread_and_what_a_handler_has_left_running() -> None:
    caller, ended, before = Caller(), threading.Event(), threading.active_count()

    async def for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def leave_behind() -> None:
        task = asyncio.create_task(for_ever(), name="left behind")
        await asyncio.sleep(0)
        assert not task.done()

    caller.call(leave_behind)
    caller.close()

    assert ended.is_set()
    assert threading.active_count() == before


def test_a_handler_that_stops_the_loop_stops_nobody(caller: Caller) -> None:
    seen: list[object] = []

    async def stop() -> None:
        asyncio.get_running_loop().stop()

    caller.call(stop)
    caller.call(asynchronous, seen.append)

    assert seen == [()]
