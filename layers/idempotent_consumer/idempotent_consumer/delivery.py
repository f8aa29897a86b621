"""One delivery on its way through an invocation, and how equal deliveries are folded and lanes laid."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from idempotent_consumer.message import Message
from idempotent_consumer.outcome import DeliveryReport, Outcome, Settlement
from idempotent_consumer.record import SqsRecord
from idempotent_consumer.store import UNMARKED, Mark


@dataclass(eq=False, slots=True)
class Delivery:
    """
    Follow one delivery through the invocation; it lives no longer.

    Attributes:
        position: place of its record in the event.
        record: what SQS says about it.
        message: what it delivers; None if that could not be read.
        mark: what is written about it; UNMARKED if nothing is, or it could not be read.
        settlement: its outcome, once there is one.
        admitted_ms: when its mode let it in, so that it may hold a claim; None before.
        claim_ends_ms: when its own claim ends that could not be released, with the margin; None if it was, or if there
            was none.
        is_handled: whether the handler was started for it.
        duration_ms: time spent in the handler and in recording its result.
        handler_ms: time spent in the handler alone.
        folds: equal deliveries that share its fate.
        original: its element of the event's `Records`, to be copied.
        is_given_up: whether it is to be copied to the dead-letter queue.
        is_dead_lettered: whether the copy is there.
    """

    position: int
    record: SqsRecord
    message: Message | None = None
    mark: Mark = UNMARKED
    settlement: Settlement | None = None
    admitted_ms: int | None = None
    claim_ends_ms: int | None = None
    is_handled: bool = False
    duration_ms: int = 0
    handler_ms: int = 0
    folds: tuple[Delivery, ...] = ()
    original: object = None
    is_given_up: bool = False
    is_dead_lettered: bool = False

    @property
    def key(self) -> str | None:
        """Return the key, if there is one."""
        return self.mark.key or None

    @property
    def lane(self) -> object:
        """Name the lane: a group of a FIFO queue is one, every other delivery goes by itself."""
        # A group id on a standard queue makes it a fair queue, which keeps no order.
        is_ordered = self.record.is_fifo and self.record.group_id
        return (self.record.queue_arn, self.record.group_id) if is_ordered else self.position

    @property
    def is_acknowledged(self) -> bool:
        """Tell whether it is settled so that SQS may delete it."""
        return self.settlement is not None and (self.settlement.outcome.acknowledged or self.is_dead_lettered)

    @property
    def lets_lane_go_on(self) -> bool:
        """Tell whether the next of its lane may start: not while an equal one will come back in its place."""
        return self.is_acknowledged and all(fold.is_acknowledged for fold in self.folds)

    def settle(self, settlement: Settlement) -> None:
        """Take the settlement, and pass it on to the folds; a dead letter is made of the delivery itself only."""
        self.settlement = settlement
        if settlement.outcome.acknowledged:
            shared = Settlement(Outcome.DUPLICATE, f"equal to {self.record.sqs_message_id} of the same batch")
        else:
            reason = f"equal to {self.record.sqs_message_id} of the same batch: {settlement.reason}"
            shared = replace(settlement, reason=reason)
        for fold in self.folds:
            fold.settlement = shared

    def report(self, consumer: str, now_ms: int) -> DeliveryReport:
        """Tell the outside what became of it, and how old the message is now."""
        settlement = self.settlement or Settlement(Outcome.FAILED, "the invocation ended before its turn")
        return DeliveryReport(
            consumer=consumer,
            outcome=settlement.outcome,
            acknowledged=self.is_acknowledged,
            handled=self.is_handled,
            reason=settlement.reason,
            error=settlement.error,
            record=self.record,
            message=self.message,
            duration_ms=self.duration_ms,
            handler_ms=self.handler_ms,
            age_ms=self._age_ms(now_ms),
            dead_lettered=self.is_dead_lettered,
        )

    def _age_ms(self, now_ms: int) -> int | None:
        sent_at = self.record.sent_at
        return None if sent_at is None else max(0, now_ms - int(sent_at.timestamp() * 1_000))


def fold(deliveries: Iterable[Delivery]) -> list[Delivery]:
    """
    Fold deliveries with equal key and equal fingerprint onto the one that SQS has delivered most often.

    Equal ones of two FIFO groups are not folded: each keeps its place in its own, and the second is admitted after the
    first's outcome.

    Args:
        deliveries: all of the batch.

    Returns:
        Those that go their own way, each in the place of the first of its equals; the rest are their folds.
    """
    equals: dict[object, list[Delivery]] = {}
    for delivery in deliveries:
        lane = delivery.lane if delivery.record.is_fifo else None
        same = (delivery.mark.key, delivery.mark.fingerprint, lane) if delivery.key else delivery.position
        equals.setdefault(same, []).append(delivery)
    return [_folded(group) for group in equals.values()]


def _folded(group: list[Delivery]) -> Delivery:
    first = max(group, key=lambda delivery: delivery.record.receive_count)  # of equal counts, the first
    first.folds = tuple(other for other in group if other is not first)
    return first


def lanes(deliveries: Iterable[Delivery]) -> list[Sequence[Delivery]]:
    """
    Lay the lanes of a batch: the deliveries of each in their order.

    The lane that was received most often comes first. Ties come in an order that differs at each receive, so that a
    message which kills the process is not always ahead of the same neighbours.
    """
    by_lane: dict[object, list[Delivery]] = {}
    for delivery in deliveries:
        by_lane.setdefault(delivery.lane, []).append(delivery)
    return sorted(by_lane.values(), key=lambda lane: _turn(lane[0].record))


def _turn(record: SqsRecord) -> tuple[int, bytes]:
    name = f"{record.sqs_message_id}/{record.receive_count}"
    return -record.receive_count, hashlib.sha256(name.encode(errors="replace")).digest()
