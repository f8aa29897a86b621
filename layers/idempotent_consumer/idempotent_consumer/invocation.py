"""
The main path: one batch from its records to its reports.

Read `Invocation.run`: open and fold the deliveries, lay their lanes; admit; handle and complete, or release;
report; shape what comes back.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

from idempotent_consumer.calling import Caller
from idempotent_consumer.clock import Deadline
from idempotent_consumer.dead_letters import DeadLetters
from idempotent_consumer.definition import Definition
from idempotent_consumer.delivery import Delivery, fold, lanes
from idempotent_consumer.errors import ConditionFailed, WorkError
from idempotent_consumer.metering import metered
from idempotent_consumer.opening import open_delivery
from idempotent_consumer.outbox import Outbox
from idempotent_consumer.outcome import DeliveryReport, Outcome, Settlement, describe
from idempotent_consumer.pace import Pace
from idempotent_consumer.redelivery import Redelivery
from idempotent_consumer.reporting import Reporter
from idempotent_consumer.schedule import GivenUp, Schedule
from idempotent_consumer.store import Store
from idempotent_consumer.telemetry import Observer
from idempotent_consumer.verdict import settle_by
from idempotent_consumer.work import UnitOfWork

_WORK_IS_CLOSED = "the handler has returned: what comes after it would be lost"
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
        self._dead_letters = DeadLetters(
            definition.name, definition.dead_letter_queue, definition.settings.max_receive_count, deadline
        )
        self._redelivery = Redelivery(
            definition.backoff, definition.settings.queue_urls, definition.shaping_sqs, deadline
        )
        self._reporter = Reporter(definition.name, observer, definition.on_outcome, deadline)
        self._caller = Caller(self._reporter.awaiting)

    def run(self, records: Sequence[object]) -> list[DeliveryReport]:
        """
        Handle a batch.

        Args:
            records: of the event.

        Returns:
            A report for each record, in the same order. Every handler that was started has ended.
        """
        self._reporter.tell(self._observer.started)
        with metered() as usage:
            deliveries = self._settled(records)
            reports = [self._reporter.report(delivery) for delivery in deliveries]
            self._shape_redelivery(deliveries)
        self._warn_of_overload(deliveries)
        self._reporter.tell(self._observer.ended, reports, usage)
        return reports

    def _settled(self, records: Sequence[object]) -> Sequence[Delivery]:
        deliveries = [
            open_delivery(self._definition, self._deadline, position, record) for position, record in enumerate(records)
        ]
        leaders = fold(deliveries)
        schedule = Schedule(lanes(leaders), heads_only=self._mode.claims, gives_up=self._dead_letters.gives_up)
        try:
            self._work_together(schedule, workers=min(self._definition.concurrency, len(leaders)))
        finally:
            self._caller.close(within_s=max(0, self._deadline.spare_ms()) / 2_000)
        return deliveries

    # -- working -----------------------------------------------------------------------------------

    def _work_together(self, schedule: Schedule, workers: int) -> None:
        """Share the schedule among workers, the calling thread being one; return when all of it is done."""
        if workers <= 1:
            self._work(schedule)
            return
        with ThreadPoolExecutor(workers - 1, thread_name_prefix="handler") as pool:
            others: list[Future[None]] = []
            with contextlib.suppress(RuntimeError):  # no more threads can be started: those that there are will do
                while len(others) < workers - 1:
                    others.append(pool.submit(contextvars.copy_context().run, self._work, schedule))
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
            elif isinstance(taken, GivenUp):
                try:
                    self._dead_letter(taken)
                finally:
                    schedule.dead_lettered(taken)
            else:
                try:
                    self._admit(taken)
                except BaseException:
                    _settle_the_rest(taken)
                    raise
                finally:
                    schedule.admitted(taken, self._deadline.now_ms())

    def _admit(self, window: Sequence[Delivery]) -> None:
        settlements: Sequence[Settlement | None] = [_NO_TIME] * len(window)
        if self._pace.may_admit():
            settlements = self._judged(window)
        for delivery, settlement in zip(window, settlements, strict=True):
            if settlement is not None and delivery.settlement is None:
                delivery.settle(settlement)

    def _judged(self, window: Sequence[Delivery]) -> Sequence[Settlement | None]:
        began_ms = self._deadline.now_ms()
        try:
            settlements = self._mode.admit([one.mark for one in window], self._store, self._deadline)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the store is out of reach: nothing of the window can run
            settlements = [Settlement(Outcome.FAILED, describe(error), error, is_outage=True)] * len(window)
        has_failed = any(settlement and settlement.outcome is Outcome.FAILED for settlement in settlements)
        self._pace.admission_took(self._deadline.now_ms() - began_ms, has_failed=has_failed)
        return settlements

    def _handle(self, delivery: Delivery) -> None:
        if self._is_stale(delivery):
            self._admit([delivery])
            if delivery.settlement is not None:
                return
        if not self._pace.may_start():
            self._release(delivery)
            delivery.settle(_NO_TIME)
            return
        began_ms = self._deadline.now_ms()
        delivery.is_handled = True
        try:
            self._reporter.tell(self._observer.handling, delivery.record, delivery.message)
            try:
                delivery.settle(self._handled(delivery))
            finally:
                self._reporter.tell(self._observer.handled, delivery.settlement)
            delivery.duration_ms = self._deadline.now_ms() - began_ms
            if not self._dead_letters.gives_up(delivery):  # then it is reported once the letter is written
                self._reporter.report(delivery)
        finally:
            self._pace.run_took(self._deadline.now_ms() - began_ms)

    def _is_stale(self, delivery: Delivery) -> bool:
        """Tell whether another worker may have processed it since it was admitted, and nothing but us would notice."""
        holds_ms = self._mode.admission_holds_ms
        return holds_ms is not None and self._deadline.now_ms() - (delivery.admitted_ms or 0) > holds_ms

    def _handled(self, delivery: Delivery) -> Settlement:
        try:
            work = self._call(self._handlers.handle, delivery)
        except BaseException as error:  # noqa: BLE001 - SystemExit and cancellation, too, concern this message only
            self._release(delivery)
            return self._settled_by(error)
        return self._completed(delivery, work, self._condition_failed)

    def _condition_failed(self, delivery: Delivery, failure: ConditionFailed) -> Settlement:
        """Give the user's answer to a failed condition one fresh unit of work; nothing of the first was written."""
        if self._handlers.condition_failed is None:
            return self._settled_by(failure)
        try:
            work = self._call(self._handlers.condition_failed, delivery, failure)
        except BaseException as error:  # noqa: BLE001 - as above
            return self._settled_by(error)
        return self._completed(delivery, work, lambda _, again: self._settled_by(again))

    def _call(self, function: Callable[..., Any] | None, delivery: Delivery, *more: Any) -> UnitOfWork:
        region = self._store.region if self._mode.remembers else None
        outbox = Outbox(
            delivery.mark.key,
            has_relay=self._definition.settings.outbox_relay is not None,
            refusal=self._mode.sending_refusal,
            region=region,
        )
        work = UnitOfWork(outbox, refusal=self._mode.refusal, region=region)
        began_ms = self._deadline.now_ms()
        try:
            self._caller.call(cast("Callable[..., Any]", function), delivery.message, work, *more)
        finally:
            delivery.handler_ms += self._deadline.now_ms() - began_ms
            work.close(_WORK_IS_CLOSED)
        return work

    def _completed(
        self,
        delivery: Delivery,
        work: UnitOfWork,
        if_condition_failed: Callable[[Delivery, ConditionFailed], Settlement],
    ) -> Settlement:
        try:
            return self._mode.complete(delivery.mark, work, self._store, self._deadline)
        except ConditionFailed as failure:
            return if_condition_failed(delivery, failure)
        except WorkError as error:  # nothing was written, and it is the handler's own
            return self._settled_by(error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the effect may have happened, so no claim is released
            ends_ms = self._mode.claim_ends_ms(delivery.admitted_ms or 0, self._deadline)
            return Settlement(self._mode.unknown, describe(error), error, ends_ms, is_outage=True)

    def _settled_by(self, error: BaseException) -> Settlement:
        return settle_by(error, self._definition.reject_on, self._deadline.now_ms())

    def _release(self, delivery: Delivery) -> None:
        try:
            self._mode.release(delivery.mark, self._store, self._deadline)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the claim ends with its lease anyway
            self._reporter.tell(self._observer.release_failed, error)
            ends_ms = self._mode.claim_ends_ms(delivery.admitted_ms or 0, self._deadline)
            for each in (delivery, *delivery.folds):  # all of them would only find it IN_FLIGHT
                each.claim_ends_ms = ends_ms

    def _dead_letter(self, given_up: Sequence[Delivery]) -> None:
        """Copy deliveries to the dead-letter queue, if there is time: those that are not copied come back."""
        for delivery, reason in self._dead_letters.copy(given_up):
            self._reporter.tell(self._observer.not_dead_lettered, delivery.record.sqs_message_id, reason)
        for delivery in given_up:
            self._reporter.report(delivery)

    def _shape_redelivery(self, deliveries: Sequence[Delivery]) -> None:
        try:
            reasons = self._redelivery.shape(deliveries)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - best effort: it all comes back, if not when we would like
            reasons = [describe(error)]
        for reason in reasons:
            self._reporter.tell(self._observer.redelivery_not_shaped, reason)

    def _warn_of_overload(self, deliveries: Sequence[Delivery]) -> None:
        put_off = [delivery.record for delivery in deliveries if delivery.settlement is _NO_TIME]
        if again := [record for record in put_off if record.receive_count > 1]:
            self._reporter.tell(
                self._observer.deferred_again, len(again), self._pace.longest_run_ms, self._deadline.total_ms
            )


def _settle_the_rest(deliveries: Sequence[Delivery]) -> None:
    """Leave no delivery behind that other workers would wait for, when this one is interrupted."""
    for delivery in deliveries:
        if delivery.settlement is None:
            delivery.settle(Settlement(Outcome.FAILED, "interrupted"))
