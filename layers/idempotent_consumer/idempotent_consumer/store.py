"""
What the modes ask of a store, and the one place where an item met in it is judged.

The contract, for every store: each write is atomic and conditional on what it meets. A write whose condition fails
because it met *itself* - an earlier try was applied and its answer was lost - counts as done; the owner token, the same
over all tries, tells. Clocks are read afresh on every try. `tests/contract` holds every store to this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from idempotent_consumer.clock import Deadline
from idempotent_consumer.fingerprint import same_content
from idempotent_consumer.outcome import Outcome
from idempotent_consumer.settings import CLOCK_MARGIN_MS

ITEM_VERSION = 2
"""The form of the stored item. Raise it, with a decision record, when tests/approved/processed_message.json changes."""


class Status(StrEnum):
    """Name the two states that are stored; that one has expired is a judgement by the clock."""

    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"


@dataclass(frozen=True, slots=True)
class ProcessedMessage:
    """
    Hold one stored item: what is remembered of a message. Neither its body nor a result is among it.

    Attributes:
        key: `consumer#message id`.
        status: IN_PROGRESS while claimed, COMPLETED once handled.
        owner: token of the delivery that wrote the item.
        lease_until_ms: end of the claim, in milliseconds since 1970; 0 on a completed item.
        expires_at_s: when it may be forgotten, in whole seconds since 1970 (the table's TTL attribute).
        fingerprint: `<specification id>:<hash>` of the content; None if none is compared.
        updated_at_ms: when it was written, in milliseconds since 1970.
        source: the queue's ARN and the SQS message id of the delivery that wrote it.
        outbox: outgoing messages that the relay sends, as one JSON string; None if there are none.
    """

    key: str
    status: Status
    owner: str
    lease_until_ms: int
    expires_at_s: int
    fingerprint: str | None
    updated_at_ms: int
    source: str
    outbox: str | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """
    Hold what one delivery writes about itself; the instants are filled in at each try.

    Attributes:
        key: `consumer#message id`.
        owner: the delivery's owner token.
        fingerprint: of the message's content, or None.
        source: the queue's ARN and the SQS message id.
        retention_ms: how long the message is remembered, in milliseconds.
        outbox: outgoing messages that are stored with its completion; None if there are none.
    """

    key: str
    owner: str
    fingerprint: str | None
    source: str
    retention_ms: int
    outbox: str | None = None

    def in_progress(self, now_ms: int, lease_until_ms: int) -> ProcessedMessage:
        """Return the claim as of now; it is kept for the retention beyond its lease, so that TTL never ends a lease."""
        return self._item(Status.IN_PROGRESS, now_ms, lease_until_ms, max(now_ms, lease_until_ms))

    def completed(self, now_ms: int) -> ProcessedMessage:
        """Return the completed item as of now."""
        return replace(self._item(Status.COMPLETED, now_ms, 0, now_ms), outbox=self.outbox)

    def _item(self, status: Status, now_ms: int, lease_until_ms: int, kept_from_ms: int) -> ProcessedMessage:
        return ProcessedMessage(
            key=self.key,
            status=status,
            owner=self.owner,
            lease_until_ms=lease_until_ms,
            expires_at_s=-(-(kept_from_ms + self.retention_ms) // 1000),  # rounded up
            fingerprint=self.fingerprint,
            updated_at_ms=now_ms,
            source=self.source,
        )


UNMARKED = Mark(key="", owner="", fingerprint=None, source="", retention_ms=0)
"""Stands in for a delivery of which nothing is stored."""


def judge(old: ProcessedMessage | None, fingerprint: str | None, now_ms: int) -> Outcome | None:
    """
    Judge a stored item that a delivery has met; all modes ask here, so that a consumer may change its mode.

    Args:
        old: the item, or None if there is none.
        fingerprint: of the delivery.
        now_ms: the time, in milliseconds since 1970.

    Returns:
        The outcome that the delivery must have, or None if its work may be done: nothing is stored, what is stored has
        expired, or the lease of a claim has ended by more than the margin by which clocks may differ.
        An item that expires in the current second has not expired yet.
    """
    if old is None:
        return None
    if old.status is Status.IN_PROGRESS:
        return None if old.lease_until_ms + CLOCK_MARGIN_MS < now_ms else Outcome.IN_FLIGHT
    if old.expires_at_s < now_ms // 1000:
        return None
    return Outcome.DUPLICATE if same_content(old.fingerprint, fingerprint) else Outcome.REJECTED


@dataclass(frozen=True, slots=True)
class Write:
    """
    Hold one write of a handler that is committed together with the record of its message.

    Attributes:
        operation: `Put`, `Update`, `Delete` or `ConditionCheck`.
        request: its parameters in the form of DynamoDB's TransactWriteItems.
        key: the typed key of its item; None where a put in client form does not tell which attributes are the key.
    """

    operation: str
    request: Mapping[str, Any]
    key: Mapping[str, Any] | None = None


@runtime_checkable
class Store(Protocol):
    """
    Remember processed messages.

    A method that writes returns None when its write is durable, and otherwise the item that stood in its way. Every
    method raises `StoreUnavailableError` when it got no answer in the time left, so that the write may or may not have
    been applied, and `StoreRefusedError` when it got one that will not change.
    """

    @property
    def region(self) -> str | None:
        """Return the AWS region of what is committed, or None if it has none."""

    def look_up(self, keys: Sequence[str], deadline: Deadline) -> Mapping[str, ProcessedMessage]:
        """
        Return the items that there are for the keys, with all that was written before the call.

        Nothing protects a verdict that ends a delivery: a stale reading could acknowledge what was forgotten since.
        """

    def claim(self, mark: Mark, deadline: Deadline, *, lease_ms: int) -> ProcessedMessage | None:
        """Take a message for as long as the invocation lasts, `lease_ms` at least, if nothing that counts is stored."""

    def complete(self, mark: Mark, deadline: Deadline) -> ProcessedMessage | None:
        """Turn one's own claim into a completed item; if it is gone altogether, store that."""

    def remember(self, mark: Mark, deadline: Deadline) -> ProcessedMessage | None:
        """Store a completed item without a claim before it, under the condition of a claim."""

    def release(self, mark: Mark, deadline: Deadline) -> None:
        """Give one's own claim up; what is not one's own, or is completed, stays untouched."""

    def commit(self, mark: Mark, writes: Sequence[Write], deadline: Deadline) -> ProcessedMessage | None:
        """
        Store a completed item and the handler's writes in one transaction, under the condition of a claim.

        Raises:
            ConditionFailed: our record could have been stored, but a condition of the handler's did not hold.
        """
