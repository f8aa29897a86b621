"""What a dead letter says of itself, and what is said of one that says nothing, or something of an earlier time."""

from typing import Any

import pytest

from idempotent_consumer_operator.letters import UNEXPLAINED, DeadLetter
from tests.operator.fake_queues import explanation

MOVED = {"DeadLetterQueueSourceArn": "arn:aws:sqs:::orders"}


def letter(attributes: dict[str, Any], system: dict[str, str] | None = None) -> DeadLetter:
    message: Any = {"MessageId": "now", "ReceiptHandle": "r", "Body": "order", "MessageAttributes": attributes}
    return DeadLetter.of(message | {"Attributes": {"SentTimestamp": "1767225600000", **(system or {})}})


def test_a_letter_of_ours_says_why_and_when_and_what_it_was() -> None:
    ours = letter(explanation(outcome="FAILED", receive_count=5, at="2026-01-31T12:00:00+00:00", queue_arn="arn"))

    assert (ours.reason, ours.error, ours.outcome) == ("InvalidOrder: no lines", "InvalidOrder", "FAILED")
    assert (ours.receive_count, ours.queue_arn, ours.original_sqs_message_id) == (5, "arn", "first")
    assert ours.given_up_at is not None
    assert ours.given_up_at.isoformat() == "2026-01-31T12:00:00+00:00"
    assert not ours.is_moved_by_sqs


def test_a_message_that_sqs_moved_keeps_its_id_and_names_its_queue() -> None:
    moved = letter({}, MOVED)

    assert moved.is_moved_by_sqs
    assert moved.reason.startswith("moved by SQS")
    assert (moved.original_sqs_message_id, moved.queue_arn, moved.error) == ("now", "arn:aws:sqs:::orders", None)


def test_a_redriven_message_that_sqs_moved_later_keeps_its_first_id_and_not_its_first_reason() -> None:
    moved = letter(explanation(outcome="REJECTED", receive_count=1, queue_arn="arn"), MOVED)

    assert moved.is_moved_by_sqs
    assert moved.reason.startswith("moved by SQS")
    assert moved.reason.endswith("earlier: InvalidOrder: no lines")
    assert (moved.error, moved.outcome, moved.receive_count) == (None, None, None)
    assert (moved.original_sqs_message_id, moved.queue_arn) == ("first", "arn:aws:sqs:::orders")


@pytest.mark.parametrize("said", ["", "no JSON", "[]", "null", "[" * 100_000, '{"reason": 1, "sqs_message_id": null}'])
def test_nonsense_in_the_attribute_is_nothing_said(said: str) -> None:
    nonsense = letter({"dead-letter": {"DataType": "String", "StringValue": said}})

    assert nonsense.reason == UNEXPLAINED
    assert nonsense.explanation is None
    assert nonsense.original_sqs_message_id == "now"


@pytest.mark.parametrize("instant", ["yesterday", ""])
def test_nonsense_in_what_sqs_says_is_nothing_known(instant: str) -> None:
    assert letter({}, {"SentTimestamp": instant}).given_up_at is None


def test_what_says_nothing_is_not_said_to_be_moved_by_sqs() -> None:
    assert letter({}).reason == UNEXPLAINED
    assert not letter({}).is_moved_by_sqs
