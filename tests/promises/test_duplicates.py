"""What is promised of a message that arrives again."""

import hashlib
from datetime import timedelta
from typing import Any

import pytest

from idempotent_consumer import Eager, Lazy, Message, Natural, Outcome, Transactional, UnitOfWork, body_field
from idempotent_consumer.modes import Mode
from idempotent_consumer.settings import DEFAULT_RETENTION, Settings
from idempotent_consumer.store import Status
from idempotent_consumer.testing import InMemoryStore, sqs_record
from tests.promises.faults import Wire
from tests.promises.world import Worker, World

MODES = [Lazy(), Eager(), Transactional()]


def arrival(id_: Any = "1", **more: Any) -> dict[str, Any]:
    """Return a delivery of the message as a producer that sends again makes it: SQS gives it an id of its own."""
    return sqs_record({"id": id_, **more})


@pytest.mark.parametrize("mode", MODES)
def test_a_first_delivery_is_handled_and_remembered_for_the_retention(world: World, mode: Mode) -> None:
    worker = world.worker(mode)

    worker.deliver(arrival())

    item = world.items("consumer#1")["consumer#1"]
    assert worker.handled == ["1"]
    assert item.status is Status.COMPLETED
    assert item.expires_at_s == worker.clock.now_ms() // 1000 + DEFAULT_RETENTION.total_seconds()


@pytest.mark.parametrize("mode", MODES)
def test_once_stored_a_message_is_never_handled_again(world: World, mode: Mode) -> None:
    worker, other = world.worker(mode), world.worker(mode)
    worker.deliver(arrival())

    assert worker.deliver(arrival()) == []
    assert other.deliver(arrival()) == []
    assert worker.outcomes == other.outcomes == [Outcome.DUPLICATE]
    assert worker.handled + other.handled == ["1"]


@pytest.mark.parametrize(
    ("mode", "request_name"), [*zip(MODES, ["BatchGetItem", "PutItem", "BatchGetItem"], strict=True)]
)
def test_a_duplicate_costs_one_request(table: Any, wire: Wire, mode: Mode, request_name: str) -> None:
    worker = World(table).worker(mode)
    worker.deliver(arrival())
    wire.requests.clear()

    worker.deliver(arrival())

    assert wire.operations == [request_name]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Lazy(), ["BatchGetItem"] + ["PutItem"] * 10),
        (Eager(), ["PutItem"] * 20),
        (Transactional(), ["BatchGetItem"] + ["TransactWriteItems"] * 10),
    ],
)
def test_a_batch_of_new_messages_costs_what_the_mode_says(
    table: Any, wire: Wire, mode: Mode, expected: list[str]
) -> None:
    World(table).worker(mode).deliver(*(arrival(str(number)) for number in range(10)))

    assert expected == wire.operations


def test_natural_mode_stores_nothing_and_asks_nothing() -> None:
    store = InMemoryStore()
    worker = World(store).worker(Natural())

    worker.deliver(arrival(), arrival())

    assert len(worker.handled) == 2
    assert store.items == {}


@pytest.mark.parametrize("mode", MODES)
def test_a_handler_that_raised_runs_again_at_the_next_delivery(world: World, mode: Mode) -> None:
    attempts: list[str] = []

    def fail_once(message: Message, work: UnitOfWork) -> None:
        attempts.append(message.id)
        if len(attempts) == 1:
            raise ConnectionError("try again")

    worker = world.worker(mode, fail_once)
    record = arrival()

    assert worker.deliver(record) == [record["messageId"]]
    assert worker.deliver(record) == []
    assert attempts == ["1", "1"]


def test_the_error_of_a_handler_is_in_its_report(world: World) -> None:
    error = ConnectionError("gateway away")

    def fail(message: Message, work: UnitOfWork) -> None:
        raise error

    worker = world.worker(Eager(), fail)
    worker.deliver(arrival())

    assert worker.reports[0].error is error
    assert worker.reports[0].reason == "ConnectionError: gateway away"


