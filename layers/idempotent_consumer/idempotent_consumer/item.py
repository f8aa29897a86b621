"""The stored item: its attributes in DynamoDB, and the way from there and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from idempotent_consumer.store import ITEM_VERSION, ProcessedMessage, Status

_STATUSES = {status.value: status for status in Status}
_FAR_FUTURE_MS = 253_402_300_799_000  # 9999-12-31


class ProcessedMessageItem(Model):
    """Map the stored item to DynamoDB; the table's name comes from the settings, so the model is never saved itself."""

    class Meta:
        """Satisfy PynamoDB."""

        table_name = "processed-messages"

    id = UnicodeAttribute(hash_key=True)
    status = UnicodeAttribute()
    owner = UnicodeAttribute()
    lease_until = NumberAttribute()
    expires_at = NumberAttribute()
    fingerprint = UnicodeAttribute(null=True)
    updated_at = NumberAttribute()
    source = UnicodeAttribute()
    outbox = UnicodeAttribute(null=True)
    v = NumberAttribute()


def to_item(message: ProcessedMessage) -> dict[str, Any]:
    """Return what is stored of a message, in DynamoDB's typed form."""
    return ProcessedMessageItem(
        id=message.key,
        status=message.status,
        owner=message.owner,
        lease_until=message.lease_until_ms,
        expires_at=message.expires_at_s,
        fingerprint=message.fingerprint,
        updated_at=message.updated_at_ms,
        source=message.source,
        outbox=message.outbox,
        v=ITEM_VERSION,
    ).serialize()


def from_item(item: Mapping[str, Any]) -> ProcessedMessage:
    """
    Read a stored item, as far as the conditions read it.

    What is missing or unknown never counts as permission, since the item may be somebody's claim: its message comes
    back until a person looks, in the dead-letter queue at last.
    """
    status = _STATUSES.get(_text(item, "status"))
    return ProcessedMessage(
        key=_text(item, "id"),
        status=status or Status.IN_PROGRESS,
        owner=_text(item, "owner"),
        lease_until_ms=_number(item, "lease_until") if status else _FAR_FUTURE_MS,
        expires_at_s=_number(item, "expires_at"),
        fingerprint=_text(item, "fingerprint") or None,
        updated_at_ms=_number(item, "updated_at"),
        source=_text(item, "source"),
        outbox=_text(item, "outbox") or None,
    )


def _text(item: Mapping[str, Any], name: str) -> str:
    return cast("str", item.get(name, {}).get("S", ""))


def _number(item: Mapping[str, Any], name: str) -> int:
    try:
        return int(item[name]["N"])
    except (KeyError, ValueError):
        return _FAR_FUTURE_MS
