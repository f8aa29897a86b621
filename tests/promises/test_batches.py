"""What a batch promises, whatever the mode: SQS gets back exactly what was not done."""

import json
from datetime import timedelta
from typing import Any

import pytest

from idempotent_consumer import (
    Eager,
    Lazy,
    Message,
    Natural,
    Outcome,
    Reject,
    Transactional,
    UnitOfWork,
    body_field,
)
from idempotent_consumer.errors import BatchFailedError, NotAnSQSEventError, UnreportableRecordError
from idempotent_consumer.modes import Mode
from idempotent_consumer.testing import FakeContext, InMemoryStore, sqs_event, sqs_record
from tests.promises.faults import FaultyStore
from tests.promises.world import World

FIFO = "arn:aws:sqs:eu-central-1:111122223333:orders.fifo"
MODES = [Lazy(), Eager(), Transactional()]


@pytest.fixture
def world() -> World:
    return World(InMemoryStore())


def records(count: int, **options: Any) -> list[dict[str, Any]]:
    return [sqs_record({"id": f"{number}"}, sqs_message_id=f"m{number}", **options) for number in range(1, count + 1)]


def fail_on(*ids: str) -> Any:
    def handle(message: Message, work: UnitOfWork) -> None:
        if message.json()["id"] in ids:
            raise ValueError(f"cannot handle {message.json()['id']}")

    return handle


@pytest.mark.parametrize("mode", [*MODES, Natural()])
def test_a_batch_that_succeeds_brings_nothing_back(world: World, mode: Mode) -> None:
    worker = world.worker(mode)

    assert worker.deliver(*records(3)) == []
    assert len(worker.handled) == 3


@pytest.mark.parametrize("mode", [*MODES, Natural()])
def test_exactly_what_failed_comes_back_in_the_order_of_the_event(world: World, mode: Mode) -> None:
    worker = world.worker(mode, fail_on("4", "2"))

    assert worker.deliver(*records(5)) == ["m2", "m4"]


def test_the_answer_is_byte_for_byte_what_lambda_reads(world: World) -> None:
    worker = world.worker(Natural(), fail_on("2"))

    response = worker.consumer.consume(sqs_event(*records(2)), FakeContext())

    assert json.dumps(response) == '{"batchItemFailures": [{"itemIdentifier": "m2"}]}'


@pytest.mark.parametrize("mode", [*MODES, Natural()])
def test_a_batch_that_fails_whole_is_reported_whole_cold_and_warm(world: World, mode: Mode) -> None:
    worker = world.worker(mode, fail_on("1", "2"))

    assert worker.deliver(*records(2)) == ["m1", "m2"]
    assert worker.deliver(*records(2)) == ["m1", "m2"]


def test_a_consumer_may_ask_for_an_error_when_everything_failed(world: World) -> None:
    worker = world.worker(Lazy(), fail_on("1"), raise_when_all_failed=True)

    with pytest.raises(BatchFailedError, match="m1: FAILED"):
        worker.consumer.consume(sqs_event(*records(1)), FakeContext())
    assert worker.deliver(*records(2)) == ["m1"]


def test_nothing_is_carried_over_from_a_failed_invocation(world: World) -> None:
    worker = world.worker(Lazy(), fail_on("1"))
    worker.deliver(*records(2, group_id="g", queue_arn=FIFO))

    assert worker.deliver(sqs_record({"id": "3"}, sqs_message_id="m3", group_id="g", queue_arn=FIFO)) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "body", ['{"id":', "", "[]", "null", '{"id": null}', '{"id": true}', '{"id": 1.5}', '{"x": 1}']
)
def test_a_record_that_cannot_be_read_is_rejected_and_its_neighbours_are_handled(
    world: World, mode: Mode, body: str
) -> None:
    worker = world.worker(mode)
    first, third = records(2)

    assert worker.deliver(first, sqs_record(body, sqs_message_id="bad"), third) == ["bad"]
    assert worker.outcomes == [Outcome.PROCESSED, Outcome.REJECTED, Outcome.PROCESSED]


