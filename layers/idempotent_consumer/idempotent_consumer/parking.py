"""
The outbox dead-letter queue: where an outgoing message waits for a person whose target will not have it.

It is parked whole, so that it can be sent again from there when its target has been mended.
"""

from __future__ import annotations

from datetime import UTC, datetime

from idempotent_consumer.departures import Leaving
from idempotent_consumer.errors import UnsendableMessageError
from idempotent_consumer.outgoing import OutgoingMessage, entry_of
from idempotent_consumer.sending import Entry
from idempotent_consumer.targets import NotTaken


def parked_entry(leaving: Leaving, why: NotTaken, now_ms: int) -> Entry:
    """
    Return an outgoing message as it is sent to the outbox dead-letter queue, a standard one.

    Its body is a JSON object: `id` (the message id, also in the attribute `message-id`), `key` of the processed message
    and `number` in its outbox, `code` and `reason`, `parked_at`, `committed_ms`, `trace`, and `message` as it is
    stored.

    Args:
        leaving: the message.
        why: the reason why its target does not get it.
        now_ms: the time, in milliseconds since 1970.
    """
    body = {
        "id": leaving.message_id,
        "key": leaving.key,
        "number": leaving.number,
        "code": why.code,
        "reason": why.reason,
        "parked_at": datetime.fromtimestamp(now_ms / 1000, tz=UTC).isoformat(timespec="seconds"),
        "committed_ms": leaving.stamp.committed_ms,
        "trace": leaving.stamp.trace_header,
        "message": leaving.stored,
    }
    try:
        return Entry(entry_of(OutgoingMessage(message_id=leaving.message_id, body=body), is_fifo=False))
    except UnsendableMessageError as error:
        return Entry({}, refusal=str(error))
