"""What the outside sees of a delivery: one structured log line and one metric."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from idempotent_consumer.errors import ConfigurationError
from idempotent_consumer.outcome import DeliveryReport, Outcome

METRICS_NAMESPACE = "IdempotentConsumer"
LOGGER_NAME = "idempotent_consumer"


class Observer(Protocol):
    """See what an invocation makes of its deliveries; what an observer raises changes nothing."""

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
    Write a log line for each delivery and metrics for the invocation.

    Neither holds the message's body, unless an exception of the handler quotes it.

    Args:
        consumer: name of the consumer.

    Raises:
        ConfigurationError: a variable of the environment keeps Powertools from working.
    """

    def __init__(self, consumer: str) -> None:
        self._consumer = consumer
        try:
            # A logger of its own: one of the same service, which the user may have, would share level and keys with it.
            self._logger = Logger(
                service=f"{LOGGER_NAME}.{consumer}", json_serializer=_one_line, serialize_stacktrace=False
            )
            EphemeralMetrics(namespace=METRICS_NAMESPACE, service=consumer)
        except Exception as error:
            raise ConfigurationError(f"a variable of Powertools, POWERTOOLS_…, cannot be used: {error}") from error

    def delivered(self, report: DeliveryReport) -> None:
        """Log the delivery at the level that its outcome deserves."""
        message = report.message
        is_unexpected = report.handled and report.outcome is not Outcome.REJECTED  # a refusal needs no traceback
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
            receive_count=report.record.receive_count,
            group_id=report.record.group_id,
            duration_ms=report.duration_ms,
            reason=report.reason,
            exc_info=report.error if is_unexpected and _has_text(report.error) else None,
        )

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

    def disabled(self) -> None:
        """Warn that the deployment has switched idempotency off."""
        self._logger.warning("IDEMPOTENCY_DISABLED is set: every delivery is handled, nothing is recognised")

    def ended(self, reports: Sequence[DeliveryReport]) -> None:
        """Write the invocation's metrics: a count for each outcome."""
        if not reports:
            return
        metrics = EphemeralMetrics(namespace=METRICS_NAMESPACE, service=self._consumer)
        for outcome, count in Counter(report.outcome for report in reports).items():
            metrics.add_metric(name=outcome.value, unit=MetricUnit.Count, value=count)
        metrics.flush_metrics()


def _one_line(entry: dict[str, Any]) -> str:
    """Write a log entry in ASCII: a lone surrogate out of a message would make its whole line impossible to print."""
    return json.dumps(entry, default=str)


def _has_text(error: BaseException | None) -> bool:
    """Tell whether an exception can be written down: some raise when they are."""
    try:
        str(error)
    except Exception:  # noqa: BLE001 - the exception is the user's, and so is its __str__
        return False
    return True
