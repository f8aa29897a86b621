"""What a person gives to be sent, read as messages: one from the command line, or many from a file of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from idempotent_consumer.outgoing import OutgoingMessage
from idempotent_consumer_operator.errors import UsageError

_FIELDS = ("message_id", "body", "attributes", "group_id", "deduplication_id", "delay_seconds")


def read_lines(lines: Iterable[str]) -> list[OutgoingMessage]:
    """
    Read messages, one JSON object in each line; blank lines are none.

    All are read before the first is sent, so that an error in the file sends nothing.

    Raises:
        UsageError: a line is not what it has to be.
    """
    return [_message(line, number) for number, line in enumerate(lines, 1) if line.strip()]


def message_from(fields: Mapping[str, Any]) -> OutgoingMessage:
    """
    Make a message of the fields of a line.

    Raises:
        UsageError: a field is missing, unknown, or of the wrong kind.
    """
    unknown = sorted(fields.keys() - set(_FIELDS))
    if unknown:
        raise UsageError(f"there is no field {unknown[0]!r}; there are: {', '.join(_FIELDS)}")
    missing = [name for name in ("message_id", "body") if fields.get(name) is None]
    if missing:
        raise UsageError(f"{missing[0]} is missing")
    delay, attributes = fields.get("delay_seconds"), fields.get("attributes")
    if delay is not None and (not isinstance(delay, (int, float)) or isinstance(delay, bool)):
        raise UsageError("delay_seconds is no number")
    if attributes is not None and not isinstance(attributes, Mapping):
        raise UsageError("attributes is no object")
    return OutgoingMessage(
        message_id=fields["message_id"],
        body=fields["body"],
        attributes=attributes or {},
        group_id=fields.get("group_id"),
        deduplication_id=fields.get("deduplication_id"),
        delay=None if delay is None else timedelta(seconds=delay),
    )


def _message(line: str, number: int) -> OutgoingMessage:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"line {number} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise UsageError(f"line {number} is no JSON object")
    try:
        return message_from(fields)
    except UsageError as error:
        raise UsageError(f"line {number}: {error}") from error
