"""What the tests of users lean on: events as Lambda builds them, time that stands still, work to look into."""

import hashlib
import uuid
from datetime import timedelta

import pytest
from aws_lambda_powertools.utilities.data_classes import SQSEvent

from idempotent_consumer.clock import Deadline
from idempotent_consumer.event import records_of
from idempotent_consumer.message import read_message
from idempotent_consumer.testing import FakeClock, FakeContext, message, recorded_work, sqs_event, sqs_record
from tests.unit.orders import Order

MEMBERS_OF_LAMBDA = {
    "messageId",
    "receiptHandle",
    "body",
    "attributes",
    "messageAttributes",
    "md5OfBody",
    "eventSource",
    "eventSourceARN",
    "awsRegion",
}


def test_a_record_has_the_members_that_lambda_gives_it() -> None:
    record = sqs_record("body")

    assert record.keys() == MEMBERS_OF_LAMBDA
    assert record["md5OfBody"] == hashlib.md5(b"body", usedforsecurity=False).hexdigest()
    assert record["attributes"]["ApproximateReceiveCount"] == "1"


def test_an_event_reads_the_same_for_powertools() -> None:
    event = sqs_event(sqs_record({"a": 1}, sqs_message_id="s-1", receive_count=2, attributes={"kind": "x"}))

    [record] = SQSEvent(event).records

    assert (record.message_id, record.json_body, record.event_source) == ("s-1", {"a": 1}, "aws:sqs")
    assert record.attributes.approximate_receive_count == "2"
    assert {name: one and one.string_value for name, one in record.message_attributes.items()} == {"kind": "x"}


def test_an_event_holds_its_records_in_order() -> None:
    first, second = sqs_record("a"), sqs_record("b")

    assert records_of(sqs_event(first, second)) == [first, second]
    assert records_of(sqs_event()) == []


def test_every_record_has_a_message_id_of_its_own() -> None:
    first, second = (uuid.UUID(sqs_record("same")["messageId"]) for _ in range(2))

    assert first != second


@pytest.mark.parametrize(
    ("body", "text"), [("text", "text"), ("", ""), ({"a": 1}, '{"a": 1}'), ([], "[]"), (None, "null"), (42, "42")]
)
def test_a_text_is_the_body_and_anything_else_its_json(body: object, text: str) -> None:
    assert sqs_record(body)["body"] == text


@pytest.mark.parametrize("value", ["", "text", "é", b"", b"\x00\xff"])
def test_an_attribute_comes_back_as_it_was_given(value: str | bytes) -> None:
    assert message("", attributes={"name": value}).attributes == {"name": value}


def test_a_message_is_as_a_handler_gets_it() -> None:
    found = message({"a": 1}, message_id="m-1", consumer="orders", payload=[1], sqs_message_id="s-1", group_id="g")

    assert (found.id, found.key, found.payload) == ("m-1", "orders#m-1", [1])
    assert (found.json(), found.sqs_message_id, found.group_id) == ({"a": 1}, "s-1", "g")
    assert found.sent_at is not None
    assert found.time_left() > timedelta(0)


def test_a_fake_clock_stands_still_until_it_is_moved() -> None:
    clock = FakeClock(now_ms=1_000)

    readings = [clock.now_ms(), clock.now_ms()]
    clock.advance(timedelta(seconds=2))
    readings.append(clock.now_ms())
    clock.sleep_ms(5)

    assert [*readings, clock.now_ms()] == [1_000, 1_000, 3_000, 3_005]


def test_a_fake_context_keeps_its_time_unless_it_is_given_a_clock() -> None:
    clock = FakeClock()
    still, running = FakeContext(9_000), FakeContext(9_000, clock)

    clock.advance(timedelta(seconds=4))

    assert (still.get_remaining_time_in_millis(), running.get_remaining_time_in_millis()) == (9_000, 5_000)


def test_a_fake_context_counts_from_its_own_beginning() -> None:
    clock = FakeClock()
    clock.advance(timedelta(hours=1))

    assert Deadline(clock, FakeContext(9_000, clock)).left_ms() == 9_000


def test_recorded_work_shows_what_a_handler_would_have_written() -> None:
    work = recorded_work()

    work.save(Order("o-1", status="NEW"))

    assert [(write.operation, write.request["Item"]) for write in work.writes] == [
        ("Put", {"id": {"S": "o-1"}, "status": {"S": "NEW"}})
    ]


def test_a_built_record_is_read_without_loss() -> None:
    record = sqs_record("text", receive_count=4, queue_arn="arn:aws:sqs:eu-west-1:1:q")

    found = read_message(record, Deadline(FakeClock()))

    assert (found.body, found.receive_count, found.queue_arn) == ("text", 4, "arn:aws:sqs:eu-west-1:1:q")
