"""What SQS says about a delivery. Reading it cannot fail: whatever is null, missing or nonsense is absent."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

DEAD_LETTER_ATTRIBUTE = "dead-letter"
"""The message attribute by which a dead letter explains itself; a redriven message still has it."""

_FIRST_MILLISECONDS = 10**11  # a smaller time is in seconds, as some emulators write it: in milliseconds it lay in 1973


@dataclass(frozen=True, slots=True)
class SqsRecord:
    """
    Hold what SQS says about a delivery.

    Attributes:
        sqs_message_id: SQS's own id of the message; empty if the record has none.
        queue_arn: ARN of the queue that delivered; empty if the record has none.
        receive_count: times that SQS has delivered the message, this one included; 1 if SQS does not say.
        group_id: message group, if there is one. Only on a FIFO queue does it mean order.
        sent_at: when SQS took the message, in UTC; None if SQS does not say.
        deduplication_id: what a FIFO queue folds equal messages by for five minutes; None on other queues.
        trace_header: X-Ray header of whoever sent the message, if there was one.
        receipt_handle: what names this delivery to SQS; empty if the record has none.
        original_sqs_message_id: how SQS called the message before it went through a dead-letter queue; None if it says
            nothing of that.
        original_deduplication_id: its deduplication id then.
    """

    sqs_message_id: str = ""
    queue_arn: str = ""
    receive_count: int = 1
    group_id: str | None = None
    sent_at: datetime | None = None
    deduplication_id: str | None = None
    trace_header: str | None = None
    receipt_handle: str = ""
    original_sqs_message_id: str | None = None
    original_deduplication_id: str | None = None

    @classmethod
    def of(cls, record: object) -> SqsRecord:
        """Read one element of the `Records` of a Lambda event."""
        members = _mapping(record)
        attributes = _mapping(members.get("attributes"))
        dead_letter = _dead_letter(members)
        return cls(
            sqs_message_id=_text(members.get("messageId")),
            queue_arn=_text(members.get("eventSourceARN")),
            receive_count=max(1, _whole_number(attributes.get("ApproximateReceiveCount")) or 1),
            group_id=_text(attributes.get("MessageGroupId")) or None,
            sent_at=_instant(_whole_number(attributes.get("SentTimestamp"))),
            deduplication_id=_text(attributes.get("MessageDeduplicationId")) or None,
            trace_header=_text(attributes.get("AWSTraceHeader")) or None,
            receipt_handle=_text(members.get("receiptHandle")),
            original_sqs_message_id=_text(dead_letter.get("sqs_message_id")) or None,
            original_deduplication_id=_text(dead_letter.get("deduplication_id")) or None,
        )

    @property
    def is_fifo(self) -> bool:
        """Tell whether the queue keeps order: only the end of its name says so, not a group id."""
        return self.queue_arn.endswith(".fifo")


def message_attributes_of(record: Mapping[str, Any]) -> dict[str, str | bytes]:
    """Return the producer's message attributes; those that are null, odd or of a type that SQS reserves are absent."""
    found: dict[str, str | bytes] = {}
    for name, attribute in _mapping(record.get("messageAttributes")).items():
        if not isinstance(attribute, Mapping):
            continue
        text, binary = attribute.get("stringValue"), attribute.get("binaryValue")
        if isinstance(text, str):  # also for Numbers, which some fixtures give a binaryValue as well
            found[name] = text
        elif isinstance(binary, str):
            found[name] = _decoded(binary)
    return found


def _dead_letter(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """
    Return what a dead letter of the same queue says of itself.

    Whoever passes a redriven message on to another queue with all its attributes sends new messages, which its ids
    would make one.
    """
    attribute = _mapping(_mapping(record.get("messageAttributes")).get(DEAD_LETTER_ATTRIBUTE))
    try:
        said = _mapping(json.loads(_text(attribute.get("stringValue"))))
    except (ValueError, RecursionError):
        return {}
    return said if said.get("queue_arn") == _text(record.get("eventSourceARN")) else {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _decoded(binary: str) -> str | bytes:
    try:
        return base64.b64decode(binary, validate=True)
    except (binascii.Error, ValueError):
        return binary  # not what SQS delivers, but better shown to the handler than lost


def _whole_number(text: object) -> int | None:
    if not isinstance(text, (str, int)):  # whatever else it is, writing it may end in a RecursionError
        return None
    try:
        return int(str(text))
    except ValueError:
        return None


def _instant(milliseconds: int | None) -> datetime | None:
    if milliseconds is None:
        return None
    if 0 <= milliseconds < _FIRST_MILLISECONDS:
        milliseconds *= 1_000
    try:
        return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None
