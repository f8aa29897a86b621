"""What the outside sees of a delivery: one structured log line, one metric, and the user's own `on_outcome`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from idempotent_consumer.outcome import DeliveryReport

METRICS_NAMESPACE = "IdempotentConsumer"


class Observer(Protocol):
    """See what an invocation makes of its deliveries; nothing an observer does may change it."""

    def delivered(self, report: DeliveryReport) -> None:
        """See one delivery's report, in any thread."""

    def deferred_again(self, count: int, longest_ms: int, left_ms: int) -> None:
        """See that deliveries were put off which had been received before: they spend their receives on nothing."""

    def release_failed(self, error: Exception) -> None:
        """See that a claim could not be given up; it ends with its lease."""

    def ended(self, reports: Sequence[DeliveryReport]) -> None:
        """See the end of the invocation, and all its reports."""


class Telemetry:
    """
    Write a log line for each delivery and metrics for the invocation; never a message's body.

    Args:
        consumer: name of the consumer.
        on_outcome: the user's own observer of reports. What it raises is logged and changes nothing.
    """

    def __init__(self, consumer: str, on_outcome: Callable[[DeliveryReport], None] | None = None) -> None:
        self._consumer = consumer
        self._on_outcome = on_outcome
        self._logger = Logger(service=consumer)

    def delivered(self, report: DeliveryReport) -> None:
        """Log the delivery at the level that its outcome deserves, and tell the user."""
        message = report.message
        write = self._logger.info if report.acknowledged else self._logger.warning
        write(
            "delivery",
            consumer=report.consumer,
            outcome=report.outcome.value,
            acknowledged=report.acknowledged,
            handled=report.handled,
            message_id=message._id if message else None,  # noqa: SLF001 - None where there is no id, not an error
            key=message._key if message else None,  # noqa: SLF001
            sqs_message_id=report.sqs_message_id,
            receive_count=message.receive_count if message else None,
            group_id=message.group_id if message else None,
            duration_ms=report.duration_ms,
            reason=report.reason,
            exc_info=report.error if report.handled else None,
        )
        if self._on_outcome is not None:
            try:
                self._on_outcome(report)
            except Exception:
                self._logger.exception("on_outcome raised; the delivery's outcome stands")

    def deferred_again(self, count: int, longest_ms: int, left_ms: int) -> None:
        """Warn, with the inequality that the deployment breaks."""
        self._logger.warning(
            "deferred again: BatchSize x duration of a handler exceeds what the function's timeout allows",
            consumer=self._consumer,
            deferred=count,
            longest_run_ms=longest_ms,
            time_left_ms=left_ms,
        )

    def release_failed(self, error: Exception) -> None:
        """Log it."""
        self._logger.warning("a claim was not released and ends with its lease", reason=str(error))

    def ended(self, reports: Sequence[DeliveryReport]) -> None:
        """Write the invocation's metrics: a count for each outcome."""
        if not reports:
            return
        metrics = EphemeralMetrics(namespace=METRICS_NAMESPACE, service=self._consumer)
        for outcome, count in Counter(report.outcome for report in reports).items():
            metrics.add_metric(name=outcome.value, unit=MetricUnit.Count, value=count)
        metrics.flush_metrics()
