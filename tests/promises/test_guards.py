"""Whatever users' functions do, it concerns one message: its neighbours go on, and nothing unrun is acknowledged."""

import asyncio
import concurrent.futures
import functools
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from idempotent_consumer import (
    ConditionFailed,
    ConfigurationError,
    Eager,
    IdempotentConsumer,
    Lazy,
    Message,
    Natural,
    Outcome,
    Reject,
    Settings,
    Transactional,
    UnitOfWork,
    attribute,
)
from idempotent_consumer.telemetry import Telemetry
from idempotent_consumer.testing import FakeClock, FakeContext, InMemoryStore, sqs_event, sqs_record
from tests.promises.faults import FaultyStore
from tests.promises.world import Handler, World

EXITS = [SystemExit(1), asyncio.CancelledError(), GeneratorExit()]


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.fixture
def world() -> World:
    return World(InMemoryStore())


def arrivals(count: int, **options: Any) -> list[dict[str, Any]]:
    return [sqs_record({"id": str(number)}, sqs_message_id=f"m{number}", **options) for number in range(count)]


def raising(error: BaseException, *, on: str = "1") -> Handler:
    def handle(message: Message, work: UnitOfWork) -> None:
        if message.id == on:
            raise error

    return handle


# -- what is raised ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [*EXITS, UnspeakableError(), MemoryError(), RecursionError()])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_whatever_a_handler_raises_its_neighbours_are_handled(
    world: World, error: BaseException, concurrency: int, *, is_async: bool
) -> None:
    handle = raising(error)

    async def handle_async(message: Message, work: UnitOfWork) -> None:
        await asyncio.sleep(0)
        handle(message, work)

    worker = world.worker(Eager(), handle_async if is_async else handle, concurrency=concurrency)

    assert worker.deliver(*arrivals(6)) == ["m1"]
    assert sorted(worker.handled) == list("012345")


@pytest.mark.parametrize("error", [*EXITS, UnspeakableError(), ValueError("no")])
@pytest.mark.parametrize("place", ["envelope", "parse", "message_id"])
def test_whatever_an_opener_a_parser_or_an_id_strategy_raises_only_its_own_record_is_rejected(
    world: World, error: BaseException, place: str
) -> None:
    def of(source: Any) -> Any:
        body = source if isinstance(source, str) else source.body
        if json.loads(body)["id"] == "1":
            raise error
        return body

    worker = world.worker(Lazy(), **{place: of})

    assert worker.deliver(*arrivals(3)) == ["m1"]
    assert worker.outcomes[1] is Outcome.REJECTED


@pytest.mark.parametrize("error", [TimeoutError("no answer from S3"), ConnectionResetError(), MemoryError()])
@pytest.mark.parametrize("place", ["envelope", "parse"])
def test_what_is_not_the_messages_fault_does_not_reject_it(world: World, error: Exception, place: str) -> None:
    """A content that has to be fetched may be there at the next delivery."""
    fails = [error]

    def fetch(body: str) -> str:
        if fails:
            raise fails.pop()
        return body

    worker = world.worker(Lazy(), **{place: fetch})
    record = arrivals(1)[0]

    assert (worker.deliver(record), worker.outcomes) == (["m0"], [Outcome.FAILED])
    assert (worker.deliver(record), worker.outcomes) == ([], [Outcome.PROCESSED])


@pytest.mark.parametrize("inside", [None, b"bytes", 7, {"id": "1"}])
def test_an_opener_that_returns_no_text_is_told_so(world: World, inside: Any) -> None:
    worker = world.worker(Lazy(), envelope=lambda body: inside)

    assert worker.deliver(*arrivals(1)) == ["m0"]
    assert "let it return text" in worker.reports[0].reason


@pytest.mark.parametrize("error", [*EXITS, UnspeakableError(), ValueError("no")])
def test_whatever_the_answer_to_a_failed_condition_raises_concerns_its_message_only(error: BaseException) -> None:
    store = InMemoryStore()
    store.refuse = lambda write: write.request["Item"]["id"]["S"] == "1"
    worker = World(store).worker(
        Transactional(), lambda message, work: work.put_item(TableName="t", Item={"id": {"S": message.id}})
    )

    @worker.consumer.on_condition_failed
    def answer(message: Message, work: UnitOfWork, failure: ConditionFailed) -> None:
        raise error

    assert worker.deliver(*arrivals(3)) == ["m1"]


