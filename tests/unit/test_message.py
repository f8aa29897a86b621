"""What a handler gets of an SQS record, however odd the record is."""

import hashlib
import time
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from idempotent_consumer.clock import Deadline
from idempotent_consumer.errors import ConfigurationError, UnreadableMessageError
from idempotent_consumer.message import Envelope, Message, Opened, read_message
from idempotent_consumer.record import SqsRecord
from idempotent_consumer.testing import FakeClock, FakeContext, message, sqs_record

MEMBERS = ["attributes", "awsRegion", "eventSource", "eventSourceARN", "md5OfBody", "messageAttributes", "messageId"]


def read(record: object) -> Message:
    return read_message(record, Deadline(FakeClock()))


def with_system_attribute(name: str, value: object) -> Message:
    return read(sqs_record("body") | {"attributes": {name: value}})


def with_attribute(attribute: object) -> dict[str, str | bytes]:
    return dict(read(sqs_record("body") | {"messageAttributes": {"name": attribute}}).attributes)


def test_a_record_as_lambda_passes_it_is_read_whole() -> None:
    record = sqs_record(
        "text",
        sqs_message_id="s-1",
        attributes={"kind": "order", "raw": b"\x00\xff"},
        receive_count=3,
        group_id="g-1",
        queue_arn="arn:aws:sqs:eu-central-1:111122223333:orders.fifo",
    )
    record["attributes"]["SentTimestamp"] = "1767225600123"

    assert read(record) == Message(
        body="text",
        attributes={"kind": "order", "raw": b"\x00\xff"},
        _record=SqsRecord(
            sqs_message_id="s-1",
            queue_arn="arn:aws:sqs:eu-central-1:111122223333:orders.fifo",
            receive_count=3,
            group_id="g-1",
            sent_at=datetime(2026, 1, 1, 0, 0, 0, 123_000, tzinfo=UTC),
            receipt_handle="receipt-handle",
        ),
    )


def test_of_a_record_only_the_body_is_indispensable() -> None:
    assert read({"body": "text"}) == Message("text", {}, _record=SqsRecord("", "", 1, None, None))


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("nothing", [None, 42, "text", [], {}, [["messageId", "s-1"]], True])
def test_a_member_of_another_type_is_as_good_as_missing(member: str, nothing: object) -> None:
    without = {name: value for name, value in sqs_record("text").items() if name != member}
    is_text = isinstance(nothing, str) and member in {"messageId", "eventSourceARN"}

    assert (read(without | {member: nothing}) == read(without)) != is_text


@pytest.mark.parametrize("body", [None, 42, 4.2, True, b"text", {"at": object()}, [{1}]])
def test_a_body_that_is_neither_text_nor_json_cannot_be_read(body: object) -> None:
    with pytest.raises(UnreadableMessageError, match="the body is"):
        read(sqs_record("") | {"body": body})


@pytest.mark.parametrize("body", [{"order_id": "o-1"}, {}, [], [1, "a", None], {"a": "\ud800"}])
def test_an_object_or_a_list_in_place_of_the_text_is_the_json_that_it_stands_for(body: object) -> None:
    assert read(sqs_record("") | {"body": body}).json() == body


def test_a_record_without_body_says_so() -> None:
    with pytest.raises(UnreadableMessageError, match="the body is missing"):
        read({"messageId": "s-1"})


def test_a_record_in_the_form_of_receive_message_is_told_so() -> None:
    with pytest.raises(UnreadableMessageError, match="ReceiveMessage"):
        read({"messageId": "s-1", "Body": "text"})


@pytest.mark.parametrize("record", [None, [], "text", 42, b"", ["body", "text"]])
def test_a_record_that_is_no_object_cannot_be_read(record: object) -> None:
    with pytest.raises(UnreadableMessageError, match=type(record).__name__):
        read(record)


@pytest.mark.parametrize("body", ["", " ", "\ud800", "\x00"])
def test_every_text_is_a_body(body: str) -> None:
    assert read(sqs_record(body)).body == body


