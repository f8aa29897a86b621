"""What became of each delivery: exactly one outcome, and the report that tells it to the outside."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idempotent_consumer.message import Message
from idempotent_consumer.record import SqsRecord

_LONGEST_REASON = 500  # characters


class Outcome(StrEnum):
    """
    Name what became of a delivery.

    The two that are acknowledged are the two after which the work is known to be done. Other deliveries come back,
    unless they are dead-lettered.
    """

    PROCESSED = "PROCESSED"
    """The handler returned and its record is durable; or the envelope carried no message: nothing was to do."""
    DUPLICATE = "DUPLICATE"
    """The message had been processed before, or by an equal delivery of this batch."""
    IN_FLIGHT = "IN_FLIGHT"
    """Another delivery holds a live lease on the message."""
    FAILED = "FAILED"
    """The handler raised, or never ran for want of the store, or its transaction is not known to be applied."""
    UNRECORDED = "UNRECORDED"
    """The handler returned, but that could not be made durable: its effect may be repeated."""
    REJECTED = "REJECTED"
    """The message can never succeed."""
    DEFERRED = "DEFERRED"
    """The handler was not started: too little time, or an earlier delivery of its lane was not acknowledged."""
    LEASE_LOST = "LEASE_LOST"
    """Another delivery took the message over before this one completed."""

    @property
    def acknowledged(self) -> bool:
        """Tell whether SQS may delete the delivery."""
        return self in (Outcome.PROCESSED, Outcome.DUPLICATE)


@dataclass(frozen=True, slots=True)
class Settlement:
    """
    Settle a delivery: its outcome and why.

    Attributes:
        outcome: what became of the delivery.
        reason: one line for logs and dead letters; empty where the outcome says it all.
        error: the exception behind it, if there was one.
        useful_from_ms: when a redelivery can be of use, such as after the end of a lease, in milliseconds since 1970; 0
            at once, None where only experience tells.
        is_outage: whether the store was out of reach, so that the message has not had its chance.
        is_handlers: whether the handler itself has brought it about, by raising or by a condition of its own.
    """

    outcome: Outcome
    reason: str = ""
    error: BaseException | None = None
    useful_from_ms: int | None = None
    is_outage: bool = False
    is_handlers: bool = False


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """
    Tell the outside what became of one delivery.

    Attributes:
        consumer: name of the consumer.
        outcome: what became of the delivery.
        acknowledged: whether it was struck off the list of failures that SQS gets: its work is done, or it is
            dead-lettered.
        handled: whether the handler was started for this very delivery.
        reason: why, in one line.
        error: the exception behind the outcome, if there was one.
        record: what SQS says about the delivery.
        message: the message, or None if the record could not be read as one.
        duration_ms: time spent in the handler and in recording its result, in milliseconds.
        handler_ms: time spent in the handler alone, in milliseconds.
        age_ms: time since SQS took the message, in milliseconds; None if SQS does not say.
        dead_lettered: whether a copy of it with the reason is in the dead-letter queue.
    """

    consumer: str
    outcome: Outcome
    acknowledged: bool
    handled: bool
    reason: str
    error: BaseException | None
    record: SqsRecord
    message: Message | None
    duration_ms: int
    handler_ms: int = 0
    age_ms: int | None = None
    dead_lettered: bool = False

    @property
    def sqs_message_id(self) -> str:
        """Return SQS's own id of the message; empty if the record had none."""
        return self.record.sqs_message_id


def describe(error: BaseException) -> str:
    """
    Return an exception's type and text as one printable line of bounded length; whatever the exception is, this works.

    It goes into logs and later into message attributes, where line breaks, lone surrogates and megabytes do not belong.
    """
    try:
        text = str(error)[:_LONGEST_REASON]
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # noqa: BLE001 - the exception is the user's, and so is its __str__
        text = f"its text cannot be read ({type(failure).__name__})"
    line = " ".join(f"{type(error).__name__}: {text}".split())[:_LONGEST_REASON]
    return line.encode(errors="backslashreplace").decode()
