"""What one record of the stream has to send: its outgoing messages, in the order in which they leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from idempotent_consumer.errors import UnreadableOutboxError
from idempotent_consumer.outbound import Outgoing, Stamp, ToBus, ToQueue
from idempotent_consumer.outcome import describe
from idempotent_consumer.sending import Entry
from idempotent_consumer.stored_outbox import StoredOutbox, outgoing_id, read_message
from idempotent_consumer.stream import StreamRecord

WHOLE_OUTBOX = 0
"""Stands for the number of a message where an outbox cannot be read, and is one as a whole."""

_MOST_KEPT = 200_000  # characters of an outbox that cannot be read: SQS takes a megabyte, and a character may need six

Address = tuple[str, str]
"""Kind and name of a target: `queue` and its URL, `topic` and its ARN, `bus` and its name."""
Lane = tuple[Address, str]
"""A FIFO group at its target, in which one message goes after another."""


@dataclass(slots=True, eq=False)
class Leaving:
    """
    Hold one outgoing message on its way.

    Attributes:
        key: of the processed message that holds it.
        number: its place in the outbox, from 1; 0 for an outbox that cannot be read.
        stored: as it is stored.
        stamp: what is added to it; its message id, among it, is that under which it is parked, too.
        outgoing: the message; None if it cannot be read.
        entry: as its target takes it, or why it cannot.
        is_over: whether it needs no more sending, because its target or the outbox dead-letter queue has it.
        held_up_by: why it has to come back; empty if it need not.
    """

    key: str
    number: int
    stored: Mapping[str, Any]
    stamp: Stamp
    outgoing: Outgoing | None
    entry: Entry
    is_over: bool = False
    held_up_by: str = ""

    @classmethod
    def of(cls, key: str, number: int, stored: Mapping[str, Any], stamp: Stamp) -> Leaving:
        """Read a stored message; what is wrong with it concerns no other."""
        outgoing = None
        try:
            outgoing = read_message(stored)
            group = outgoing.group_id if outgoing.is_fifo else None
            entry = Entry(outgoing.entry(stamp), group)
        except Exception as error:  # noqa: BLE001 - it may have been written by any version, or by hand
            entry = Entry({}, refusal=describe(error))
        return cls(key, number, stored, stamp, outgoing, entry)

    @property
    def message_id(self) -> str:
        """Return the id under which it is sent."""
        return self.stamp.message_id

    @property
    def address(self) -> Address | None:
        """Return where it goes; None if it goes nowhere."""
        if self.outgoing is None or self.entry.refusal:
            return None
        if isinstance(self.outgoing, ToQueue):
            return "queue", self.outgoing.queue_url
        return ("bus", self.outgoing.bus) if isinstance(self.outgoing, ToBus) else ("topic", self.outgoing.topic_arn)

    @property
    def lane(self) -> Lane | None:
        """Return the FIFO group in which it has its place; None where there is no order to keep."""
        address, group = self.address, self.entry.group
        return (address, group) if address is not None and group is not None else None


@dataclass(slots=True, eq=False)
class Departure:
    """
    Hold what one record of the stream has to send.

    Attributes:
        record: the record.
        messages: its messages, in their order.
    """

    record: StreamRecord
    messages: list[Leaving]

    @classmethod
    def of(cls, record: StreamRecord) -> Departure:
        """Read the outbox of a record."""
        return cls(record, list(_messages(record)))

    @property
    def waiting(self) -> list[Leaving]:
        """Return what has neither been sent nor parked yet."""
        return [message for message in self.messages if not message.is_over]

    @property
    def held_up_by(self) -> str:
        """Return why the record has to come back, with all of its messages; empty if it need not."""
        return next((message.held_up_by for message in self.messages if message.held_up_by), "")

    def next_run(self, taken: Set[Lane]) -> list[Leaving]:
        """
        Return the messages that may be sent together now: the next ones that go to one target.

        A message for another target waits until they have left, so that the order of the calls holds.

        Args:
            taken: lanes in which others have to go first.
        """
        run: list[Leaving] = []
        lanes = set(taken)
        for message in self.waiting:
            if (run and message.address != run[0].address) or message.lane in lanes:
                break
            run.append(message)
            lanes |= {message.lane} - {None}  # type: ignore[arg-type]
        return run


def _messages(record: StreamRecord) -> Iterator[Leaving]:
    text = record.outbox or ""
    try:
        outbox = StoredOutbox.of(text)
    except UnreadableOutboxError as error:
        stamp = Stamp(message_id=outgoing_id(record.key, WHOLE_OUTBOX), committed_ms=record.committed_ms)
        entry = Entry({}, refusal=str(error))
        yield Leaving(record.key, WHOLE_OUTBOX, {"outbox": text[:_MOST_KEPT]}, stamp, None, entry)
        return
    for number, stored in enumerate(outbox.messages, 1):
        stamp = Stamp(
            message_id=outgoing_id(record.key, number),
            trace_header=outbox.trace_header,
            committed_ms=record.committed_ms,
        )
        yield Leaving.of(record.key, number, stored, stamp)
