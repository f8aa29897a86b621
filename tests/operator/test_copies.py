"""A redriven message is the message that it was, and is known by the ids that it had at first."""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from idempotent_consumer import IdempotentConsumer, Lazy, Message, Outcome, UnitOfWork, deduplication_id, sqs_message_id
from idempotent_consumer.testing import FakeContext, InMemoryStore, sqs_event
from tests.operator.fake_queues import Held
from tests.operator.redriving import Ground

TEN = {f"attribute-{number}": {"DataType": "String", "StringValue": "x"} for number in range(10)}
EVERY_KIND = {
    "message-id": {"DataType": "String", "StringValue": "o-1"},
    "count": {"DataType": "Number.int", "StringValue": "007"},
    "thumbnail": {"DataType": "Binary.png", "BinaryValue": b"\x00\xff"},
}


def delivered(held: Held, queue: str = "orders") -> dict[str, Any]:
    """Return the SQS record in which Lambda delivers a message."""
    return {
        "messageId": held.sqs_message_id,
        "receiptHandle": "receipt",
        "body": held.body,
        "attributes": {"ApproximateReceiveCount": "1", **held.system},
        "messageAttributes": {name: _as_lambda_has_it(value) for name, value in held.attributes.items()},
        "eventSourceARN": f"arn:aws:sqs:::{queue}",
        "eventSource": "aws:sqs",
        "awsRegion": "eu-central-1",
        "md5OfBody": "",
    }


def _as_lambda_has_it(value: Mapping[str, Any]) -> dict[str, Any]:
    if "BinaryValue" in value:
        return {"dataType": value["DataType"], "binaryValue": base64.b64encode(value["BinaryValue"]).decode()}
    return {"dataType": value["DataType"], "stringValue": value["StringValue"]}


def outcomes(message_id: Callable[[Message], Any], *records: dict[str, Any]) -> list[Outcome]:
    """Deliver records, one after the other, and return their outcomes."""
    seen: list[Outcome] = []
    consumer = IdempotentConsumer(
        "place-order",
        mode=Lazy(),
        message_id=message_id,
        store=InMemoryStore(),
        on_outcome=lambda report: seen.append(report.outcome),
    )

    @consumer.handler
    def handle(message: Message, work: UnitOfWork) -> None:
        """Handle a message."""

    for record in records:
        consumer.consume(sqs_event(record), FakeContext())
    return seen


def test_body_attributes_of_every_kind_trace_and_group_are_kept() -> None:
    ground = Ground()
    system = {"AWSTraceHeader": "Root=1-5e3d83c1-e6a0db584850d61342823d4c", "MessageGroupId": "tenant"}
    ground.sqs.put(ground.dead_letters, ' {"a": 1}\n', attributes=EVERY_KIND, system=system)

    ground.redrive()

    copy = ground.only()
    assert copy.body == ' {"a": 1}\n'
    assert {name: copy.attributes[name] for name in EVERY_KIND} == EVERY_KIND
    assert {name: copy.system[name] for name in system} == system


def test_a_letter_of_ours_goes_as_it_is() -> None:
    ground = Ground()
    ground.give_up("order", key="place-order#o-1")
    (letter,) = ground.sqs.queues[ground.dead_letters]

    ground.redrive()

    assert ground.only().attributes == letter.attributes


def test_a_message_that_sqs_had_moved_is_known_again_by_its_sqs_message_id() -> None:
    ground = Ground()
    ground.sqs.put(ground.dead_letters, "order", system={"DeadLetterQueueSourceArn": "arn:aws:sqs:::orders"})
    (letter,) = ground.sqs.queues[ground.dead_letters]
    first_time = delivered(letter)

    ground.redrive()

    assert ground.only().sqs_message_id != letter.sqs_message_id
    assert outcomes(sqs_message_id(), first_time, delivered(ground.only())) == [Outcome.PROCESSED, Outcome.DUPLICATE]
    said = json.loads(ground.only().attributes["dead-letter"]["StringValue"])
    assert said["reason"].startswith("moved by SQS")
    assert (said["consumer"], said["queue_arn"]) == ("place-order", "arn:aws:sqs:::orders")