def test_an_interruption_by_the_person_at_the_keyboard_stops_all_of_it(world: World) -> None:
    async def handle(message: Message, work: UnitOfWork) -> None:
        raise KeyboardInterrupt

    worker = world.worker(Eager(), handle)

    with pytest.raises(KeyboardInterrupt):
        worker.deliver(*arrivals(2))
    assert world.items("consumer#0", "consumer#1") == {}


@pytest.mark.parametrize(
    ("errors", "outcome"),
    [([Reject("a"), Reject("b")], Outcome.REJECTED), ([Reject("a"), ValueError("b")], Outcome.FAILED)],
)
def test_a_group_of_errors_is_permanent_if_every_one_of_them_is(
    world: World, errors: list[Exception], outcome: Outcome
) -> None:
    worker = world.worker(Lazy(), raising(ExceptionGroup("several", errors), on="0"))

    worker.deliver(*arrivals(1))

    assert worker.outcomes == [outcome]


def nested(error: Exception, depth: int) -> Exception:
    for _ in range(depth):
        error = ExceptionGroup("one more", [error])
    return error


@pytest.mark.parametrize(("error", "outcome"), [(Reject("no"), Outcome.REJECTED), (ValueError("no"), Outcome.FAILED)])
def test_a_group_of_errors_concerns_its_message_only_however_deep_it_is(
    world: World, error: Exception, outcome: Outcome
) -> None:
    worker = world.worker(Eager(), raising(nested(error, 3_000)))

    assert worker.deliver(*arrivals(3)) == ["m1"]
    assert worker.outcomes == [Outcome.PROCESSED, outcome, Outcome.PROCESSED]


@pytest.mark.parametrize("depth", [1, 3_000])
def test_a_group_of_errors_has_its_log_line_however_deep_it_is(
    world: World, capsys: pytest.CaptureFixture[str], depth: int
) -> None:
    world.worker(Lazy(), raising(nested(ValueError("no"), depth), on="0"), name=f"deep-{depth}").deliver(*arrivals(1))

    output = capsys.readouterr().out
    assert '"outcome": "FAILED"' in output
    assert ("ValueError: no" in output) == (depth == 1)


def test_a_group_that_holds_one_error_very_many_times_over_is_judged_at_once(world: World) -> None:
    error: Exception = Reject("no")
    for _ in range(200):
        error = ExceptionGroup("twice", [error, error])
    worker = world.worker(Eager(), raising(error, on="0"))

    worker.deliver(*arrivals(1))

    assert worker.outcomes == [Outcome.REJECTED]


class Unspeakable(Exception):  # noqa: N818 - it says nothing
    """Raise something else when it is to be written."""

    def __init__(self, instead: BaseException) -> None:
        self._instead = instead

    def __str__(self) -> str:
        raise self._instead


@pytest.mark.parametrize("instead", EXITS)
@pytest.mark.parametrize("place", ["handler", "parse", "on_outcome"])
def test_an_exception_that_cannot_be_written_concerns_its_message_only(
    capsys: pytest.CaptureFixture[str], instead: BaseException, place: str
) -> None:
    def fail(at: str, text: str) -> None:
        if at == place and json.loads(text)["id"] == "1":
            raise Unspeakable(instead)

    consumer = IdempotentConsumer(
        f"{place}-{type(instead).__name__}",
        mode=Natural(),
        parse=lambda body: fail("parse", body),
        on_outcome=lambda report: fail("on_outcome", report.message.body),
    )
    consumer.handler(lambda message, work: fail("handler", message.body))
    response = consumer.consume(sqs_event(*arrivals(3)), FakeContext())

    assert response == {"batchItemFailures": [] if place == "on_outcome" else [{"itemIdentifier": "m1"}]}
    assert capsys.readouterr().out.count('"message": "delivery"') == 3


NESTED: Any = []
for _ in range(100_000):
    NESTED = [NESTED]


