"""How an invocation tells of its deliveries, so that whatever listens to it changes nothing about them."""

from __future__ import annotations

import contextlib
import inspect
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

from idempotent_consumer.clock import Deadline
from idempotent_consumer.delivery import Delivery
from idempotent_consumer.outcome import DeliveryReport
from idempotent_consumer.telemetry import Observer


class Reporter:
    """
    Report each delivery once, to the observer and to the user.

    Args:
        consumer: name of the consumer.
        observer: sees what becomes of the deliveries.
        on_outcome: the user's, called with every report if there is time; None if there is none.
        deadline: end of the invocation.
    """

    def __init__(
        self,
        consumer: str,
        observer: Observer,
        on_outcome: Callable[[DeliveryReport], None] | None,
        deadline: Deadline,
    ) -> None:
        self._consumer = consumer
        self._observer = observer
        self._on_outcome = on_outcome
        self._deadline = deadline
        self._reported: dict[Delivery, DeliveryReport] = {}
        self._longest_told_ms = 0  # time that the user's function has taken at most

    def report(self, delivery: Delivery) -> DeliveryReport:
        """Report a delivery, once: as soon as it was handled, so that a later crash leaves its line, or at the end."""
        if delivery not in self._reported:
            self._reported[delivery] = report = delivery.report(self._consumer, self._deadline.now_ms())
            self.tell(self._observer.delivered, report)
            self._tell_user(report)
        return self._reported[delivery]

    def awaiting(self, awaitable: Awaitable[Any]) -> Awaitable[Any]:
        """Return what the observer has awaited in the place of an awaitable; the same, if it makes nothing of it."""
        instead: list[Any] = []
        self.tell(lambda: instead.append(self._observer.awaiting(awaitable)))
        return instead[0] if instead and inspect.isawaitable(instead[0]) else awaitable

    def tell(self, tell: Callable[..., None], *arguments: Any) -> None:
        """Tell somebody. What that raises must not turn a processed message into a failed one."""
        try:
            tell(*arguments)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - the user's function, a filter of logs, a closed stdout
            with contextlib.suppress(Exception):
                traceback.print_exc()

    def _tell_user(self, report: DeliveryReport) -> None:
        # Not if it might take the time that SQS is to be answered in: it has been told of, in the log.
        if self._on_outcome is None or (self._longest_told_ms and self._deadline.spare_ms() <= self._longest_told_ms):
            return
        began_ms = self._deadline.now_ms()
        self.tell(self._on_outcome, report)
        self._longest_told_ms = max(self._longest_told_ms, self._deadline.now_ms() - began_ms)
