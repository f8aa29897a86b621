"""Call what users have written: of the right signature, in a context of its own, and to its very end."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from idempotent_consumer.errors import ConfigurationError

_NOT_HANDLERS = (["event", "context"], ["work", "message"])  # what Lambda calls, and the wrong way round
_LEFTOVERS_S = 1.0  # at most, for tasks that handlers have left behind to end when they are cancelled


def check_signature(function: Any, *parameters: str) -> None:
    """
    Make sure that a function can be called with the given positional arguments.

    Raises:
        ConfigurationError: it cannot, or is a generator, whose body would not run.
    """
    wanted = f"({', '.join(parameters)})"
    name = getattr(function, "__qualname__", repr(function))
    if not callable(function):
        raise ConfigurationError(f"{name} is no function: decorate one that takes {wanted}")
    try:
        signature = inspect.signature(function)
        signature.bind(*parameters)
    except TypeError as error:
        raise ConfigurationError(f"{name} must take {wanted}: {error}") from error
    except ValueError:  # some built-in functions do not tell their signature
        signature = inspect.Signature()
    if list(signature.parameters)[:2] in _NOT_HANDLERS:
        raise ConfigurationError(f"{name} must take {wanted}, and takes {signature}")
    body = function if inspect.isroutine(function) else getattr(type(function), "__call__", function)  # noqa: B004
    if any(map(inspect.isgeneratorfunction, (function, body))) or any(
        map(inspect.isasyncgenfunction, (function, body))
    ):
        raise ConfigurationError(f"{name} is a generator, whose body would never run: return instead of yield")


class Caller:
    """
    Call functions for one invocation; async ones share one event loop, which runs in a thread of its own.

    A function sees a copy of the calling thread's context variables, so that what it sets does not reach the next one.

    Args:
        awaiting: returns, in the calling thread, what is awaited in the place of an awaitable.
    """

    def __init__(self, awaiting: Callable[[Awaitable[Any]], Awaitable[Any]] = lambda awaitable: awaitable) -> None:
        self._awaiting = awaiting
        self._lock = threading.Lock()
        self._loop: _LoopThread | None = None

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """
        Call a function and wait for its end; what it raises comes out of here.

        What it returns is looked at only for work that is not done yet: an awaitable is awaited, a future waited for.

        Raises:
            ConfigurationError: it returned a generator, whose body has not run and would never.
        """
        context = contextvars.copy_context()
        result = context.run(function, *arguments)
        while inspect.isawaitable(result) or isinstance(result, concurrent.futures.Future):
            if isinstance(result, concurrent.futures.Future):
                result = result.result()
            else:
                result = context.run(self._finish, result)
        if inspect.isgenerator(result) or inspect.isasyncgen(result):
            raise ConfigurationError("the handler returned a generator, whose body never runs: return instead of yield")

    def close(self, within_s: float = _LEFTOVERS_S) -> None:
        """End the event loop, and what handlers have left running on it, as far as that goes within so many seconds."""
        if self._loop is not None:
            self._loop.close(min(within_s, _LEFTOVERS_S))

    def _finish(self, awaitable: Awaitable[Any]) -> Any:
        with self._lock:
            self._loop = self._loop or _LoopThread()
        return self._loop.finish(self._awaiting(awaitable))


class _LoopThread:
    """
    Run an event loop until it is closed.

    asyncio lets SystemExit and KeyboardInterrupt of any task end the loop, and any task may stop it. The handlers of
    other messages are on it as well, so it goes on all the same.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._is_closing = False
        self._leftovers_s = 0.0
        # A daemon, since a task that does not let itself be cancelled must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="async-handlers", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._loop.close()
            raise

    def finish(self, awaitable: Awaitable[Any]) -> Any:
        """Return what an awaitable comes to, in the calling thread; what it raises comes out of here."""
        result, error = asyncio.run_coroutine_threadsafe(_ended(awaitable), self._loop).result()
        if error is not None:
            raise error
        return result

    def close(self, within_s: float) -> None:
        """Stop the loop, cancel what is left on it, and wait for that so long."""
        self._leftovers_s = within_s / 2
        self._is_closing = True
        with contextlib.suppress(RuntimeError):  # something has stopped it in this very instant
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(within_s)

    def _run(self) -> None:
        while not self._is_closing:
            with contextlib.suppress(BaseException):
                self._loop.run_forever()
        with contextlib.suppress(BaseException):
            self._loop.run_until_complete(_cancel_leftovers(self._leftovers_s))
        self._loop.close()


async def _ended(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """Await, and return what was raised instead of raising it: some exceptions would end the loop."""
    try:
        return await awaitable, None
    except BaseException as error:  # noqa: BLE001 - raised again in the thread that called
        return None, error


async def _cancel_leftovers(within_s: float) -> None:
    if leftovers := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in leftovers:
            task.cancel()
        await asyncio.wait(leftovers, timeout=within_s)