@pytest.mark.parametrize(
    ("record", "expected"),
    [({"messageId": "s-1"}, "s-1"), ({"messageId": 42}, ""), ({"messageId": None}, ""), ({}, ""), (None, ""), ([], "")],
)
def test_the_sqs_message_id_is_found_even_where_nothing_else_can_be_read(record: object, expected: str) -> None:
    assert SqsRecord.of(record).sqs_message_id == expected


# -- Message attributes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ({"stringValue": "a", "dataType": "String"}, "a"),
        ({"stringValue": "a"}, "a"),
        ({"stringValue": "", "dataType": "String"}, ""),
        ({"stringValue": "007.50", "dataType": "Number"}, "007.50"),
        ({"stringValue": "7", "binaryValue": "Nw==", "dataType": "Number"}, "7"),
        ({"stringValue": None, "binaryValue": "AP8=", "dataType": "Binary"}, b"\x00\xff"),
        ({"binaryValue": "AP8=", "dataType": "Binary.png"}, b"\x00\xff"),
        ({"binaryValue": ""}, b""),
        ({"binaryValue": "not base64!", "dataType": "Binary"}, "not base64!"),
        ({"binaryValue": "AP8", "dataType": "Binary"}, "AP8"),
        ({"binaryValue": "A!P8=", "dataType": "Binary"}, "A!P8="),
        ({"binaryValue": "é", "dataType": "Binary"}, "é"),
    ],
)
def test_a_message_attribute_is_text_or_bytes(attribute: object, expected: str | bytes) -> None:
    assert with_attribute(attribute) == {"name": expected}


@pytest.mark.parametrize("attribute", [None, "text", 42, [], {}, {"stringValue": 42}, {"binaryValue": b"a"}])
def test_a_message_attribute_without_value_is_left_out(attribute: object) -> None:
    assert with_attribute(attribute) == {}


def test_a_message_cannot_be_changed() -> None:
    read_one: Any = read(sqs_record("text", attributes={"a": "b"}))

    with pytest.raises(FrozenInstanceError):
        read_one.body = "other"
    with pytest.raises(TypeError):
        read_one.attributes["a"] = "c"


def test_a_message_can_be_kept_in_sets() -> None:
    record = sqs_record({"a": [1]}, attributes={"a": "b"})

    assert len({read(record), read(record)}) == 1


def test_a_message_shows_what_sqs_says_of_its_delivery() -> None:
    found = message("", sqs_message_id="s-1", receive_count=2, group_id="g-1", queue_arn="arn:aws:sqs:x:1:q")

    assert (found.sqs_message_id, found.queue_arn, found.receive_count) == ("s-1", "arn:aws:sqs:x:1:q", 2)
    assert (found.group_id, found.sent_at is not None) == ("g-1", True)


@pytest.mark.parametrize("record", [None, [], "text", 42, {}, {"attributes": None}, {"messageId": 42, "body": []}])
def test_what_sqs_says_can_be_read_of_anything(record: object) -> None:
    assert SqsRecord.of(record) == SqsRecord("", "", 1, None, None)


# -- What SQS says about the delivery -------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "expected"),
    [("1", 1), ("7", 7), (7, 7), ("0", 1), ("-3", 1), ("", 1), ("many", 1), ("2.5", 1), (None, 1), ([], 1), (True, 1)],
)
def test_a_receive_count_is_a_number_from_1_whatever_the_record_says(said: object, expected: int) -> None:
    assert with_system_attribute("ApproximateReceiveCount", said).receive_count == expected


@pytest.mark.parametrize(("said", "expected"), [("g-1", "g-1"), ("", None), (None, None), (42, None)])
def test_a_group_id_is_text_or_nothing(said: object, expected: str | None) -> None:
    assert with_system_attribute("MessageGroupId", said).group_id == expected


@pytest.mark.parametrize("said", [None, "", "soon", "1e3", "1.5", "9" * 20, "-" + "9" * 20, "9" * 5_000, [], True])
def test_a_nonsensical_time_of_sending_is_no_time(said: object) -> None:
    assert with_system_attribute("SentTimestamp", said).sent_at is None


def test_a_time_of_sending_in_seconds_is_taken_for_one() -> None:
    assert with_system_attribute("SentTimestamp", "1767225600").sent_at == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(("said", "expected"), [("d-1", "d-1"), (None, None), ("", None), (7, None), ([], None)])