def test_a_message_of_a_fifo_queue_that_we_gave_up_is_known_again_by_its_deduplication_id() -> None:
    ground = Ground(fifo=True)
    system = {"MessageGroupId": "customer", "MessageDeduplicationId": "business id"}
    first_time = delivered(Held("first", "order", {}, dict(system)), "orders.fifo")
    ground.give_up("order", group="customer", deduplication_id="business id", queue_arn="arn:aws:sqs:::orders.fifo")

    ground.redrive()

    assert ground.only().system["MessageDeduplicationId"] != "business id"  # SQS would swallow the copy
    assert outcomes(deduplication_id(), first_time, delivered(ground.only(), "orders.fifo")) == [
        Outcome.PROCESSED,
        Outcome.DUPLICATE,
    ]


def test_a_message_that_sqs_moved_to_a_fifo_dead_letter_queue_is_not_known_again_by_its_deduplication_id() -> None:
    """SQS has replaced that id, so nobody can; the page about the command says so."""
    ground = Ground(fifo=True)
    system = {"MessageGroupId": "customer", "MessageDeduplicationId": "business id"}
    moved = {**system, "MessageDeduplicationId": "sqs-1", "DeadLetterQueueSourceArn": "arn:aws:sqs:::orders.fifo"}
    sqs_id = ground.sqs.put(ground.dead_letters, "order", system=moved)
    first_time = delivered(Held(sqs_id, "order", {}, system), "orders.fifo")

    ground.redrive()

    redriven = delivered(ground.only(), "orders.fifo")
    assert outcomes(deduplication_id(), first_time, redriven) == [Outcome.PROCESSED, Outcome.PROCESSED]
    assert outcomes(sqs_message_id(), first_time, redriven) == [Outcome.PROCESSED, Outcome.DUPLICATE]


@pytest.mark.parametrize(
    ("body", "attributes", "problem"),
    [("order", TEN, "10 attributes already"), ("x" * 1_048_500, {}, "no room")],
    ids=["ten attributes", "a megabyte"],
)
def test_where_there_is_no_room_for_the_ids_the_letter_stays_unless_they_may_be_dropped(
    body: str, attributes: Mapping[str, Any], problem: str
) -> None:
    ground = Ground()
    ground.sqs.put(ground.dead_letters, body, attributes=attributes)

    (failure,) = ground.redrive().failures

    assert problem in failure.reason
    assert "--drop-identity" in failure.reason
    assert ground.sqs.visible(ground.dead_letters) == [body]
    assert ground.arrived() == []

    ground.redrive(drops_identity=True)

    assert ground.only().attributes == attributes
    assert ground.sqs.bodies(ground.dead_letters) == []


def test_a_dry_run_names_what_would_have_no_room() -> None:
    ground = Ground()
    ground.sqs.put(ground.dead_letters, "order", attributes=TEN)

    tally = ground.redrive(is_dry=True)

    assert tally.redriven == 0
    assert len(tally.failures) == 1


@pytest.mark.parametrize("said", ["no JSON", "[]", "{}", '{"sqs_message_id": 7}', "[" * 100_000])
def test_an_attribute_of_that_name_which_is_not_ours_is_not_replaced_unless_the_ids_may_be_dropped(said: str) -> None:
    ground = Ground()
    attributes = {"dead-letter": {"DataType": "String", "StringValue": said}}
    ground.sqs.put(ground.dead_letters, "order", attributes=attributes)

    (failure,) = ground.redrive().failures

    assert "not one of ours" in failure.reason
    assert ground.sqs.visible(ground.dead_letters) == ["order"]

    ground.redrive(drops_identity=True)

    assert ground.only().attributes == attributes