@pytest.mark.parametrize("name", ["eventSourceARN", "receiptHandle", "attributes", "messageAttributes", "body"])
def test_a_member_of_a_record_concerns_its_message_only_however_deep_it_is(world: World, name: str) -> None:
    records = arrivals(3)
    records[1][name] = NESTED
    worker = world.worker(Lazy())

    worker.deliver(*records)

    assert set(worker.handled) >= {"0", "2"}


@pytest.mark.parametrize(
    "name",
    ["ApproximateReceiveCount", "SentTimestamp", "MessageGroupId", "MessageDeduplicationId", "AWSTraceHeader"],
)
def test_what_sqs_says_of_a_delivery_is_absent_however_deep_it_is(world: World, name: str) -> None:
    records = arrivals(3)
    records[1]["attributes"][name] = NESTED
    worker = world.worker(Lazy())

    assert worker.deliver(*records) == []
    assert sorted(worker.handled) == ["0", "1", "2"]


def test_a_letter_from_a_queue_of_any_depth_is_none_of_this_queues(world: World) -> None:
    deep = "[" * 900 + "]" * 900
    records = arrivals(2)
    records[1]["messageAttributes"] = {"dead-letter": {"stringValue": f'{{"queue_arn": {deep}}}', "dataType": "String"}}
    records[1]["eventSourceARN"] = json.loads(deep)

    assert world.worker(Lazy()).deliver(*records) == []


# -- what did not run ----------------------------------------------------------------------------------------


def generator(message: Message, work: UnitOfWork) -> Iterator[None]:
    yield


async def async_generator(message: Message, work: UnitOfWork) -> AsyncIterator[None]:
    yield


class Callables:
    class Generator:
        def __call__(self, message: Message, work: UnitOfWork) -> Iterator[None]:
            yield

    @staticmethod
    def wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(message: Message, work: UnitOfWork) -> Any:
            return function(message, work)

        return wrapper


@pytest.mark.parametrize(
    "handler",
    [Callables.Generator(), Callables.wrapping(generator), Callables.wrapping(async_generator)],
    ids=["callable object", "wrapped generator", "wrapped async generator"],
)
def test_a_handler_whose_body_never_ran_is_not_acknowledged(world: World, handler: Handler) -> None:
    worker = world.worker(Lazy(), handler)

    assert worker.deliver(*arrivals(1)) == ["m0"]
    assert isinstance(worker.reports[0].error, ConfigurationError)


def test_an_async_decorator_that_forgot_to_await_is_awaited_for(world: World) -> None:
    done: list[str] = []

    async def body(message: Message, work: UnitOfWork) -> None:
        await asyncio.sleep(0)
        done.append(message.id)

    async def forgetful(message: Message, work: UnitOfWork) -> Any:
        return body(message, work)

    world.worker(Lazy(), forgetful).deliver(*arrivals(2))

    assert sorted(done) == ["0", "1"]


def test_a_future_that_a_handler_returns_is_waited_for_and_its_error_is_the_handlers(world: World) -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        worker = world.worker(Lazy(), lambda message, work: pool.submit(lambda: 1 / 0))

        assert worker.deliver(*arrivals(1)) == ["m0"]


def test_work_that_a_future_hands_on_is_done_too(world: World) -> None:
    """A coroutine function given to an executor, and a future of a future that fails."""
    done: list[str] = []

    async def work_on(message_id: str) -> None:
        done.append(message_id)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:

        def handle(message: Message, work: UnitOfWork) -> Any:
            if message.id == "0":
                return pool.submit(work_on, message.id)
            return pool.submit(lambda: pool.submit(lambda: 1 / 0))

        worker = world.worker(Lazy(), handle)

        assert worker.deliver(*arrivals(2)) == ["m1"]
    assert done == ["0"]


def test_a_wrapped_or_partial_handler_is_one_like_any_other(world: World) -> None:
    seen: list[str] = []

    def handle(prefix: str, message: Message, work: UnitOfWork) -> None:
        seen.append(prefix + message.id)

    world.worker(Lazy(), functools.partial(handle, "id ")).deliver(*arrivals(1))

    assert seen == ["id 0"]


