"""Messages that a person sends: one from the command line, or many from a file of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from idempotent_consumer.clock import Clock, Deadline
from idempotent_consumer.errors import UnsendableMessageError
from idempotent_consumer.outgoing import OutgoingMessage, entry_of
from idempotent_consumer.sending import Entry, NotTaken, keeps_order, send_entries
from idempotent_consumer_operator.errors import UsageError

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

_FIELDS = ("message_id", "body", "attributes", "group_id", "deduplication_id", "delay_seconds")


@dataclass(frozen=True, slots=True)
class Answer:
    """
    Say what became of one message.

    Attributes:
        message_id: its id.
        sqs_message_id: how SQS calls it; None if it was not taken.
        reason: why it was not taken.
    """

    message_id: str
    sqs_message_id: str | None
    reason: str | None


class _Unhurried:
    """Be a context whose time does not run out: a person's command ends when it is done."""

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


def send_all(sqs: SQSClient, queue_url: str, messages: Iterable[OutgoingMessage], clock: Clock) -> Iterator[Answer]:
    """Send messages in as few requests as their order allows, and yield what became of each, in order."""
    is_fifo = keeps_order(queue_url)
    ids: list[str] = []

    def entries() -> Iterator[Entry]:
        for message in messages:
            ids.append(message.message_id)
            yield _entry(message, is_fifo=is_fifo)

    for at, answer in enumerate(send_entries(sqs, queue_url, entries(), Deadline(clock, _Unhurried()))):
        if isinstance(answer, NotTaken):
            yield Answer(ids[at], None, f"{answer.code}: {answer.reason}")
        else:
            yield Answer(ids[at], answer.sqs_message_id, None)


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


def _entry(message: OutgoingMessage, *, is_fifo: bool) -> Entry:
    group = message.group_id if is_fifo else None
    try:
        return Entry(entry_of(message, is_fifo=is_fifo), group)
    except UnsendableMessageError as error:
        return Entry({}, group, str(error))