# -- expiry --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_an_expired_record_that_is_still_in_the_table_is_overwritten(world: World, mode: Mode) -> None:
    worker = world.worker(mode)
    worker.deliver(arrival())
    world.pass_ms((DEFAULT_RETENTION + timedelta(seconds=1)) // timedelta(milliseconds=1))

    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.PROCESSED]
    assert world.items("consumer#1")["consumer#1"].updated_at_ms == worker.clock.now_ms()


@pytest.mark.parametrize("mode", MODES)
def test_a_record_that_expires_in_this_second_still_counts_on_reading_and_on_writing(world: World, mode: Mode) -> None:
    worker = world.worker(mode)
    worker.deliver(arrival())
    world.pass_ms(DEFAULT_RETENTION // timedelta(milliseconds=1) + 999)

    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.DUPLICATE]


def test_a_retention_shorter_than_a_run_does_not_let_a_live_lease_be_stolen(world: World) -> None:
    brief = {"retention": timedelta(seconds=1), "settings": Settings(shortest_retention=timedelta(0))}
    other = world.worker(Eager(), **brief)

    def slow(message: Message, work: UnitOfWork) -> None:
        world.pass_ms(25_000)
        other.deliver(arrival())

    worker = world.worker(Eager(), slow, **brief)
    worker.deliver(arrival())

    assert other.outcomes == [Outcome.IN_FLIGHT]
    assert worker.outcomes == [Outcome.PROCESSED]


# -- content -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_an_id_that_returns_with_other_content_is_rejected_with_an_error_of_its_own(world: World, mode: Mode) -> None:
    worker = world.worker(mode)
    worker.deliver(arrival(amount=10))

    worker.deliver(arrival(amount=99))

    assert worker.outcomes == [Outcome.REJECTED]
    assert type(worker.reports[0].error).__name__ == "FingerprintMismatchError"
    assert worker.handled == ["1"]


def test_a_mismatch_leaves_the_other_messages_record_alone(world: World) -> None:
    worker = world.worker(Eager())
    worker.deliver(arrival(amount=10))
    before = world.items("consumer#1")

    worker.deliver(arrival(amount=99))

    assert before == world.items("consumer#1")


def test_a_message_in_flight_is_in_flight_whatever_the_other_content(world: World) -> None:
    other = world.worker(Eager())
    worker = world.worker(Eager(), lambda message, work: other.deliver(arrival(amount=99)))

    worker.deliver(arrival(amount=10))

    assert other.outcomes == [Outcome.IN_FLIGHT]


@pytest.mark.parametrize(
    "body",
    [
        '{"id": "1", "a": {"x": 1, "y": [2]}}',
        '{"a":{"y":[2.0],"x":1},"id":"1"}',
        ' {\n"id" : "1", "a":{"x":1,"y":[2]}}',
    ],
)
def test_key_order_blanks_and_the_writing_of_numbers_make_no_other_message(world: World, body: str) -> None:
    worker = world.worker(Lazy())
    worker.deliver(arrival(a={"x": 1, "y": [2]}))

    worker.deliver(sqs_record(body))

    assert worker.outcomes == [Outcome.DUPLICATE]


def test_after_a_deploy_that_compares_other_fields_old_messages_are_duplicates(world: World) -> None:
    before = world.worker(Lazy())
    before.deliver(arrival(amount=10, sent_at="now"))
    after = world.worker(Lazy(), fingerprint=("amount",))

    after.deliver(arrival(amount=10, sent_at="later"))

    assert after.outcomes == [Outcome.DUPLICATE]


def test_fields_that_do_not_count_may_differ(world: World) -> None:
    worker = world.worker(Lazy(), fingerprint=("amount",))

    worker.deliver(arrival(amount=10, sent_at="now"))
    worker.deliver(arrival(amount=10, sent_at="later"))

    assert worker.outcomes == [Outcome.DUPLICATE]


def test_without_fingerprint_nothing_is_compared(world: World) -> None:
    worker = world.worker(Lazy(), fingerprint=None)

    worker.deliver(arrival(amount=10))
    worker.deliver(arrival(amount=99))

    assert worker.outcomes == [Outcome.DUPLICATE]


