"""A processed message, as a person reads it: what it says, and what the next delivery will meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from idempotent_consumer.identity import key_of
from idempotent_consumer.item import from_item
from idempotent_consumer.outcome import Outcome
from idempotent_consumer.settings import CLOCK_MARGIN_MS
from idempotent_consumer.store import ProcessedMessage, Status, judge
from idempotent_consumer_operator.errors import NotFoundError, UsageError, translated

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

LEASE_LIVE, LEASE_ENDING, LEASE_ENDED = "live", "ending", "ended"


@dataclass(frozen=True, slots=True)
class Record:
    """
    Hold a stored item and the time at which it was read.

    Attributes:
        item: the item, in DynamoDB's typed form.
        message: what the layer reads in it.
        now_ms: the time, in milliseconds since 1970.
    """

    item: Mapping[str, Any]
    message: ProcessedMessage
    now_ms: int

    @classmethod
    def of(cls, item: Mapping[str, Any], now_ms: int) -> Record:
        """Read an item."""
        return cls(item, from_item(item), now_ms)

    @property
    def status(self) -> str:
        """Return the status as it is stored, even one that the layer does not know."""
        return str(self.item.get("status", {}).get("S", "?"))

    @property
    def lease(self) -> str | None:
        """Tell how the claim's lease is: live, ending within the margin of clocks, or ended; None without a claim."""
        if self.message.status is not Status.IN_PROGRESS:
            return None
        if self.message.lease_until_ms >= self.now_ms:
            return LEASE_LIVE
        return LEASE_ENDING if self.next_outcome is Outcome.IN_FLIGHT else LEASE_ENDED

    @property
    def next_outcome(self) -> Outcome | None:
        """Return the outcome that a delivery of the same content would have now; None if it would be handled."""
        return judge(self.message, self.message.fingerprint, self.now_ms)

    @property
    def queue_arn(self) -> str:
        """Return the ARN of the queue whose delivery wrote the item."""
        return self.message.source.partition(" ")[0]

    @property
    def sqs_message_id(self) -> str:
        """Return the SQS message id of the delivery that wrote the item."""
        return self.message.source.partition(" ")[2]

    @property
    def outbox_bytes(self) -> int:
        """Return the size of the outgoing messages that are stored with it."""
        return len(str(self.item.get("outbox", {}).get("S", "")).encode())

    def as_json(self) -> dict[str, Any]:
        """Return the record for scripts."""
        message = self.message
        return {
            "key": message.key,
            "status": self.status,
            "owner": message.owner,
            "lease": self.lease,
            "lease_until": iso(message.lease_until_ms) if self.lease else None,
            "updated_at": iso(message.updated_at_ms),
            "expires_at": iso(message.expires_at_s * 1000),
            "fingerprint": message.fingerprint,
            "queue_arn": self.queue_arn,
            "sqs_message_id": self.sqs_message_id,
            "outbox_bytes": self.outbox_bytes,
            "version": self.item.get("v", {}).get("N"),
            "next_delivery": self.next_outcome or "HANDLED",
        }


def key_from(consumer: str, message_id: str | None, key: str | None) -> str:
    """
    Return the key that is meant: that of a consumer and an id, by the layer's rule, or one given as it is.

    Raises:
        UsageError: both are given, or none; or the key is another consumer's.
    """
    if (message_id is None) == (key is None):
        raise UsageError("give the message id, or --key with the whole key")
    if message_id is not None:
        if not message_id.strip():
            raise UsageError("the message id is blank")
        return key_of(consumer, message_id)
    assert key is not None  # noqa: S101 - for mypy
    if not key.startswith(f"{consumer}#"):
        raise UsageError(f"the key is not one of {consumer}: it does not begin with {consumer}#")
    return key


def read_record(dynamodb: DynamoDBClient, table: str, key: str, now_ms: int) -> Record:
    """
    Read a processed message, with all that was written before.

    Raises:
        NotFoundError: there is none.
    """
    with translated():
        item = dynamodb.get_item(TableName=table, Key={"id": {"S": key}}, ConsistentRead=True).get("Item")
    if item is None:
        raise NotFoundError(f"{key} is not stored in {table}: it was never processed, released, forgotten or expired")
    return Record.of(item, now_ms)


def iso(instant_ms: int) -> str | None:
    """Return an instant in ISO form; None for one that no calendar has."""
    try:
        return datetime.fromtimestamp(instant_ms / 1000, tz=UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return None


def may_be_taken_before_ms(now_ms: int) -> int:
    """Return the instant before which a lease has to have ended for its claim to be taken over."""
    return now_ms - CLOCK_MARGIN_MS