# -- what is left on the event loop --------------------------------------------------------------------------


def test_a_handler_that_stops_the_event_loop_stops_nobody(world: World) -> None:
    async def handle(message: Message, work: UnitOfWork) -> None:
        if message.id == "1":
            asyncio.get_running_loop().stop()
        await asyncio.sleep(0)

    assert world.worker(Eager(), handle, concurrency=2).deliver(*arrivals(5)) == []


def test_a_stray_task_that_exits_cuts_off_nobody(world: World) -> None:
    strays: list[Any] = []

    async def leave() -> None:
        raise SystemExit(1)

    async def handle(message: Message, work: UnitOfWork) -> None:
        strays.append(asyncio.ensure_future(leave()))
        for _ in range(3):
            await asyncio.sleep(0)

    assert world.worker(Eager(), handle, concurrency=3).deliver(*arrivals(9)) == []


def test_a_stray_task_that_will_not_be_cancelled_does_not_keep_the_answer(world: World) -> None:
    strays: list[Any] = []

    async def stubborn() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    async def handle(message: Message, work: UnitOfWork) -> None:
        strays.append(asyncio.ensure_future(stubborn()))
        await asyncio.sleep(0)

    assert world.worker(Lazy(), handle).deliver(*arrivals(1)) == []


# -- observers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [*EXITS, ValueError("broken")])
def test_an_observer_that_raises_changes_nothing(error: BaseException) -> None:
    def broken(report: object) -> None:
        raise error

    store = InMemoryStore()
    consumer = IdempotentConsumer("observed", mode=Lazy(), message_id=attribute("id"), store=store, on_outcome=broken)
    consumer.handler(lambda message, work: None)
    records = [sqs_record("", attributes={"id": str(number)}) for number in range(3)]

    assert consumer.consume(sqs_event(*records), FakeContext()) == {"batchItemFailures": []}
    assert len(store.items) == 3


@pytest.mark.parametrize("error", [*EXITS, ValueError("broken"), None])
def test_an_observer_that_breaks_where_a_handler_is_awaited_changes_nothing(
    world: World, error: BaseException | None
) -> None:
    class Broken(Telemetry):
        def awaiting(self, awaitable: Any) -> Any:
            if error is not None:
                raise error

    async def handle(message: Message, work: UnitOfWork) -> None:
        await asyncio.sleep(0)

    worker = world.worker(Lazy(), handle)
    worker.consumer._observer = Broken("broken-awaiting")

    assert worker.deliver(*arrivals(3)) == []


def test_a_filter_of_logs_that_raises_changes_nothing(world: World) -> None:
    worker = world.worker(Lazy(), name="filtered")

    def broken(record: logging.LogRecord) -> bool:
        raise ValueError("broken")

    logger = logging.getLogger("filtered")
    logger.addFilter(broken)
    try:
        response = worker.consumer.consume(sqs_event(*arrivals(3)), FakeContext())
    finally:
        logger.removeFilter(broken)

    assert response == {"batchItemFailures": []}
    assert sorted(worker.handled) == ["0", "1", "2"]


def test_an_observer_that_is_slow_does_not_take_the_time_for_the_answer(world: World) -> None:
    told: list[str] = []

    def slow(report: Any) -> None:
        told.append(report.sqs_message_id)
        clock.sleep_ms(100)

    clock = FakeClock()
    consumer = IdempotentConsumer("slow-observer", mode=Natural(), clock=clock, on_outcome=slow)
    consumer.handler(lambda message, work: None)
    context = FakeContext(5_000, clock)

    consumer.consume(sqs_event(*arrivals(100)), context)

    assert context.get_remaining_time_in_millis() > 0
    assert len(told) < 100


def test_a_logger_of_the_users_with_the_consumers_name_does_not_silence_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    Logger(service="same-name", level="ERROR")
    world.worker(Lazy(), name="same-name").deliver(*arrivals(1))

    assert '"outcome": "PROCESSED"' in capsys.readouterr().out