def test_a_deduplication_id_and_a_trace_header_are_text_or_nothing(said: object, expected: str | None) -> None:
    assert with_system_attribute("MessageDeduplicationId", said).deduplication_id == expected
    assert with_system_attribute("AWSTraceHeader", said).trace_header == expected


def test_a_message_out_of_an_envelope_has_what_was_in_it_and_what_the_envelope_said() -> None:
    outer, inner = Envelope("sns", {"MessageId": "sns-1"}), Envelope("eventbridge", {"id": "event-1"})
    message = read(sqs_record("outer", attributes={"a": "outside", "b": "outside"}))

    opened = message.opened(Opened("middle", outer, {"a": "inside"})).opened(Opened("inner", inner))

    assert (opened.body, opened.attributes, opened.envelopes) == (
        "inner",
        {"a": "inside", "b": "outside"},
        (outer, inner),
    )
    assert (message.body, message.envelopes) == ("outer", ())


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    "sent_at",
    [
        datetime(2026, 3, 29, 1, 30, tzinfo=UTC),  # within the hour that Berlin skips
        datetime(2026, 10, 25, 0, 30, tzinfo=UTC),  # within the hour that Berlin has twice
        datetime(2026, 10, 25, 1, 30, tzinfo=UTC),
        datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(2026, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
    ],
)
def test_the_time_of_sending_is_utc_in_every_zone_and_at_every_change_of_clocks(sent_at: datetime) -> None:
    milliseconds = (sent_at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)

    read_at = with_system_attribute("SentTimestamp", str(milliseconds)).sent_at

    assert read_at == sent_at
    assert read_at.utcoffset() == timedelta(0)


# -- What the consumer adds -----------------------------------------------------------------------


def test_a_message_that_was_only_read_has_neither_id_nor_key() -> None:
    for name in ("id", "key", "idempotency_key"):
        with pytest.raises(ConfigurationError, match="no id here"):
            getattr(read(sqs_record("text")), name)


def test_the_idempotency_key_is_the_hash_of_the_key() -> None:
    found = message("text", message_id="é", consumer="orders")

    assert (found.id, found.key) == ("é", "orders#é")
    assert found.idempotency_key == hashlib.sha256("orders#é".encode()).hexdigest()


def test_the_idempotency_key_is_the_same_at_every_delivery_and_differs_between_consumers() -> None:
    first = message("text", message_id="m", consumer="a", sqs_message_id="s-1", receive_count=1)
    again = message("text", message_id="m", consumer="a", sqs_message_id="s-2", receive_count=2)
    elsewhere = message("text", message_id="m", consumer="b", sqs_message_id="s-1")

    assert first.idempotency_key == again.idempotency_key != elsewhere.idempotency_key


def test_a_message_has_a_payload_only_from_parse() -> None:
    plain = message("text")

    assert (plain.payload, plain.parsed([1]).payload) == (None, [1])


def test_json_reads_the_body_anew_at_each_call() -> None:
    found = message({"lines": [1]})

    found.json()["lines"].append(2)

    assert found.json() == {"lines": [1]}


@pytest.mark.parametrize("body", ["", "text", "{", "{'a': 1}", "\ufeff{}", "[" * 100_000, "9" * 5_000])
def test_a_body_that_is_not_json_raises_a_permanent_error(body: str) -> None:
    with pytest.raises(UnreadableMessageError, match="the body is not JSON"):
        message(body).json()


def test_the_time_left_is_read_afresh() -> None:
    clock = FakeClock()
    found = read_message(sqs_record("text"), Deadline(clock, FakeContext(30_000, clock)))

    before = found.time_left()
    clock.advance(timedelta(seconds=12))
    after = found.time_left()
    clock.advance(timedelta(minutes=1))

    assert [before, after, found.time_left()] == [timedelta(seconds=30), timedelta(seconds=18), timedelta(0)]


def test_a_message_that_no_invocation_delivered_has_no_time_left() -> None:
    assert Message("text", {}, _record=SqsRecord("", "", 1, None, None)).time_left() == timedelta(0)
