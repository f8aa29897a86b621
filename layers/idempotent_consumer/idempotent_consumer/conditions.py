"""
Every condition under which the table of processed messages is written, each with the race that it closes.

There is no unconditional write. `store.judge` says the same of an item that a condition has met.
"""

from __future__ import annotations

from typing import cast

from pynamodb.expressions.condition import Condition

from idempotent_consumer.item import ProcessedMessageItem
from idempotent_consumer.settings import CLOCK_MARGIN_MS
from idempotent_consumer.store import Status


def may_be_taken(now_ms: int) -> Condition:
    """
    Hold for a key that nobody has, or has any more: for a claim, a record without claim and a transaction.

    Two deliveries at once: one finds the key absent, the other finds the first. A worker that died: its claim may be
    taken, but only when its lease has ended on every clock within the margin; a live lease is never "expired", whatever
    its TTL says. A completed item that DynamoDB has not got round to deleting: its expiry is in the condition.
    """
    expired = (ProcessedMessageItem.status == Status.COMPLETED) & (ProcessedMessageItem.expires_at < now_ms // 1000)
    abandoned = (ProcessedMessageItem.status == Status.IN_PROGRESS) & (
        ProcessedMessageItem.lease_until < now_ms - CLOCK_MARGIN_MS
    )
    return cast("Condition", ProcessedMessageItem.id.does_not_exist() | expired | abandoned)


def may_be_completed(owner: str) -> Condition:
    """
    Hold for one's own claim, or none: for the completion.

    A slow holder whose lease was taken over does not overwrite the newer holder's record. No item at all means that an
    operator forgot it, or that a holder that took over has released: stored anew, or the effect would be repeated.
    """
    return cast("Condition", ProcessedMessageItem.id.does_not_exist() | is_my_claim(owner))


def is_my_claim(owner: str) -> Condition:
    """
    Hold for one's own claim: for the release.

    A slow holder does not delete the newer holder's claim. A completion that was applied although its answer was lost
    is not deleted by the release that follows, and so the effect is not repeated.
    """
    return cast(
        "Condition", (ProcessedMessageItem.owner == owner) & (ProcessedMessageItem.status == Status.IN_PROGRESS)
    )