def test_an_exception_without_text_has_its_log_line_all_the_same(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.worker(Lazy(), raising(UnspeakableError(), on="0"), name="unspeakable").deliver(*arrivals(1))

    assert '"outcome": "FAILED"' in capsys.readouterr().out


def test_an_expected_refusal_is_logged_without_traceback(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.worker(Lazy(), raising(Reject("no such customer"), on="0"), name="refusing").deliver(*arrivals(1))

    output = capsys.readouterr().out
    assert "no such customer" in output
    assert "Traceback" not in output


def test_a_reason_is_one_printable_line_of_bounded_length_and_its_log_line_is_written(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = world.worker(Lazy(), raising(ValueError("\ud83d\n" + "x" * 3_000_000), on="0"), name="surrogates")

    worker.deliver(*arrivals(1))

    reason = worker.reports[0].reason
    assert len(reason) <= 600
    assert "\n" not in reason
    assert reason.startswith("ValueError: \\ud83d xxx")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["reason"] for line in lines if line.get("message") == "delivery"] == [reason]


# -- SQS -----------------------------------------------------------------------------------------------------


class BrokenSqs:
    """Raise whatever it is told to, whatever it is asked; KeyError is what a test's own stand-in raises."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def _fail(self, **_: Any) -> Any:
        raise self._error

    send_message_batch = change_message_visibility_batch = _fail


@pytest.mark.parametrize("error", [*EXITS, Unspeakable(SystemExit(1)), KeyError("odd")])
def test_whatever_a_client_of_sqs_raises_only_what_was_not_done_comes_back(world: World, error: BaseException) -> None:
    arn, url = "arn:aws:sqs:eu-central-1:111122223333:orders", "https://sqs.eu-central-1.amazonaws.com/111122223333/"
    settings = Settings(dead_letter_queue_url=f"{url}letters", queue_urls=(f"{url}orders",))
    worker = world.worker(Eager(), raising(Reject("no")), settings=settings, sqs=BrokenSqs(error))

    assert worker.deliver(*arrivals(3, queue_arn=arn)) == ["m1"]
    assert sorted(worker.handled) == ["0", "1", "2"]


# -- the store -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "method", "outcome"),
    [
        (Lazy(), "remember", Outcome.UNRECORDED),
        (Eager(), "complete", Outcome.UNRECORDED),
        (Transactional(), "commit", Outcome.FAILED),
    ],
)
def test_a_store_that_breaks_after_the_handler_never_makes_its_claim_be_released(
    mode: Any, method: str, outcome: Outcome
) -> None:
    class BrokenStore(FaultyStore):
        def _call(self, name: str, call: Callable[[], Any]) -> Any:
            if name == method:
                raise KeyError("a bug")
            return super()._call(name, call)

    store = BrokenStore(InMemoryStore())
    worker = World(store).worker(mode)

    worker.deliver(*arrivals(1))

    assert worker.outcomes == [outcome]
    assert "release" not in store.calls


@pytest.mark.parametrize("error", [*EXITS, Unspeakable(SystemExit(1))])
@pytest.mark.parametrize("method", ["claim", "complete", "release"])
def test_whatever_a_store_raises_only_what_was_not_done_comes_back(error: BaseException, method: str) -> None:
    class BrokenStore(FaultyStore):
        def _call(self, name: str, call: Callable[[], Any]) -> Any:
            if name == method and "claim" in self.calls:  # the first claim is granted
                raise error
            return super()._call(name, call)

    worker = World(BrokenStore(InMemoryStore())).worker(Eager(), raising(ValueError("no")))

    came_back = worker.deliver(*arrivals(3))

    done = [report.sqs_message_id for report in worker.reports if report.outcome is Outcome.PROCESSED]
    assert sorted(came_back + done) == ["m0", "m1", "m2"]
    assert Outcome.PROCESSED in worker.outcomes or method != "release"


def test_a_claim_that_may_stand_although_no_answer_came_is_released(world: World) -> None:
    store = FaultyStore(world.store)
    store.fail("claim", applied=True)
    worker = world.worker(Eager(), store=store)

    worker.deliver(*arrivals(1))

    assert worker.outcomes == [Outcome.FAILED]
    assert world.items("consumer#0") == {}
