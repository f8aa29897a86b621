"""How handlers are run: when `consume` returns, side by side, and on an event loop."""

import asyncio
import contextvars
import threading

import pytest

from idempotent_consumer import Eager, Lazy, Message, Natural, Outcome, Transactional, UnitOfWork
from idempotent_consumer.modes import Mode
from idempotent_consumer.testing import InMemoryStore, sqs_record
from tests.promises.world import World

FIFO = "arn:aws:sqs:eu-central-1:111122223333:orders.fifo"
current = contextvars.ContextVar("current", default="nobody's")


@pytest.fixture
def world() -> World:
    return World(InMemoryStore())


def arrivals(count: int, **options: str) -> list[dict[str, object]]:
    return [sqs_record({"id": str(number)}, sqs_message_id=f"m{number}", **options) for number in range(count)]  # type: ignore[arg-type]


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("is_async", [False, True])
def test_consume_returns_only_when_every_started_handler_has_ended(
    world: World, concurrency: int, *, is_async: bool
) -> None:
    """A thread that went on would have its effect in a later invocation, when the sandbox thaws."""
    under_way: set[str] = set()

    def handle(message: Message, work: UnitOfWork) -> None:
        under_way.add(message.id)
        under_way.discard(message.id)

    async def handle_async(message: Message, work: UnitOfWork) -> None:
        under_way.add(message.id)
        await asyncio.sleep(0)
        under_way.discard(message.id)

    worker = world.worker(Eager(), handle_async if is_async else handle, concurrency=concurrency)
    before = threading.active_count()

    assert worker.deliver(*arrivals(20)) == []
    assert under_way == set()
    assert threading.active_count() == before


def test_so_many_handlers_run_side_by_side_as_were_asked_for(world: World) -> None:
    """Each waits for the other three: one fewer, and nobody would get through."""
    meeting = threading.Barrier(4)

    worker = world.worker(Eager(), lambda message, work: meeting.wait(timeout=60), concurrency=4)

    assert worker.deliver(*arrivals(8)) == []


def test_async_handlers_run_side_by_side_on_one_loop(world: World) -> None:
    loops: set[asyncio.AbstractEventLoop] = set()
    waiting: list[asyncio.Event] = []

    async def handle(message: Message, work: UnitOfWork) -> None:
        loops.add(asyncio.get_running_loop())
        waiting.append(asyncio.Event())
        if len(waiting) == 3:
            for event in waiting:
                event.set()
        await waiting[-1].wait()

    worker = world.worker(Lazy(), handle, concurrency=3)

    assert worker.deliver(*arrivals(3)) == []
    assert len(loops) == 1


def test_no_more_handlers_run_than_were_asked_for(world: World) -> None:
    running, most, lock = 0, 0, threading.Lock()

    async def handle(message: Message, work: UnitOfWork) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        await asyncio.sleep(0)
        with lock:
            running -= 1

    world.worker(Natural(), handle, concurrency=3).deliver(*arrivals(30))

    assert 1 <= most <= 3


@pytest.mark.parametrize("mode", [Lazy(), Eager(), Transactional(), Natural()])
def test_side_by_side_each_group_keeps_its_order(world: World, mode: Mode) -> None:
    seen: dict[str, list[int]] = {"a": [], "b": [], "c": []}

    def handle(message: Message, work: UnitOfWork) -> None:
        seen[str(message.group_id)].append(message.json()["id"])

    records = [sqs_record({"id": number}, group_id="abc"[number % 3], queue_arn=FIFO) for number in range(60)]

    assert world.worker(mode, handle, concurrency=6).deliver(*records) == []
    assert {group: sorted(ids) for group, ids in seen.items()} == seen


def test_what_a_handler_sets_in_its_context_no_other_sees(world: World) -> None:
    seen: list[str] = []

    def handle(message: Message, work: UnitOfWork) -> None:
        seen.append(current.get())
        current.set(message.id)

    world.worker(Lazy(), handle).deliver(*arrivals(3))

    assert seen == ["nobody's"] * 3
    assert current.get() == "nobody's"


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_handler_sees_the_context_of_the_invocation(world: World, concurrency: int) -> None:
    seen: set[str] = set()

    async def handle(message: Message, work: UnitOfWork) -> None:
        seen.add(current.get())

    token = current.set("the invocation's")
    world.worker(Lazy(), handle, concurrency=concurrency).deliver(*arrivals(8))
    current.reset(token)

    assert seen == {"the invocation's"}


def test_an_async_handler_that_is_cancelled_has_failed_and_its_neighbours_have_not(world: World) -> None:
    async def handle(message: Message, work: UnitOfWork) -> None:
        if message.id == "1":
            raise asyncio.CancelledError

    worker = world.worker(Eager(), handle)

    assert worker.deliver(*arrivals(3)) == ["m1"]
    assert worker.outcomes == [Outcome.PROCESSED, Outcome.FAILED, Outcome.PROCESSED]


def test_a_plain_function_that_returns_an_awaitable_is_awaited_and_not_acknowledged_unrun(world: World) -> None:
    done: list[str] = []

    async def later(message_id: str) -> None:
        done.append(message_id)

    world.worker(Lazy(), lambda message, work: later(message.id)).deliver(*arrivals(2))

    assert sorted(done) == ["0", "1"]


def test_a_handler_knows_the_time_left(world: World) -> None:
    left: list[float] = []

    def handle(message: Message, work: UnitOfWork) -> None:
        left.append(message.time_left().total_seconds())
        world.pass_ms(2_000)

    world.worker(Lazy(), handle).deliver(*arrivals(2), remaining_ms=10_000)

    assert left == [10, 8]
