"""
The main path: one batch from its records to its reports.

Read `Invocation.run`: open and fold the deliveries, lay their lanes; admit; handle and complete, or release; report.
"""

from __future__ import annotations

import contextvars
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

from idempotent_consumer.calling import Caller
from idempotent_consumer.clock import Deadline
from idempotent_consumer.definition import Definition
from idempotent_consumer.delivery import Delivery, fold, lanes
from idempotent_consumer.errors import ConditionFailed, PermanentError
from idempotent_consumer.identity import key_of, message_id_of
from idempotent_consumer.message import Message, read_message, sqs_message_id_of
from idempotent_consumer.outcome import DeliveryReport, Outcome, Settlement
from idempotent_consumer.pace import Pace
from idempotent_consumer.schedule import Schedule
from idempotent_consumer.store import Mark, Store
from idempotent_consumer.telemetry import Observer
from idempotent_consumer.work import UnitOfWork

_WORK_IS_CLOSED = "the handler has returned: a write that comes after it would be lost"
_NO_TIME = Settlement(Outcome.DEFERRED, "too little time left to start it")


@dataclass(slots=True)
class Handlers:
    """
    Hold what users have registered.

    Attributes:
        handle: of `(message, work)`.
        condition_failed: of `(message, work, failure)`.
    """

    handle: Callable[..., Any] | None = None
    condition_failed: Callable[..., Any] | None = None


