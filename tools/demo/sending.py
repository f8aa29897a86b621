"""Send the planned messages with the layer's producer, and remember how SQS calls each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from idempotent_consumer.producer import OutgoingMessage, Producer
from tools.demo.outgoing import Outgoing
from tools.demo.queues import Channel, Queue

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@dataclass(frozen=True, slots=True)
class Sent:
    """Hold a message that SQS has taken, and the id that SQS gave to it."""

    outgoing: Outgoing
    sqs_message_id: str


def send(sqs: SQSClient, channels: Mapping[Queue, Channel], messages: Iterable[Outgoing]) -> list[Sent]:
    """
    Send messages to their queues; those of one queue in the given order.

    Raises:
        NotSentError: SQS did not take some that the demo cannot do without.
    """
    by_queue: dict[Queue, list[Outgoing]] = {}
    for message in messages:
        by_queue.setdefault(message.queue, []).append(message)
    return [sent for queue, queued in by_queue.items() for sent in send_to(sqs, channels[queue].url, queued)]


def send_to(sqs: SQSClient, url: str, messages: Sequence[Outgoing]) -> list[Sent]:
    """
    Send messages to one queue, in the given order but for those without an id, which come last.

    Raises:
        NotSentError: SQS did not take some.
    """
    known = [(message, _with_id(message, message.message_id)) for message in messages if message.message_id is not None]
    report = Producer(url, client=sqs).send_all(outgoing for _, outgoing in known)
    report.raise_for_unsent()
    sent = [Sent(message, each.sqs_message_id) for (message, _), each in zip(known, report.sent, strict=True)]
    return sent + [_sent_by_a_stranger(sqs, url, message) for message in messages if message.message_id is None]


def _with_id(message: Outgoing, message_id: str) -> OutgoingMessage:
    return OutgoingMessage(
        message_id=message_id,
        body=message.body,
        group_id=message.group_id,
        # SQS must not fold the duplicates; that is our part.
        deduplication_id=uuid4().hex if message.group_id is not None else None,
    )


def _sent_by_a_stranger(sqs: SQSClient, url: str, message: Outgoing) -> Sent:
    """Send as somebody does who gives no ids; the layer's producer would not."""
    return Sent(message, sqs.send_message(QueueUrl=url, MessageBody=message.body)["MessageId"])
