"""A message goes out under its id as it was given, or is refused with what to do."""

import hashlib
import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from idempotent_consumer.errors import UnsendableMessageError
from idempotent_consumer.outgoing import LARGEST_MESSAGE_BYTES, OutgoingMessage, entry_of

ALLOWED = "\t\n\r"


def order(message_id: str = "o-1", body: Any = "{}", **options: Any) -> OutgoingMessage:
    return OutgoingMessage(message_id=message_id, body=body, **options)


def entry(message: OutgoingMessage) -> dict[str, Any]:
    return entry_of(message, is_fifo=False)


def fifo_entry(message: OutgoingMessage) -> dict[str, Any]:
    return entry_of(message, is_fifo=True)


def refusal_of(message: OutgoingMessage, *, is_fifo: bool = False) -> str:
    with pytest.raises(UnsendableMessageError) as refused:
        entry_of(message, is_fifo=is_fifo)
    return str(refused.value)


# -- What goes out --------------------------------------------------------------------------------


def test_a_message_carries_its_id_as_the_attribute_that_consumers_ask_for() -> None:
    assert entry(order("o-1")) == {
        "MessageBody": "{}",
        "MessageAttributes": {"message-id": {"DataType": "String", "StringValue": "o-1"}},
    }


def test_a_body_of_text_goes_out_as_it_is() -> None:
    assert entry(order(body=' {"a":\t1.10}\n'))["MessageBody"] == ' {"a":\t1.10}\n'


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=8,
).filter(lambda body: not isinstance(body, str))


@given(JSON)
def test_any_other_body_goes_out_as_json_that_every_queue_takes(body: object) -> None:
    text = entry(order(body=body))["MessageBody"]

    assert json.loads(text) == body
    assert text.isascii()
    assert all(character.isprintable() for character in text)


@pytest.mark.parametrize("character", ["\x00", "\x07", "\x1f", "\ud83d", "\ufffe"])
def test_what_sqs_refuses_in_text_gets_through_in_json(character: str) -> None:
    assert json.loads(entry(order(body={"text": character}))["MessageBody"]) == {"text": character}


def test_attributes_go_out_by_their_type() -> None:
    attributes = {"a.b-c_D": "text", "number": -(10**38) + 1, "bytes": b"\x00\xff"}

    assert entry(order(attributes=attributes))["MessageAttributes"] == {
        "message-id": {"DataType": "String", "StringValue": "o-1"},
        "a.b-c_D": {"DataType": "String", "StringValue": "text"},
        "number": {"DataType": "Number", "StringValue": "-" + 38 * "9"},
        "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
    }


def test_a_fifo_queue_gets_the_group_and_the_hash_of_the_id_to_fold_by() -> None:
    written = fifo_entry(order("o-1", group_id="c-17"))

    assert written["MessageGroupId"] == "c-17"
    assert written["MessageDeduplicationId"] == hashlib.sha256(b"o-1").hexdigest()


def test_a_fifo_queue_may_be_told_what_to_fold_by() -> None:
    assert fifo_entry(order(group_id="g", deduplication_id="d!~"))["MessageDeduplicationId"] == "d!~"


def test_a_standard_queue_may_get_a_group_to_be_fair_to() -> None:
    written = entry(order(group_id="tenant-1"))

    assert written["MessageGroupId"] == "tenant-1"
    assert "MessageDeduplicationId" not in written


@pytest.mark.parametrize(("milliseconds", "seconds"), [(0, 0), (1, 1), (1_000, 1), (1_001, 2), (900_000, 900)])
def test_a_delay_is_never_shorter_than_asked_for(milliseconds: int, seconds: int) -> None:
    assert entry(order(delay=timedelta(milliseconds=milliseconds)))["DelaySeconds"] == seconds


def test_the_trace_goes_on_unless_it_is_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-a;Sampled=1")

    header = {"DataType": "String", "StringValue": "Root=1-a;Sampled=1"}
    assert entry(order())["MessageSystemAttributes"] == {"AWSTraceHeader": header}
    assert "MessageSystemAttributes" not in entry(order(trace_header=None))
    kept = entry(order(trace_header="Root=1-b"))
    assert kept["MessageSystemAttributes"]["AWSTraceHeader"]["StringValue"] == "Root=1-b"


@pytest.mark.parametrize("message_id", ["x" * 10_000, "ä/ö", "a b", " a ", "#", "\U0001f600"])
def test_an_id_may_be_any_text_that_is_not_blank(message_id: str) -> None:
    assert entry(order(message_id))["MessageAttributes"]["message-id"]["StringValue"] == message_id


