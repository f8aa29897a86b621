"""Send the planned messages, in batches of ten, and remember how SQS calls each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from tools.demo.outgoing import Outgoing
from tools.demo.queues import Channel, Queue

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

BATCH = 10
"""The most that SQS takes in one request."""


class SendingFailedError(Exception):
    """SQS refused messages that the demo cannot do without."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Hold a message that SQS has taken, and the id that SQS gave to it."""

    outgoing: Outgoing
    sqs_message_id: str


def send(sqs: SQSClient, channels: Mapping[Queue, Channel], messages: Iterable[Outgoing]) -> list[Sent]:
    """
    Send messages to their queues; those of one queue in the given order.

    Raises:
        SendingFailedError: SQS refused some.
    """
    by_queue: dict[Queue, list[Outgoing]] = {}
    for message in messages:
        by_queue.setdefault(message.queue, []).append(message)
    return [
        sent
        for queue, queued in by_queue.items()
        for batch in _batches(queued)
        for sent in send_to(sqs, channels[queue].url, batch)
    ]


def send_to(sqs: SQSClient, url: str, batch: Sequence[Outgoing]) -> Iterator[Sent]:
    """
    Send up to ten messages to one queue.

    Raises:
        SendingFailedError: SQS refused some.
    """
    answer = sqs.send_message_batch(QueueUrl=url, Entries=[_entry(at, each) for at, each in enumerate(batch)])
    if refused := answer.get("Failed"):
        raise SendingFailedError(f"{url}: {refused}")
    ids = {entry["Id"]: entry["MessageId"] for entry in answer["Successful"]}
    yield from (Sent(message, ids[str(at)]) for at, message in enumerate(batch))


def _entry(at: int, message: Outgoing) -> SendMessageBatchRequestEntryTypeDef:
    entry: SendMessageBatchRequestEntryTypeDef = {"Id": str(at), "MessageBody": message.body}
    if message.message_id is not None:
        entry["MessageAttributes"] = {"message-id": {"DataType": "String", "StringValue": message.message_id}}
    if message.group_id is not None:
        entry["MessageGroupId"] = message.group_id
        # SQS must not fold the duplicates; that is our part.
        entry["MessageDeduplicationId"] = uuid4().hex
    return entry


def _batches(messages: Sequence[Outgoing]) -> Iterator[Sequence[Outgoing]]:
    for start in range(0, len(messages), BATCH):
        yield messages[start : start + BATCH]