@pytest.mark.parametrize("name", ["body", "attributes", "messageAttributes", "eventSourceARN", "receiptHandle"])
def test_null_and_missing_members_concern_their_own_record_only(world: World, name: str) -> None:
    worker = world.worker(Lazy(), message_id=body_field("id"))
    missing, null, good = records(3)
    del missing[name]
    null[name] = None

    came_back = worker.deliver(missing, null, good)

    assert came_back == (["m1", "m2"] if name == "body" else [])
    assert worker.outcomes[2] is Outcome.PROCESSED


def test_a_rejected_delivery_is_visibly_reported_as_a_failure(world: World) -> None:
    def refuse(message: Message, work: UnitOfWork) -> None:
        raise Reject("no such customer")

    worker = world.worker(Lazy(), refuse)

    assert worker.deliver(*records(1)) == ["m1"]
    report = worker.reports[0]
    assert (report.outcome, report.acknowledged, report.reason) == (Outcome.REJECTED, False, "Reject: no such customer")


def test_the_exceptions_of_reject_on_reject(world: World) -> None:
    worker = world.worker(Lazy(), fail_on("1"), reject_on=(ValueError,))

    worker.deliver(*records(2))

    assert worker.outcomes == [Outcome.REJECTED, Outcome.PROCESSED]


def test_a_payload_that_does_not_parse_is_rejected_and_one_that_does_is_the_handlers(world: World) -> None:
    payloads: list[Any] = []
    worker = world.worker(
        Lazy(), lambda message, work: payloads.append(message.payload), parse=lambda body: int(body[7])
    )

    worker.deliver(sqs_record('{"id": 5}', sqs_message_id="good"), sqs_record('{"id": "a"}', sqs_message_id="bad"))

    assert worker.outcomes == [Outcome.PROCESSED, Outcome.REJECTED]
    assert payloads == [5]


def test_an_event_that_is_not_from_sqs_is_an_error_that_names_it(world: World) -> None:
    worker = world.worker(Lazy())

    with pytest.raises(NotAnSQSEventError, match="EventBridge"):
        worker.consumer.consume({"detail-type": "x", "source": "y", "detail": {}}, FakeContext())


def test_an_empty_batch_is_a_batch(world: World) -> None:
    assert world.worker(Lazy()).deliver() == []


def test_a_failed_record_without_sqs_message_id_fails_the_batch_after_its_neighbours_were_handled(world: World) -> None:
    worker = world.worker(Lazy())
    good, bad = records(2)
    del bad["messageId"]
    bad["body"] = "{"

    with pytest.raises(UnreportableRecordError):
        worker.consumer.consume(sqs_event(good, bad), FakeContext())
    assert worker.handled == ["1"]


# -- equal deliveries in one batch ---------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_equal_deliveries_of_a_batch_run_once_and_are_settled_alike(world: World, mode: Mode) -> None:
    worker = world.worker(mode)
    first, second = (sqs_record({"id": "1"}, sqs_message_id=name) for name in ("m1", "m2"))

    assert worker.deliver(first, second) == []
    assert worker.handled == ["1"]
    assert worker.outcomes == [Outcome.PROCESSED, Outcome.DUPLICATE]


@pytest.mark.parametrize("mode", MODES)
def test_equal_deliveries_of_a_batch_fail_alike(world: World, mode: Mode) -> None:
    worker = world.worker(mode, fail_on("1"))

    came_back = worker.deliver(*(sqs_record({"id": "1"}, sqs_message_id=name) for name in ("m1", "m2")))

    assert came_back == ["m1", "m2"]
    assert worker.handled == ["1"]


@pytest.mark.parametrize("mode", MODES)
def test_one_id_with_two_contents_is_never_one_message(world: World, mode: Mode) -> None:
    """Both absent at look-up; the second waits for the first's outcome, and then is known for what it is."""
    worker = world.worker(mode)
    x, y = sqs_record({"id": "42", "x": 1}, sqs_message_id="mx"), sqs_record({"id": "42", "x": 2}, sqs_message_id="my")

    came_back = worker.deliver(x, y)

    assert len(worker.handled) == 1
    assert sorted(worker.outcomes) == [Outcome.PROCESSED, Outcome.REJECTED]
    assert came_back == [report.sqs_message_id for report in worker.reports if report.outcome is Outcome.REJECTED]