# -- identity ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id_", [None, "", "  ", True, 1.5, [], ["1", None], {"a": 1}])
@pytest.mark.parametrize("mode", MODES)
def test_no_usable_id_is_an_error_before_any_effect_and_never_a_duplicate(world: World, mode: Mode, id_: Any) -> None:
    worker = world.worker(mode)

    worker.deliver(arrival(id_), arrival(id_))

    assert worker.outcomes == [Outcome.REJECTED] * 2
    assert worker.handled == []


def test_two_consumers_of_one_table_each_handle_the_message(world: World) -> None:
    billing, mailing = world.worker(Lazy(), name="billing"), world.worker(Lazy(), name="mailing")

    billing.deliver(arrival())
    mailing.deliver(arrival())

    assert billing.outcomes == mailing.outcomes == [Outcome.PROCESSED]


@pytest.mark.parametrize("mode", MODES)
def test_a_consumer_within_a_consumer_has_a_record_of_its_own(world: World, mode: Mode) -> None:
    inner = world.worker(mode, name="inner")
    outer = world.worker(mode, lambda message, work: inner.deliver(arrival()), name="outer")

    outer.deliver(arrival())

    items = world.items("inner#1", "outer#1")
    assert {key: item.status for key, item in items.items()} == {
        "inner#1": Status.COMPLETED,
        "outer#1": Status.COMPLETED,
    }


def test_a_renamed_function_knows_its_messages_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "app-Fn-AAA")
    world.worker(Lazy()).deliver(arrival())
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "app-Fn-BBB")

    renamed = world.worker(Lazy(), lambda message, work: None)
    renamed.deliver(arrival())

    assert renamed.outcomes == [Outcome.DUPLICATE]


def test_a_handler_that_changes_its_input_completes_under_the_original_key(world: World) -> None:
    record = arrival()

    def tamper(message: Message, work: UnitOfWork) -> None:
        record["body"] = '{"id": "2"}'
        record["messageId"] = "other"

    worker = world.worker(Eager(), tamper)
    original = dict(record)
    worker.consumer.consume({"Records": [record]})

    assert set(world.items("consumer#1", "consumer#2")) == {"consumer#1"}
    assert original["messageId"] != record["messageId"]


def test_the_idempotency_key_is_the_same_at_every_delivery(world: World) -> None:
    keys: list[str] = []

    def fail_once(message: Message, work: UnitOfWork) -> None:
        keys.append(message.idempotency_key)
        if len(keys) == 1:
            raise ConnectionError

    worker = world.worker(Eager(), fail_once)
    worker.deliver(arrival())
    worker.deliver(arrival())

    assert [hashlib.sha256(b"consumer#1").hexdigest()] * 2 == keys


def test_disabled_for_development_nothing_is_recognised(world: World) -> None:
    settings = Settings(idempotency_disabled=True)
    workers: list[Worker] = [world.worker(mode, settings=settings) for mode in MODES]

    for worker in workers:
        worker.deliver(arrival(), arrival())
        assert worker.outcomes == [Outcome.PROCESSED] * 2


# -- the deploy of another mode ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [Lazy(), Transactional()])
def test_a_claim_of_the_mode_before_is_in_flight_and_then_taken_over(world: World, mode: Mode) -> None:
    """The function that claimed has timed out; the one that was deployed since meets its claim."""
    before = world.dying_worker(Eager())
    before.deliver(arrival())
    after = world.worker(mode)

    after.deliver(arrival())
    assert after.outcomes == [Outcome.IN_FLIGHT]

    world.pass_ms(35_001)
    after.deliver(arrival())
    assert after.outcomes == [Outcome.PROCESSED]


@pytest.mark.parametrize("before", MODES)
@pytest.mark.parametrize("after", MODES)
def test_every_mode_knows_what_any_other_has_completed(world: World, before: Mode, after: Mode) -> None:
    world.worker(before).deliver(arrival())

    worker = world.worker(after, message_id=body_field("id"))
    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.DUPLICATE]
