"""What a handler gets: one message, read from the SQS record that delivered it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from idempotent_consumer.clock import Deadline
from idempotent_consumer.errors import ConfigurationError, UnreadableMessageError


@dataclass(frozen=True, slots=True)
class SqsRecord:
    """
    Hold what SQS says about a delivery. Reading it cannot fail: whatever is null, missing or nonsense is absent.

    Attributes:
        sqs_message_id: SQS's own id of the message; empty if the record has none.
        queue_arn: ARN of the queue that delivered; empty if the record has none.
        receive_count: times that SQS has delivered the message, this one included; 1 if SQS does not say.
        group_id: message group, if there is one. Only on a FIFO queue does it mean order.
        sent_at: when SQS took the message, in UTC; None if SQS does not say.
    """

    sqs_message_id: str
    queue_arn: str
    receive_count: int
    group_id: str | None
    sent_at: datetime | None

    @classmethod
    def of(cls, record: object) -> SqsRecord:
        """Read one element of the `Records` of a Lambda event."""
        members = _mapping(record)
        attributes = _mapping(members.get("attributes"))
        return cls(
            sqs_message_id=_text(members.get("messageId")),
            queue_arn=_text(members.get("eventSourceARN")),
            receive_count=max(1, _whole_number(attributes.get("ApproximateReceiveCount")) or 1),
            group_id=_text(attributes.get("MessageGroupId")) or None,
            sent_at=_instant(_whole_number(attributes.get("SentTimestamp"))),
        )

    @property
    def is_fifo(self) -> bool:
        """Tell whether the queue keeps order: only the end of its name says so, not a group id."""
        return self.queue_arn.endswith(".fifo")


@dataclass(frozen=True, slots=True)
class Message:
    """
    Hold one message as its producer sent it, and what SQS says about this delivery of it.

    Attributes:
        body: the text that the producer sent.
        attributes: the producer's message attributes by exact name: text, or bytes where their type is Binary.
            Numbers keep the text that was sent.
        payload: what the consumer's `parse` made of the body; None without `parse`.
    """

    body: str = field(repr=False)  # a message that is printed, as in an error, must not carry its content into a log
    attributes: Mapping[str, str | bytes] = field(hash=False, repr=False)
    payload: Any = field(default=None, hash=False, repr=False)
    _record: SqsRecord = field(default=SqsRecord("", "", 1, None, None), repr=False)
    _id: str | None = None
    _key: str | None = None
    _deadline: Deadline | None = field(default=None, repr=False, compare=False)

    @property
    def id(self) -> str:
        """Return the identity that the producer chose, as the consumer's strategy found it."""
        return _known(self._id)

    @property
    def key(self) -> str:
        """Return `consumer#message id`: what the store remembers the message by."""
        return _known(self._key)

    @property
    def idempotency_key(self) -> str:
        """Return the hex SHA-256 of the key: the same at every delivery, and fit for a header of a downstream call."""
        return hashlib.sha256(self.key.encode()).hexdigest()

    @property
    def sqs_message_id(self) -> str:
        """Return SQS's own id; it differs when the producer sends again and after a redrive."""
        return self._record.sqs_message_id

    @property
    def queue_arn(self) -> str:
        """Return the ARN of the queue that delivered."""
        return self._record.queue_arn

    @property
    def receive_count(self) -> int:
        """Return how many times SQS has delivered the message, this one included; 1 if SQS does not say."""
        return self._record.receive_count

    @property
    def group_id(self) -> str | None:
        """Return the message group, if there is one; only on a FIFO queue does it mean order."""
        return self._record.group_id

    @property
    def sent_at(self) -> datetime | None:
        """Return when SQS took the message, in UTC; None if SQS does not say."""
        return self._record.sent_at

    def identified(self, message_id: str, key: str) -> Message:
        """Return the message with its id and key."""
        return replace(self, _id=message_id, _key=key)

    def parsed(self, payload: Any) -> Message:
        """Return the message with its payload."""
        return replace(self, payload=payload)

    def json(self) -> Any:
        """
        Return the body read as JSON.

        Raises:
            UnreadableMessageError: the body is not JSON; out of a handler it makes the delivery REJECTED.
        """
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise UnreadableMessageError(f"the body is not JSON: {error}") from error

    def time_left(self) -> timedelta:
        """Return how long the invocation that handles the message still has."""
        return timedelta(milliseconds=self._deadline.left_ms()) if self._deadline else timedelta(0)


def read_message(record: object, deadline: Deadline) -> Message:
    """
    Read the message out of an SQS record; null members are as good as missing ones.

    Args:
        record: one element of the `Records` of a Lambda event.
        deadline: the end of the invocation that received it.

    Returns:
        The message, still without its id.

    Raises:
        UnreadableMessageError: the record is no object, or its body no text.
    """
    if not isinstance(record, Mapping):
        raise UnreadableMessageError(f"the record is {type(record).__name__}, not an object")
    body = record.get("body")
    if not isinstance(body, str):
        found = "missing" if body is None else f"{type(body).__name__}, not text"
        raise UnreadableMessageError(f"the body is {found}")
    return Message(
        body, MappingProxyType(_message_attributes(record)), _record=SqsRecord.of(record), _deadline=deadline
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _known(value: str | None) -> str:
    if value is None:
        raise ConfigurationError(
            "the message has no id here: an id strategy must not ask for the id, and a Natural consumer has none"
        )
    return value


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _message_attributes(record: Mapping[str, Any]) -> dict[str, str | bytes]:
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


def _decoded(binary: str) -> str | bytes:
    try:
        return base64.b64decode(binary, validate=True)
    except (binascii.Error, ValueError):
        return binary  # not what SQS delivers, but better shown to the handler than lost


def _whole_number(text: object) -> int | None:
    try:
        return int(str(text))
    except ValueError:
        return None


def _instant(milliseconds: int | None) -> datetime | None:
    if milliseconds is None:
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None