@pytest.mark.parametrize("concurrency", [1, 8])
def test_of_two_contents_the_second_runs_if_the_first_failed(world: World, concurrency: int) -> None:
    seen: list[Any] = []

    def handle(message: Message, work: UnitOfWork) -> None:
        seen.append(message.json()["x"])
        if len(seen) == 1:
            raise ValueError("first")

    worker = world.worker(Eager(), handle, concurrency=concurrency)

    came_back = worker.deliver(sqs_record({"id": "42", "x": 1}), sqs_record({"id": "42", "x": 2}))

    assert len(came_back) == 1
    assert sorted(seen) == [1, 2]


# -- lanes ---------------------------------------------------------------------------------------------------


def fifo(group: str | None, *ids: str) -> list[dict[str, Any]]:
    return [sqs_record({"id": one}, sqs_message_id=f"m{one}", group_id=group, queue_arn=FIFO) for one in ids]


@pytest.mark.parametrize("mode", [*MODES, Natural()])
def test_a_fifo_group_stops_at_its_first_failure_and_keeps_what_went_before(world: World, mode: Mode) -> None:
    worker = world.worker(mode, fail_on("3"))

    assert worker.deliver(*fifo("g", "1", "2", "3", "4", "5")) == ["m3", "m4", "m5"]
    assert worker.outcomes == [Outcome.PROCESSED] * 2 + [Outcome.FAILED] + [Outcome.DEFERRED] * 2
    assert len(worker.handled) == 3


@pytest.mark.parametrize("concurrency", [1, 4])
def test_only_the_failed_group_stops(world: World, concurrency: int) -> None:
    worker = world.worker(Eager(), fail_on("a1"), concurrency=concurrency)
    a1, a2, b1, b2 = *fifo("a", "a1", "a2"), *fifo("b", "b1", "b2")

    assert worker.deliver(a1, b1, a2, b2) == ["ma1", "ma2"]


def test_a_stopped_group_leaves_no_claim_behind() -> None:
    store = InMemoryStore()
    worker = World(store).worker(Eager(), fail_on("1"))

    worker.deliver(*fifo("g", "1", "2", "3"))

    assert store.items == {}


def test_a_body_that_cannot_be_read_after_a_fifo_failure_is_no_exception(world: World) -> None:
    worker = world.worker(Lazy(), fail_on("1"))
    bad = sqs_record("{", sqs_message_id="bad", group_id="g", queue_arn=FIFO)

    assert worker.deliver(*fifo("g", "1"), bad, *fifo("g", "2")) == ["m1", "bad", "m2"]


def test_a_body_that_cannot_be_read_stops_its_group(world: World) -> None:
    worker = world.worker(Lazy())
    bad = sqs_record("{", sqs_message_id="bad", group_id="g", queue_arn=FIFO)

    assert worker.deliver(*fifo("g", "1"), bad, *fifo("g", "2")) == ["bad", "m2"]


def test_a_body_that_is_no_text_stops_its_group_too(world: World) -> None:
    bad = {**fifo("g", "1")[0], "body": 1}

    assert world.worker(Lazy()).deliver(bad, *fifo("g", "2")) == ["m1", "m2"]


@pytest.mark.parametrize("concurrency", [1, 4])
def test_equal_deliveries_in_two_groups_each_keep_their_place(world: World, concurrency: int) -> None:
    """Folded across groups, the second group would go on past its first delivery, which has failed."""
    worker = world.worker(Lazy(), fail_on("a"), concurrency=concurrency)
    elsewhere, here = ({**fifo(group, "a")[0], "messageId": f"a-{group}"} for group in ("g1", "g2"))

    came_back = worker.deliver(elsewhere, here, *fifo("g2", "d"))

    assert came_back == ["a-g1", "a-g2", "md"]
    assert "d" not in worker.handled


def test_equal_deliveries_in_two_groups_run_once(world: World) -> None:
    worker = world.worker(Lazy())
    elsewhere, here = ({**fifo(group, "a")[0], "messageId": f"a-{group}"} for group in ("g1", "g2"))

    assert worker.deliver(elsewhere, here, *fifo("g2", "d")) == []
    assert sorted(worker.handled) == ["a", "d"]


def test_a_fifo_record_without_group_stands_alone(world: World) -> None:
    worker = world.worker(Lazy(), fail_on("1"))

    assert worker.deliver(*fifo(None, "1", "2")) == ["m1"]


