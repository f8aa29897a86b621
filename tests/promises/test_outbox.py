"""What is promised of outgoing messages: they are stored if, and only if, the work that sends them is committed."""

import json
import threading
from typing import Any

import pytest
from pynamodb.attributes import UnicodeAttribute
from pynamodb.models import Model

from idempotent_consumer import ConditionFailed, Eager, Lazy, Message, Natural, Outcome, Transactional, UnitOfWork
from idempotent_consumer.dynamodb import DynamoDBStore
from idempotent_consumer.errors import (
    NoOutboxRelayError,
    OutboxFullError,
    UnsendableMessageError,
    WritesNotAllowedError,
)
from idempotent_consumer.modes import Mode
from idempotent_consumer.settings import Settings
from idempotent_consumer.testing import sqs_record
from tests.promises.faults import Wire
from tests.promises.world import Worker, World

QUEUE = "https://sqs.eu-central-1.amazonaws.com/111122223333/payments"
TOPIC = "arn:aws:sns:eu-central-1:111122223333:receipts"
RELAY = Settings(outbox_relay="arn:aws:dynamodb:eu-central-1:111122223333:table/processed/stream/1")
MODES = [Lazy(), Eager(), Transactional()]
SENDING = {
    "send": lambda work: work.send(QUEUE, {"n": 1}),
    "publish": lambda work: work.publish(TOPIC, "text"),
    "put_event": lambda work: work.put_event("OrderPlaced", {"n": 1}, source="com.example"),
}


class Order(Model):
    class Meta:
        table_name = "orders"
        region = "eu-central-1"

    order_id = UnicodeAttribute(hash_key=True)


def arrival(id_: str = "1", **options: Any) -> dict[str, Any]:
    return sqs_record({"id": id_}, **options)


def send_two(message: Message, work: UnitOfWork) -> None:
    work.send(QUEUE, {"of": message.id})
    work.publish(TOPIC, "second")


def stored(world: World, key: str = "consumer#1") -> list[dict[str, Any]]:
    """Return the outgoing messages in a processed message."""
    item = world.items(key).get(key)
    return json.loads(item.outbox)["messages"] if item and item.outbox else []


def errors(worker: Worker) -> list[type[BaseException] | None]:
    return [type(report.error) if report.error else None for report in worker.reports]


# -- Stored if, and only if, the work is committed --------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_what_a_handler_sends_is_stored_with_the_completion_in_the_order_of_the_calls(world: World, mode: Mode) -> None:
    worker = world.worker(mode, send_two, settings=RELAY)

    assert worker.deliver(arrival()) == []
    assert stored(world) == [{"queue": QUEUE, "body": '{"of": "1"}'}, {"topic": TOPIC, "message": "second"}]


@pytest.mark.parametrize("mode", MODES)
def test_what_a_failed_handler_sent_is_not_stored(world: World, mode: Mode) -> None:
    def fail(message: Message, work: UnitOfWork) -> None:
        send_two(message, work)
        raise ConnectionError

    world.worker(mode, fail, settings=RELAY).deliver(arrival())

    assert stored(world) == []


@pytest.mark.parametrize("mode", MODES)
def test_a_handler_that_sends_nothing_stores_no_outbox(table: DynamoDBStore, dynamodb: Any, mode: Mode) -> None:
    World(table).worker(mode, settings=RELAY).deliver(arrival())

    item = dynamodb.get_item(TableName=table.table_name, Key={"id": {"S": "consumer#1"}})["Item"]
    assert "outbox" not in item


def test_a_claim_holds_no_outbox(world: World) -> None:
    seen: list[str | None] = []

    def look(message: Message, work: UnitOfWork) -> None:
        send_two(message, work)
        seen.append(world.items(message.key)[message.key].outbox)

    world.worker(Eager(), look, settings=RELAY).deliver(arrival())

    assert seen == [None]


@pytest.mark.parametrize("mode", MODES)
def test_a_duplicate_sends_nothing_again(world: World, mode: Mode) -> None:
    worker = world.worker(mode, send_two, settings=RELAY)
    worker.deliver(arrival())
    before = world.items("consumer#1")

    worker.deliver(arrival(receive_count=2))

    assert worker.outcomes == [Outcome.DUPLICATE]
    assert world.items("consumer#1") == before