class Invocation:
    """
    Take one batch from its records to its reports; nothing of it outlives the invocation.

    Args:
        definition: the consumer's.
        handlers: what to call.
        observer: sees what becomes of the deliveries.
        deadline: end of the invocation.
    """

    def __init__(self, definition: Definition, handlers: Handlers, observer: Observer, deadline: Deadline) -> None:
        self._definition = definition
        self._mode = definition.mode
        self._store = cast("Store", definition.store)  # None only for a mode that never asks it
        self._handlers = handlers
        self._observer = observer
        self._deadline = deadline
        self._pace = Pace(deadline)
        self._caller = Caller()
        self._reported: dict[Delivery, DeliveryReport] = {}

    def run(self, records: Sequence[object]) -> list[DeliveryReport]:
        """
        Handle a batch.

        Args:
            records: of the event.

        Returns:
            A report for each record, in the same order. Every handler that was started has ended.
        """
        deliveries = [self._open(position, record) for position, record in enumerate(records)]
        leaders = fold(deliveries)
        schedule = Schedule(lanes(leaders), heads_only=self._mode.claims)
        try:
            self._work_together(schedule, workers=min(self._definition.concurrency, len(leaders)))
        finally:
            self._caller.close()
        reports = [self._report(delivery) for delivery in deliveries]
        self._warn_of_overload(reports)
        self._observer.ended(reports)
        return reports

    # -- opening -----------------------------------------------------------------------------------

    def _open(self, position: int, record: object) -> Delivery:
        """Read a record. Whatever it holds, and whatever a strategy or `parse` makes of it, concerns this one only."""
        delivery = Delivery(position, "")
        try:
            delivery.sqs_message_id = sqs_message_id_of(record)
            delivery.message = self._identified(read_message(record, self._deadline), delivery)
        except Exception as error:  # noqa: BLE001 - strategies and `parse` are the user's
            delivery.settle(Settlement(Outcome.REJECTED, _described(error), error))
        return delivery

    def _identified(self, message: Message, delivery: Delivery) -> Message:
        delivery.message = message  # for the report, if what follows fails
        definition = self._definition
        if definition.message_id is not None:
            message_id = message_id_of(message, definition.message_id)
            key = key_of(definition.name, message_id)
            if definition.settings.idempotency_disabled:
                key = f"{key}#{uuid.uuid4().hex}"  # a key of its own: nothing is recognised, all else stays the same
            message = delivery.message = message.identified(message_id, key)
        if definition.parse is not None:
            message = message.parsed(definition.parse(message.body))
        if definition.mode.remembers:
            delivery.mark = Mark(
                key=message.key,
                owner=uuid.uuid4().hex,
                fingerprint=definition.fingerprint.of(message) if definition.fingerprint else None,
                source=f"{message.queue_arn} {message.sqs_message_id}",
                retention_ms=definition.retention_ms,
            )
        return message

    # -- working -----------------------------------------------------------------------------------

    def _work_together(self, schedule: Schedule, workers: int) -> None:
        """Share the schedule among workers, the calling thread being one; return when all of it is done."""
        if workers <= 1:
            self._work(schedule)
            return
        with ThreadPoolExecutor(workers - 1, thread_name_prefix="handler") as pool:
            others = [pool.submit(contextvars.copy_context().run, self._work, schedule) for _ in range(workers - 1)]
            self._work(schedule)
        for other in others:
            other.result()

    def _work(self, schedule: Schedule) -> None:
        """
        Do what is next until all is done.

        A worker takes its next delivery only when the last one's completion is durable: otherwise a message that kills
        the process would undo the record of the one before it, at each of its receives.
        """
        while taken := schedule.take(self._pace.ahead(self._definition.concurrency, self._mode.window)):
            if isinstance(taken, Delivery):
                try:
                    self._handle(taken)
                finally:
                    _settle_the_rest([taken])
                    schedule.settled(taken)
            else:
                try:
                    self._admit(taken)
                except BaseException:
                    _settle_the_rest(taken)
                    raise
                finally:
                    schedule.admitted(taken)

    def _admit(self, window: Sequence[Delivery]) -> None:
        settlements: Sequence[Settlement | None]
        if not self._pace.has_time():
            settlements = [_NO_TIME] * len(window)
        else:
            try:
                settlements = self._mode.admit([one.mark for one in window], self._store, self._deadline)
            except Exception as error:  # noqa: BLE001 - the store is out of reach: nothing of the window can run
                settlements = [Settlement(Outcome.FAILED, _described(error), error)] * len(window)
        for delivery, settlement in zip(window, settlements, strict=True):
            if settlement is not None and delivery.settlement is None:
                delivery.settle(settlement)

    def _handle(self, delivery: Delivery) -> None:
        if not self._pace.start():
            self._release(delivery)
            delivery.settle(_NO_TIME)
            return
        started_ms = self._deadline.now_ms()
        delivery.is_handled = True
        delivery.settle(Settlement(Outcome.FAILED, "interrupted"))  # stands if something stops this very thread
        try:
            delivery.settle(self._handled(delivery))
        finally:
            delivery.duration_ms = self._deadline.now_ms() - started_ms
            self._pace.ended(delivery.duration_ms)
        self._report(delivery)

    def _handled(self, delivery: Delivery) -> Settlement:
        work = UnitOfWork(refusal=self._mode.refusal)
        try:
            self._call(self._handlers.handle, work, delivery.message, work)
        except BaseException as error:  # SystemExit and cancellation, too, concern this message only
            self._release(delivery)
            if isinstance(error, KeyboardInterrupt):
                raise
            return self._settled_by(error)
        try:
            return self._mode.complete(delivery.mark, work, self._store, self._deadline)
        except ConditionFailed as failure:
            return self._condition_failed(delivery, failure)
        except Exception as error:  # noqa: BLE001 - the effect has happened, so the claim stays
            return Settlement(Outcome.UNRECORDED, _described(error), error)

    def _condition_failed(self, delivery: Delivery, failure: ConditionFailed) -> Settlement:
        """Give the user's answer to a failed condition one fresh unit of work; nothing of the first was written."""
        if self._handlers.condition_failed is None:
            return self._settled_by(failure)
        work = UnitOfWork(refusal=self._mode.refusal)
        try:
            self._call(self._handlers.condition_failed, work, delivery.message, work, failure)
            return self._mode.complete(delivery.mark, work, self._store, self._deadline)
        except Exception as error:  # noqa: BLE001 - the user's, or another condition that failed
            return self._settled_by(error)

    def _call(self, function: Callable[..., Any] | None, work: UnitOfWork, *arguments: Any) -> None:
        try:
            self._caller.call(cast("Callable[..., Any]", function), *arguments)
        finally:
            work.close(_WORK_IS_CLOSED)

    def _settled_by(self, error: BaseException) -> Settlement:
        is_permanent = isinstance(error, (PermanentError, *self._definition.reject_on))
        return Settlement(Outcome.REJECTED if is_permanent else Outcome.FAILED, _described(error), error)

    def _release(self, delivery: Delivery) -> None:
        try:
            self._mode.release(delivery.mark, self._store, self._deadline)
        except Exception as error:  # noqa: BLE001 - the claim ends with its lease anyway
            self._observer.release_failed(error)

    # -- reporting ---------------------------------------------------------------------------------

    def _report(self, delivery: Delivery) -> DeliveryReport:
        """Report a delivery, once: as soon as it was handled, so that a later crash leaves its line, or at the end."""
        if delivery not in self._reported:
            self._reported[delivery] = report = delivery.report(self._definition.name)
            self._observer.delivered(report)
        return self._reported[delivery]

    def _warn_of_overload(self, reports: Sequence[DeliveryReport]) -> None:
        again = [
            report
            for report in reports
            if report.outcome is Outcome.DEFERRED and report.message and report.message.receive_count > 1
        ]
        if again:
            self._observer.deferred_again(len(again), self._pace.longest_ms, self._deadline.left_ms())


def _settle_the_rest(deliveries: Sequence[Delivery]) -> None:
    """Leave no delivery behind that other workers would wait for, when this one is interrupted."""
    for delivery in deliveries:
        if delivery.settlement is None:
            delivery.settle(Settlement(Outcome.FAILED, "interrupted"))


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