def test_a_group_id_on_a_standard_queue_keeps_no_order(world: World) -> None:
    worker = world.worker(Lazy(), fail_on("1", "2", "3"))

    worker.deliver(*records(3, group_id="tenant"))

    assert worker.outcomes == [Outcome.FAILED] * 3


def test_a_duplicate_does_not_stop_its_group(world: World) -> None:
    worker = world.worker(Lazy())
    worker.deliver(*fifo("g", "1"))

    assert worker.deliver(*fifo("g", "1", "2")) == []
    assert worker.handled == ["1", "2"]


def test_most_received_messages_get_their_turn_first(world: World) -> None:
    worker = world.worker(Lazy())
    fresh, old = records(2)
    old["attributes"]["ApproximateReceiveCount"] = "4"

    worker.deliver(fresh, old)

    assert worker.handled == ["2", "1"]


def test_a_message_that_kills_the_process_is_not_ahead_of_the_same_neighbours_at_each_receive() -> None:
    """A poison that takes the process down each time: before the fifth receive its neighbours are all handled."""
    waiting = {f"{number}" for number in range(1, 11)}
    store = InMemoryStore()

    class Killed(KeyboardInterrupt):
        pass

    def handle(message: Message, work: UnitOfWork) -> None:
        if message.id == "1":
            raise Killed

    worker = World(store).worker(Lazy(), handle)
    for receive in range(1, 6):
        batch = [sqs_record({"id": one}, sqs_message_id=f"m{one}", receive_count=receive) for one in sorted(waiting)]
        with pytest.raises(Killed):
            worker.deliver(*batch)
        waiting -= {item.key.removeprefix("consumer#") for item in store.items.values()}

    assert waiting == {"1"}


# -- time ----------------------------------------------------------------------------------------------------


def taking(world: World, duration_ms: int) -> Any:
    return lambda message, work: world.pass_ms(duration_ms)


@pytest.mark.parametrize("mode", MODES)
def test_what_does_not_fit_into_the_time_left_is_put_off_and_never_started(world: World, mode: Mode) -> None:
    worker = world.worker(mode, taking(world, 2_000))

    came_back = worker.deliver(*records(10), remaining_ms=10_000)

    assert len(worker.handled) == 4
    assert len(came_back) == 6
    assert worker.outcomes.count(Outcome.DEFERRED) == 6


def test_what_is_put_off_leaves_no_claim_behind() -> None:
    store = InMemoryStore()
    world = World(store)
    worker = world.worker(Eager(), taking(world, 2_000))

    worker.deliver(*records(10), remaining_ms=10_000)

    assert len(store.items) == len(worker.handled)


@pytest.mark.parametrize("remaining_ms", [-5, 0, 1, 150])
def test_one_message_starts_even_if_the_time_is_below_the_reserve(world: World, remaining_ms: int) -> None:
    """Were it put off as well, the queue would be emptied into the dead-letter queue untried."""
    worker = world.worker(Lazy(), taking(world, 200))

    came_back = worker.deliver(*records(3), remaining_ms=remaining_ms)

    assert len(worker.handled) == 1
    assert len(came_back) == 2


