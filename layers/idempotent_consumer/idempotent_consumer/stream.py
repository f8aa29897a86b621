"""The edge to the stream of the table of processed messages: what a batch of its records says about outboxes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idempotent_consumer.errors import NotAStreamEventError
from idempotent_consumer.store import Status

_MOST_DIGITS = 13  # of milliseconds, for the next two centuries


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """
    Hold what one record of the stream says.

    Attributes:
        sequence_number: by which the record is reported; empty if it has none.
        key: of the processed message.
        outbox: its outgoing messages as they are stored; None if this change has none to send.
        committed_ms: when it was completed, in milliseconds since 1970; None if that cannot be read.
    """

    sequence_number: str
    key: str
    outbox: str | None
    committed_ms: int | None = None

    @classmethod
    def of(cls, record: object) -> StreamRecord:
        """
        Read a record of the stream.

        Only the new image of a completed message counts: a claim has nothing to send yet, and what is deleted was sent
        when it was completed. The event source's filter says the same; this holds where somebody left it out.
        """
        change = _mapping(_mapping(record).get("dynamodb"))
        image = _mapping(change.get("NewImage"))
        is_completed = _typed(image, "status", "S") == Status.COMPLETED
        return cls(
            sequence_number=_text(change.get("SequenceNumber")),
            key=_typed(image, "id", "S"),
            outbox=(_typed(image, "outbox", "S") or None) if is_completed else None,
            committed_ms=_number(_typed(image, "updated_at", "N")),
        )


def stream_records(event: object) -> list[StreamRecord]:
    """
    Return the records of a DynamoDB stream's event.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html

    Args:
        event: what Lambda handed to the function.

    Raises:
        NotAStreamEventError: it is something else.
    """
    records = event.get("Records") if isinstance(event, Mapping) else None
    if not isinstance(records, list) or not all(map(_is_stream_record, records)):
        raise NotAStreamEventError(
            "expected records of a DynamoDB stream: let nothing but the stream of the table of processed messages "
            "invoke the relay"
        )
    return [StreamRecord.of(record) for record in records]


def _is_stream_record(record: object) -> bool:
    return _mapping(record).get("eventSource") == "aws:dynamodb"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _typed(image: Mapping[str, Any], name: str, kind: str) -> str:
    return _text(_mapping(image.get(name)).get(kind))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None