def test_a_message_may_be_as_large_as_sqs_takes_it() -> None:
    overhead = len("message-id" + "String" + "o-1") + len("key" + "Binary") + 100
    largest = LARGEST_MESSAGE_BYTES - overhead

    assert entry(order(body="x" * largest, attributes={"key": bytes(100)}))
    assert "1,048,577 bytes" in refusal_of(order(body="x" * (largest + 1), attributes={"key": bytes(100)}))
    assert "1,048,577 bytes" in refusal_of(
        order(body="é" * (largest // 2) + "xx"[: largest % 2 + 1], attributes={"key": bytes(100)})
    )


def test_a_message_that_is_printed_keeps_its_content_to_itself() -> None:
    assert "secret" not in repr(order(body="secret", attributes={"a": "secret"}, trace_header="secret"))


# -- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (order(""), "the message id is blank: give what makes this message the same when sent again"),
        (order(" \t"), "the message id is blank"),
        (order(7), "the message id is int: give text"),  # type: ignore[arg-type]
        (order("a\x07"), "the message id holds U+0007 at position 1"),
        (order(body=""), "the body is empty"),
        (order(body=b"{}"), "the body is bytes, and SQS takes text: encode it"),
        (order(body={"price": float("nan")}), "the body cannot be written as JSON"),
        (order(body={"when": timedelta(1)}), "the body cannot be written as JSON: Object of type timedelta"),
        (order(attributes={"message-id": "o-2"}), "message-id is set by message_id"),
        (order(attributes={"dead-letter": "{}"}), "dead-letter is what a redriven message is known by: leave it out"),
        (order(attributes={"a": ""}), "the attribute a is empty, which SQS refuses: leave it out"),
        (order(attributes={"a": b""}), "the attribute a is empty"),
        (order(attributes={"a": "\x00"}), "the attribute a holds U+0000 at position 0"),
        (order(attributes={"a": True}), "the attribute a is bool: give text, a whole number or bytes"),
        (order(attributes={"a": 1.5}), "the attribute a is float"),
        (order(attributes={"a": None}), "the attribute a is NoneType"),
        (order(attributes={"a": 10**38}), "the attribute a has more than 38 digits: give it as text"),
        (order(attributes=dict.fromkeys("abcdefghij", "x")), "there are 10 attributes, and SQS takes 10, of which"),
        (order(group_id=""), "group_id is '': give 1 to 128"),
        (order(group_id="a b"), "group_id is 'a b'"),
        (order(deduplication_id="d"), "only a FIFO queue takes a deduplication_id: leave it out"),
        (order(delay=timedelta(seconds=-1)), "the delay is datetime.timedelta"),
        (order(delay=timedelta(seconds=901)), "give a timedelta from 0 to 15 minutes"),
        (order(delay=5), "the delay is 5: give a timedelta"),
        (order(trace_header="Root=\x00"), "the trace header holds U+0000 at position 5"),
    ],
)  # fmt: skip
def test_what_sqs_would_refuse_is_refused_with_what_to_do(message: OutgoingMessage, advice: str) -> None:
    assert advice in refusal_of(message)


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (order(), "a FIFO queue needs a group_id: give the id of what has to stay in order"),
        (order(group_id="g", delay=timedelta(0)), "a FIFO queue takes no delay by message"),
        (order(group_id="x" * 129), "group_id is 'xxx"),
        (order(group_id="g", deduplication_id=""), "deduplication_id is ''"),
        (order(group_id="g", deduplication_id="ä"), "deduplication_id is 'ä'"),
    ],
)
def test_what_a_fifo_queue_would_refuse_is_refused_with_what_to_do(message: OutgoingMessage, advice: str) -> None:
    assert advice in refusal_of(message, is_fifo=True)


@pytest.mark.parametrize(
    "name", ["", "a b", ".a", "a.", "a..b", "AWS.a", "aws.a", "Amazon.a", "ä", "a\n", "x" * 257, 7]
)
def test_an_attribute_name_that_sqs_does_not_take_is_refused(name: Any) -> None:
    assert f"the attribute name is {name!r:.80}: give" in refusal_of(order(attributes={name: "x"}))


@given(some.text(some.characters(exclude_categories=[]), min_size=1))
def test_a_text_is_sent_unchanged_or_refused_by_its_first_character_that_sqs_does_not_take(body: str) -> None:
    refused = [
        at
        for at, each in enumerate(body)
        if not (each in ALLOWED or "\x20" <= each <= "\ud7ff" or "\ue000" <= each <= "\ufffd" or each > "\uffff")
    ]

    if refused:
        assert f"the body holds U+{ord(body[refused[0]]):04X} at position {refused[0]}," in refusal_of(order(body=body))
    else:
        assert entry(order(body=body))["MessageBody"] == body