@pytest.mark.parametrize("mode", MODES)
def test_a_process_that_dies_after_its_handler_sends_nothing_and_the_next_sends_it_all(
    world: World, mode: Mode
) -> None:
    dying = world.dying_worker(mode, send_two, settings=RELAY)
    dying.deliver(arrival())
    assert stored(world) == []

    world.pass_ms(10 * 60 * 1000)
    world.worker(mode, send_two, settings=RELAY).deliver(arrival(receive_count=2))

    assert len(stored(world)) == 2


@pytest.mark.parametrize("mode", [Lazy(), Transactional()])
def test_of_two_deliveries_at_once_only_what_one_of_them_sends_is_stored(world: World, mode: Mode) -> None:
    other = world.worker(mode, lambda message, work: work.send(QUEUE, "other") and None, settings=RELAY)

    def overtaken(message: Message, work: UnitOfWork) -> None:
        work.send(QUEUE, "one")
        other.deliver(arrival(receive_count=2))

    one = world.worker(mode, overtaken, settings=RELAY)
    one.deliver(arrival())

    assert one.outcomes == [Outcome.DUPLICATE]
    assert stored(world) == [{"queue": QUEUE, "body": "other"}]


def test_what_a_holder_sends_whose_lease_was_taken_over_is_not_stored(world: World) -> None:
    def late(message: Message, work: UnitOfWork) -> None:
        work.send(QUEUE, "late")
        world.pass_ms(10 * 60 * 1000)
        other.deliver(arrival(receive_count=2))

    one = world.worker(Eager(), late, settings=RELAY)
    other = world.worker(Eager(), lambda message, work: work.send(QUEUE, "newer") and None, settings=RELAY)
    one.deliver(arrival())

    assert one.outcomes == [Outcome.LEASE_LOST]
    assert stored(world) == [{"queue": QUEUE, "body": "newer"}]


@pytest.mark.parametrize(
    ("mode", "operation"), [(Lazy(), "PutItem"), (Eager(), "PutItem"), (Transactional(), "TransactWriteItems")]
)
def test_a_lost_answer_to_the_completion_changes_nothing_about_what_is_sent(
    table: DynamoDBStore, wire: Wire, mode: Mode, operation: str
) -> None:
    world = World(table)

    def handle(message: Message, work: UnitOfWork) -> None:
        send_two(message, work)
        wire.lose_answers(operation)

    worker = world.worker(mode, handle, settings=RELAY)

    assert worker.deliver(arrival()) == []
    assert worker.outcomes == [Outcome.PROCESSED]
    assert len(stored(world)) == 2


def test_what_was_sent_before_a_condition_failed_is_not_stored_and_the_answer_to_it_may_send(
    table: DynamoDBStore,
) -> None:
    Order.create_table(billing_mode="PAY_PER_REQUEST")
    Order("1").save()
    world = World(table)

    def place(message: Message, work: UnitOfWork) -> None:
        work.save(Order(message.id), condition=Order.order_id.does_not_exist())
        work.send(QUEUE, "placed")

    worker = world.worker(Transactional(), place, settings=RELAY)

    @worker.consumer.on_condition_failed
    def refuse(message: Message, work: UnitOfWork, failure: ConditionFailed) -> None:
        work.send(QUEUE, "refused")

    worker.deliver(arrival())

    assert stored(world) == [{"queue": QUEUE, "body": "refused"}]


@pytest.mark.parametrize("mode", MODES)
def test_outgoing_messages_cost_no_request_more(table: DynamoDBStore, wire: Wire, mode: Mode) -> None:
    world = World(table)
    world.worker(mode, settings=RELAY).deliver(arrival("1"))
    without = list(wire.operations)
    wire.requests.clear()

    world.worker(mode, send_two, settings=RELAY).deliver(arrival("2"))

    assert wire.operations == without
    assert len(stored(world, "consumer#2")) == 2


def test_where_idempotency_is_disabled_each_delivery_sends_under_ids_of_its_own(world: World) -> None:
    ids: list[str] = []
    settings = Settings(outbox_relay="relay", idempotency_disabled=True)
    worker = world.worker(Lazy(), lambda message, work: ids.append(work.send(QUEUE, "x")), settings=settings)

    worker.deliver(arrival())
    worker.deliver(arrival(receive_count=2))

    assert len(set(ids)) == 2


