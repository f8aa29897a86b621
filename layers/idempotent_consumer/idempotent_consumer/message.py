"""What a handler gets: one message, read from the SQS record that delivered it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from idempotent_consumer.clock import Deadline
from idempotent_consumer.errors import ConfigurationError, UnreadableMessageError
from idempotent_consumer.record import SqsRecord, message_attributes_of


@dataclass(frozen=True, slots=True)
class Envelope:
    """
    Hold what an envelope said that was opened.

    Attributes:
        kind: `sns`, `eventbridge`, `cloudevents`, `s3`, `base64`, `gzip`; the name of a function of one's own.
        members: the envelope's members except the content, such as SNS's `TopicArn` and EventBridge's `detail-type`.
        relayed_id: message id that the relay of an outbox has put into the content; None if there is none.
    """

    kind: str
    members: Mapping[str, Any] = field(hash=False, repr=False)
    relayed_id: str | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """
    Hold what was in an envelope.

    Attributes:
        body: the text inside.
        envelope: what the envelope said itself.
        attributes: message attributes that travelled in it.
    """

    body: str = field(repr=False)
    envelope: Envelope
    attributes: Mapping[str, str | bytes] = field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """
    Hold one message as its producer sent it, and what SQS says about this delivery of it.

    Attributes:
        body: the text that the producer sent; without the envelopes that the consumer was told to open.
        attributes: the producer's message attributes by exact name: text, or bytes where their type is Binary.
            Numbers keep the text that was sent.
        payload: what the consumer's `parse` made of the body; None without `parse`.
        envelopes: what the opened envelopes said, outermost first.
    """

    body: str = field(repr=False)  # a message that is printed, as in an error, must not carry its content into a log
    attributes: Mapping[str, str | bytes] = field(hash=False, repr=False)
    payload: Any = field(default=None, hash=False, repr=False)
    envelopes: tuple[Envelope, ...] = ()
    _record: SqsRecord = field(default=SqsRecord(), repr=False)
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
    def original_sqs_message_id(self) -> str:
        """Return SQS's own id as it was before the message went through a dead-letter queue; it is the same after."""
        return self._record.original_sqs_message_id or self._record.sqs_message_id

    @property
    def original_deduplication_id(self) -> str | None:
        """Return the deduplication id as it was before the message went through a dead-letter queue."""
        return self._record.original_deduplication_id or self._record.deduplication_id

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

    @property
    def deduplication_id(self) -> str | None:
        """Return what a FIFO queue folds equal messages by for five minutes; None on other queues."""
        return self._record.deduplication_id

    @property
    def trace_header(self) -> str | None:
        """Return the X-Ray header of whoever sent the message, to be passed on with what follows from it."""
        return self._record.trace_header

    def opened(self, opened: Opened) -> Message:
        """Return the message that was in an envelope; attributes in the envelope count before those outside."""
        return replace(
            self,
            body=opened.body,
            attributes=MappingProxyType({**self.attributes, **opened.attributes}),
            envelopes=(*self.envelopes, opened.envelope),
        )

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
        UnreadableMessageError: the record is no object, or its body neither text nor JSON.
    """
    if not isinstance(record, Mapping):
        raise UnreadableMessageError(f"the record is {type(record).__name__}, not an object")
    body = _body_of(record)
    attributes = MappingProxyType(message_attributes_of(record))
    return Message(body, attributes, _record=SqsRecord.of(record), _deadline=deadline)


def _body_of(record: Mapping[str, Any]) -> str:
    body = record.get("body")
    if isinstance(body, str):
        return body
    if isinstance(body, (dict, list)):  # not what SQS delivers, but what people write in sample events
        try:
            return json.dumps(body)
        except (TypeError, ValueError, RecursionError) as error:
            raise UnreadableMessageError(f"the body is no JSON: {error}") from error
    found = "missing" if body is None else f"{type(body).__name__}, not text"
    if "Body" in record:
        found += ", and Body is there: that is the form in which ReceiveMessage answers, not Lambda's"
    raise UnreadableMessageError(f"the body is {found}")


def _known(value: str | None) -> str:
    if value is None:
        raise ConfigurationError(
            "the message has no id here: an id strategy must not ask for the id, and a Natural consumer has none"
        )
    return value
