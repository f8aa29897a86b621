"""
The messages of an outbox, one class for each kind of target, and the one form in which each is checked and sent.

A handler's call makes one of them and writes it as the relay will: what the target would refuse is refused there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from idempotent_consumer.errors import UnsendableMessageError
from idempotent_consumer.outgoing import (
    ID_ATTRIBUTE,
    OutgoingMessage,
    checked_text,
    entry_of,
    order_fields,
    written_attributes,
    written_body,
)

Attributes = Mapping[str, str | int | bytes]

_LONGEST_SUBJECT = 100
_LONGEST_DETAIL_TYPE = 128
_LONGEST_SOURCE = 256

_QUEUE_URL = re.compile(r"https?://[^/\s]+/(?:[^/\s]+/)*(?:[A-Za-z0-9_-]{1,80}|[A-Za-z0-9_-]{1,75}\.fifo)")
_QUEUE_REGION = re.compile(r"https?://(?:sqs\.([a-z0-9-]+)|([a-z0-9-]+)\.queue)\.amazonaws\.com")
_TOPIC_ARN = re.compile(
    r"arn:[a-z0-9-]+:sns:([a-z0-9-]*):[0-9]{12}:(?:[A-Za-z0-9_-]{1,256}|[A-Za-z0-9_-]{1,251}\.fifo)"
)
_BUS_NAME = re.compile(r"[A-Za-z0-9/._-]{1,256}")
_BUS_ARN = re.compile(r"arn:[a-z0-9-]+:events:([a-z0-9-]*):[0-9]{12}:event-bus/[A-Za-z0-9/._-]{1,256}")
_RESOURCE = re.compile(r"[!-~][ -~]{0,2047}")
_SUBJECT = re.compile(r"[!-~][ -~]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """
    Hold what the relay adds to a message.

    Attributes:
        message_id: under which it is sent, the same however often.
        trace_header: X-Ray header that goes along, if there is one.
        committed_ms: when the work that sends it was committed, in milliseconds since 1970; None before it is.
    """

    message_id: str
    trace_header: str | None = None
    committed_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToQueue:
    """
    Hold a message to a queue of SQS.

    Attributes:
        queue_url: URL of the queue; only one that ends in `.fifo` keeps order.
        body: its text.
        attributes: message attributes by name; the id is one more.
        group_id: message group.
        deduplication_id: what a FIFO queue folds equal messages by; None stands for the hex SHA-256 of the message id.
        delay: how long a standard queue hides the message at first.
    """

    queue_url: str
    body: str = field(repr=False)  # as in OutgoingMessage: no content in a log
    attributes: Attributes = field(default_factory=dict, hash=False, repr=False)
    group_id: str | None = None
    deduplication_id: str | None = None
    delay: timedelta | None = None

    @property
    def is_fifo(self) -> bool:
        """Tell whether the queue keeps order."""
        return self.queue_url.endswith(".fifo")

    @property
    def region(self) -> str | None:
        """Return the AWS region that the URL tells; None if it tells none."""
        told = _QUEUE_REGION.match(self.queue_url)
        return told and (told[1] or told[2])

    def entry(self, stamp: Stamp) -> Mapping[str, Any]:
        """
        Return the message as an entry of SendMessageBatch, all but its `Id`.

        Raises:
            UnsendableMessageError: SQS would refuse it.
        """
        if not isinstance(self.queue_url, str) or not _QUEUE_URL.fullmatch(self.queue_url):
            raise UnsendableMessageError(f"the queue is {self.queue_url!r:.200}: give the URL of a queue")
        message = OutgoingMessage(
            message_id=stamp.message_id,
            body=self.body,
            attributes=self.attributes,
            group_id=self.group_id,
            deduplication_id=self.deduplication_id,
            delay=self.delay,
            trace_header=stamp.trace_header,
        )
        return entry_of(message, is_fifo=self.is_fifo)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToTopic:
    """
    Hold a message to a topic of SNS.

    Attributes:
        topic_arn: ARN of the topic; only one that ends in `.fifo` keeps order.
        message: its text.
        attributes: message attributes by name; the id is one more.
        subject: of the mails that the topic sends.
        group_id: message group.
        deduplication_id: what a FIFO topic folds equal messages by; None stands for the hex SHA-256 of the message id.
    """

    topic_arn: str
    message: str = field(repr=False)
    attributes: Attributes = field(default_factory=dict, hash=False, repr=False)
    subject: str | None = field(default=None, repr=False)
    group_id: str | None = None
    deduplication_id: str | None = None

    @property
    def is_fifo(self) -> bool:
        """Tell whether the topic keeps order."""
        return self.topic_arn.endswith(".fifo")

    @property
    def region(self) -> str | None:
        """Return the AWS region of the topic."""
        told = _TOPIC_ARN.match(self.topic_arn)
        return told and told[1]

    def entry(self, stamp: Stamp) -> Mapping[str, Any]:
        """
        Return the message as an entry of PublishBatch, all but its `Id`.

        Source: https://docs.aws.amazon.com/sns/latest/api/API_PublishBatchRequestEntry.html

        Raises:
            UnsendableMessageError: SNS would refuse it, or a queue that subscribes to the topic would not get it.
        """
        if not isinstance(self.topic_arn, str) or not _TOPIC_ARN.fullmatch(self.topic_arn):
            raise UnsendableMessageError(f"the topic is {self.topic_arn!r:.200}: give the ARN of a topic")
        entry = {
            "Message": written_body(self.message),
            "MessageAttributes": written_attributes(stamp.message_id, self.attributes),
            **order_fields(
                stamp.message_id, self.group_id, self.deduplication_id, is_fifo=self.is_fifo, target="topic"
            ),
        }
        if self.subject is not None:
            entry["Subject"] = _subject(self.subject)
        return entry


@dataclass(frozen=True, slots=True, kw_only=True)
class ToBus:
    """
    Hold an event for a bus of EventBridge.

    Attributes:
        bus: name or ARN of the bus.
        source: who says it, such as `com.example.orders`.
        detail_type: what it is, such as `OrderPlaced`.
        detail: its content, a JSON object as text; the id is one more member.
        resources: ARNs of what it concerns.
    """

    bus: str
    source: str
    detail_type: str
    detail: str = field(repr=False)
    resources: Sequence[str] = ()

    is_fifo = False
    group_id = None

    @property
    def region(self) -> str | None:
        """Return the AWS region of the bus; None if it is given by its name."""
        told = _BUS_ARN.match(self.bus)
        return told and told[1]

    def entry(self, stamp: Stamp) -> Mapping[str, Any]:
        """
        Return the event as an entry of PutEvents.

        EventBridge gives an event a new id each time that it is put, so ours stands in the detail; its time is when the
        work was committed, and not when the relay came to it.

        Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsRequestEntry.html

        Raises:
            UnsendableMessageError: EventBridge would refuse it.
        """
        if not isinstance(self.bus, str) or not (_BUS_NAME.fullmatch(self.bus) or _BUS_ARN.fullmatch(self.bus)):
            raise UnsendableMessageError(f"the bus is {self.bus!r:.200}: give the name or the ARN of an event bus")
        entry: dict[str, Any] = {
            "EventBusName": self.bus,
            "Source": _source(self.source),
            "DetailType": _short_text(self.detail_type, "detail_type", _LONGEST_DETAIL_TYPE),
            "Detail": _with_id(self.detail, stamp.message_id),
        }
        if self.resources:
            entry["Resources"] = [_resource(resource) for resource in self.resources]
        if stamp.trace_header:
            entry["TraceHeader"] = stamp.trace_header
        if stamp.committed_ms is not None:
            entry["Time"] = datetime.fromtimestamp(stamp.committed_ms // 1000, tz=UTC)
        return entry


Outgoing = ToQueue | ToTopic | ToBus
"""One message of an outbox."""


def written_detail(detail: object) -> str:
    """
    Return the detail of an event as text.

    Args:
        detail: a mapping that JSON can write.

    Raises:
        UnsendableMessageError: it is none, or has a member of the name under which the id goes along.
    """
    if not isinstance(detail, Mapping):
        raise UnsendableMessageError(
            f"the detail is {type(detail).__name__}: EventBridge takes a JSON object, give a dict"
        )
    if ID_ATTRIBUTE in detail:
        raise UnsendableMessageError(f"{ID_ATTRIBUTE} is set by the relay: leave it out of the detail")
    return written_body(dict(detail))


def _with_id(detail: str, message_id: str) -> str:
    """Splice the id in as the first member, so that no digit of the content is written anew."""
    member = f"{json.dumps(ID_ATTRIBUTE)}: {json.dumps(message_id)}"
    rest = detail.removeprefix("{").lstrip() if isinstance(detail, str) else ""
    if not rest or rest == detail:
        raise UnsendableMessageError("the detail is no JSON object")
    return f"{{{member}}}" if rest == "}" else f"{{{member}, {rest}"


def _subject(subject: object) -> str:
    if isinstance(subject, str) and len(subject) <= _LONGEST_SUBJECT and _SUBJECT.fullmatch(subject):
        return subject
    raise UnsendableMessageError(
        f"the subject is not what SNS takes: give up to {_LONGEST_SUBJECT} printable ASCII characters, no line break, "
        "and no blank at the beginning"
    )


def _source(source: object) -> str:
    text = _short_text(source, "source", _LONGEST_SOURCE)
    if text.startswith("aws."):
        raise UnsendableMessageError(f"the source is {text!r}: names that begin with aws. are AWS's own")
    return text


def _short_text(value: object, name: str, longest: int) -> str:
    if isinstance(value, str) and 0 < len(value.encode(errors="surrogatepass")) <= longest and value.strip():
        return checked_text(value, name)
    raise UnsendableMessageError(f"{name} is {value!r:.160}: give a text of 1 to {longest} bytes")


def _resource(resource: object) -> str:
    if isinstance(resource, str) and _RESOURCE.fullmatch(resource):
        return resource
    raise UnsendableMessageError(f"a resource is {resource!r:.160}: give ARNs")