# -- Refused at the call --------------------------------------------------------------------------


@pytest.mark.parametrize("call", SENDING)
@pytest.mark.parametrize("mode", MODES)
def test_without_a_relay_sending_is_refused_at_the_call_and_nothing_is_stored(
    world: World, mode: Mode, call: str
) -> None:
    worker = world.worker(mode, lambda message, work: SENDING[call](work) and None, settings=Settings())

    worker.deliver(arrival())

    assert errors(worker) == [NoOutboxRelayError]
    assert "OUTBOX_RELAY" in worker.reports[0].reason
    assert world.items("consumer#1") == {}


@pytest.mark.parametrize("call", SENDING)
def test_a_natural_consumer_refuses_to_send_and_says_what_to_do(world: World, call: str) -> None:
    worker = world.worker(Natural(), lambda message, work: SENDING[call](work) and None, settings=RELAY)

    worker.deliver(arrival())

    assert errors(worker) == [WritesNotAllowedError]
    assert "another mode" in worker.reports[0].reason


@pytest.mark.parametrize("call", SENDING)
def test_what_is_sent_after_the_handler_has_returned_is_refused(world: World, call: str) -> None:
    kept: list[UnitOfWork] = []
    world.worker(Lazy(), lambda message, work: kept.append(work), settings=RELAY).deliver(arrival())

    with pytest.raises(WritesNotAllowedError, match="returned"):
        SENDING[call](kept[0])


def test_what_threads_of_a_handler_send_is_all_stored(world: World) -> None:
    def handle(message: Message, work: UnitOfWork) -> None:
        threads = [threading.Thread(target=work.send, args=(QUEUE, str(number))) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    world.worker(Lazy(), handle, settings=RELAY).deliver(arrival())

    assert sorted(int(message["body"]) for message in stored(world)) == list(range(20))


@pytest.mark.parametrize(("error", "call"), [
    (UnsendableMessageError, lambda work: work.send("", "x")),
    (UnsendableMessageError, lambda work: work.send(f"{QUEUE}.fifo", "no group")),
    (UnsendableMessageError, lambda work: work.send(QUEUE.replace("eu-central-1", "us-east-1"), "elsewhere")),
    (UnsendableMessageError, lambda work: work.publish(TOPIC.replace("eu-central-1", "us-east-1"), "elsewhere")),
    (OutboxFullError, lambda work: work.send(QUEUE, "x" * 65_536)),
])  # fmt: skip
def test_what_cannot_leave_is_refused_at_the_call_and_its_handler_may_go_on(
    table: DynamoDBStore, error: type[Exception], call: Any
) -> None:
    world = World(table)

    def handle(message: Message, work: UnitOfWork) -> None:
        with pytest.raises(error):
            call(work)
        work.send(QUEUE, "instead")

    worker = world.worker(Transactional(), handle, settings=RELAY)

    assert worker.deliver(arrival()) == []
    assert stored(world) == [{"queue": QUEUE, "body": "instead"}]


def test_what_is_stored_is_what_was_there_at_the_call(world: World) -> None:
    def handle(message: Message, work: UnitOfWork) -> None:
        body, attributes = {"n": 1}, {"kind": "new"}
        work.send(QUEUE, body, attributes=attributes)
        body["n"], attributes["kind"] = 2, "old"

    world.worker(Lazy(), handle, settings=RELAY).deliver(arrival())

    assert stored(world) == [{"queue": QUEUE, "body": '{"n": 1}', "attributes": {"kind": "new"}}]


# -- Known again downstream -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_the_id_under_which_a_message_leaves_follows_from_the_key_and_its_place(world: World, mode: Mode) -> None:
    ids: list[str] = []

    def handle(message: Message, work: UnitOfWork) -> None:
        ids.extend(work.send(QUEUE, "x") for _ in range(2))
        if message.receive_count == 1:
            raise ConnectionError

    worker = world.worker(mode, handle, settings=RELAY)
    worker.deliver(arrival())
    worker.deliver(arrival(receive_count=2))

    assert ids == ["consumer#1/1", "consumer#1/2"] * 2