def test_a_deep_backlog_is_worked_off_with_hardly_a_message_dead_lettered_untried(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Batches of ten of which three fit into the timeout; SQS gives a message up at its eleventh receive."""
    worker = world.worker(Lazy(), taking(world, 2_500))
    receives = {f"{number}": 0 for number in range(60)}
    backlog = list(receives)
    dead: list[str] = []
    while backlog:
        batch, backlog = backlog[:10], backlog[10:]
        for one in batch:
            receives[one] += 1
        given_up = [one for one in batch if receives[one] > 10]
        dead += given_up
        batch = [one for one in batch if one not in given_up]
        came_back = worker.deliver(
            *(sqs_record({"id": one}, sqs_message_id=one, receive_count=receives[one]) for one in batch),
            remaining_ms=10_000,
        )
        backlog += came_back

    assert dead == []
    assert set(receives) == set(worker.handled)
    assert "BatchSize x duration of a handler exceeds" in caplog.text


def test_a_thousand_duplicates_are_settled_or_put_off_but_never_cut_off(world: World) -> None:
    """Their claims alone would take longer than the invocation has."""

    class SlowStore(FaultyStore):
        def _call(self, method: str, call: Any) -> Any:
            world.pass_ms(100)
            return super()._call(method, call)

    worker = world.worker(Eager(), store=SlowStore(world.store))
    worker.deliver(*records(1))
    ends_ms = worker.clock.now_ms() + 30_000

    worker.deliver(*(sqs_record({"id": "1", "x": 1, "n": number}) for number in range(1_000)))

    assert worker.clock.now_ms() < ends_ms
    assert worker.outcomes[0] in (Outcome.REJECTED, Outcome.DEFERRED)
    assert worker.outcomes.count(Outcome.DEFERRED) < 1_000


@pytest.mark.parametrize(("remaining_ms", "claim_ms"), [(1_000, 450), (3_000, 1_300)])
def test_a_handler_starts_however_long_a_claim_takes_and_whatever_is_turned_away_before_it(
    world: World, remaining_ms: int, claim_ms: int
) -> None:
    """A message that another worker holds comes first at each receive: its neighbours get their turn all the same."""

    class SlowStore(FaultyStore):
        def _call(self, method: str, call: Any) -> Any:
            world.pass_ms(claim_ms)
            return super()._call(method, call)

    world.dying_worker(Eager(lease=timedelta(hours=12))).deliver(*records(1))
    worker = world.worker(Eager(), store=SlowStore(world.store))

    worker.deliver(*records(1, receive_count=2), *records(4)[1:], remaining_ms=remaining_ms)

    assert len(worker.handled) == 1


def test_no_handler_starts_after_a_second_look_that_has_taken_its_time(world: World) -> None:
    class SlowStore(FaultyStore):
        def _call(self, method: str, call: Any) -> Any:
            world.pass_ms(2_500 if self.calls.count("look_up") and method == "look_up" else 0)
            return super()._call(method, call)

    worker = world.worker(Lazy(), taking(world, 5_000), store=SlowStore(world.store))
    ends_ms = worker.clock.now_ms() + 12_000

    worker.deliver(*records(3), remaining_ms=12_000)

    assert worker.clock.now_ms() < ends_ms
    assert len(worker.handled) == 1


def test_a_follower_of_a_failed_head_is_no_sign_of_too_little_time(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.worker(Lazy(), fail_on("1"), name="no-overload").deliver(*fifo("g", "1", "2"))

    assert "BatchSize x duration" not in caplog.text


def test_slow_parsing_leaves_half_the_time_for_handling(world: World) -> None:
    def parse(body: str) -> str:
        world.pass_ms(100)
        return body

    worker = world.worker(Lazy(), taking(world, 1_000), parse=parse)

    came_back = worker.deliver(*records(1_000))

    assert len(worker.handled) >= 10
    assert len(came_back) == 1_000 - len(worker.handled)


def test_a_lazy_window_looks_again_before_a_handler_that_starts_much_later(world: World) -> None:
    """What another worker has stored in between is not handled again."""
    other = world.worker(Lazy())

    def slow(message: Message, work: UnitOfWork) -> None:
        if len(worker.handled) == 1:
            other.deliver(*(record for record in records(3) if record["messageId"] != f"m{message.id}"))
        world.pass_ms(5_000)

    worker = world.worker(Lazy(), slow)
    worker.deliver(*records(3))

    assert len(worker.handled) == 1
    assert sorted(worker.outcomes) == [Outcome.DUPLICATE, Outcome.DUPLICATE, Outcome.PROCESSED]


def test_a_batch_of_any_size_is_one_batch(world: World) -> None:
    worker = world.worker(Lazy(), fail_on("7", "700", "1200"), concurrency=4)

    assert worker.deliver(*records(1_200)) == ["m7", "m700", "m1200"]
    assert len(worker.handled) == 1_200


def test_retention_counts_from_the_completion(world: World) -> None:
    worker = world.worker(Eager(), taking(world, 20_000), retention=timedelta(days=1))
    worker.deliver(*records(1))
    world.pass_ms(24 * 3_600_000)

    assert worker.deliver(*records(1)) == []
    assert worker.outcomes == [Outcome.DUPLICATE]
