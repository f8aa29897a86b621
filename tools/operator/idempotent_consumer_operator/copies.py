"""The copy of a dead letter that goes back to its consumer, still known by the ids that the message had at first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from idempotent_consumer.outgoing import LARGEST_MESSAGE_BYTES, MOST_ATTRIBUTES, size_of, trace_fields
from idempotent_consumer.record import DEAD_LETTER_ATTRIBUTE
from idempotent_consumer.sending import Entry
from idempotent_consumer_operator.letters import DeadLetter

_NOT_OURS = f"its attribute {DEAD_LETTER_ATTRIBUTE!r} is not one of ours, and would have to go for its ids"
_WAY_OUT = "--drop-identity sends it without, where the consumer's id is in the message itself"


@dataclass(frozen=True, slots=True)
class Copying:
    """
    Copy dead letters for one queue.

    A letter that SQS itself has moved says nothing of its ids, and its copy gets a new one from SQS. So the copy is
    given the attribute by which `sqs_message_id()` knows it again. What its deduplication id was at first nobody knows
    any more, nor does `deduplication_id()`: SQS replaces it by the SQS message id.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-configure-dead-letter-queue-redrive.html

    Attributes:
        consumer: name of the consumer.
        is_fifo: whether its queue keeps order.
        drops_identity: whether a letter may go without the attribute if there is no place for it.
        queue_arn: the queue's ARN, for letters that do not say where they come from: ids of elsewhere do not count.
    """

    consumer: str
    is_fifo: bool
    drops_identity: bool = False
    queue_arn: str | None = None

    def entry_of(self, letter: DeadLetter, now_ms: int) -> Entry:
        """Return what is sent; it has a refusal if the letter must stay."""
        attributes, refusal = self._attributes(letter, now_ms)
        fields: dict[str, Any] = {"MessageBody": letter.body}
        if attributes:
            fields["MessageAttributes"] = attributes
        group = letter.group_id
        if group:
            fields["MessageGroupId"] = group
        if self.is_fifo:
            # A redrive that was killed before it deleted the letter sends it again, and SQS takes it once.
            fields["MessageDeduplicationId"] = letter.sqs_message_id
        if header := letter.system.get("AWSTraceHeader"):
            fields |= trace_fields(header)
        return Entry(fields, group if self.is_fifo else None, refusal)

    def _attributes(self, letter: DeadLetter, now_ms: int) -> tuple[Mapping[str, Any], str]:
        attributes = {name: _sendable(value) for name, value in letter.attributes.items()}
        if letter.explanation is not None:
            return attributes, ""
        problem = _NOT_OURS if DEAD_LETTER_ATTRIBUTE in attributes else ""
        known = attributes | {DEAD_LETTER_ATTRIBUTE: self._identity(letter, now_ms)}
        if not (problem := problem or _no_room(letter, known)):
            return known, ""
        return attributes, "" if self.drops_identity else f"{problem}: {_WAY_OUT}"

    def _identity(self, letter: DeadLetter, now_ms: int) -> dict[str, str]:
        said = {
            "reason": letter.reason,
            "error": None,
            "outcome": None,
            "consumer": self.consumer,
            "key": None,
            "receive_count": None,
            "queue_arn": letter.queue_arn or self.queue_arn,
            "at": datetime.fromtimestamp(now_ms / 1000, tz=UTC).isoformat(timespec="seconds"),
            "sqs_message_id": letter.sqs_message_id,
            "deduplication_id": None,
        }
        return {"DataType": "String", "StringValue": json.dumps(said)}


def _sendable(attribute: Mapping[str, Any]) -> dict[str, Any]:
    """Return an attribute as it was, binary ones and types of one's own too, without the empty lists of an answer."""
    return {name: attribute[name] for name in ("DataType", "StringValue", "BinaryValue") if name in attribute}


def _no_room(letter: DeadLetter, attributes: Mapping[str, Any]) -> str:
    if len(attributes) > MOST_ATTRIBUTES:
        return f"it has {MOST_ATTRIBUTES} attributes already, so that none is left for its ids"
    if size_of({"MessageBody": letter.body, "MessageAttributes": attributes}) > LARGEST_MESSAGE_BYTES:
        return "it has no room left for its ids"
    return ""
