"""What the outside sees of deliveries: structured log lines, metrics and traces."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Awaitable, Iterator, Sequence
from typing import Any, Protocol

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from idempotent_consumer.errors import ConfigurationError
from idempotent_consumer.groups import may_be_written
from idempotent_consumer.message import Message
from idempotent_consumer.metering import Usage
from idempotent_consumer.outcome import DeliveryReport, Outcome, Settlement
from idempotent_consumer.record import SqsRecord
from idempotent_consumer.tracing import Tracing

METRICS_NAMESPACE = "IdempotentConsumer"
LOGGER_NAME = "idempotent_consumer"

METRICS: dict[str, MetricUnit] = {
    **{outcome.value: MetricUnit.Count for outcome in Outcome},
    "DeadLettered": MetricUnit.Count,
    "DeferredAgain": MetricUnit.Count,
    "HandlerTime": MetricUnit.Milliseconds,
    "MessageAge": MetricUnit.Milliseconds,
    "StoreRequests": MetricUnit.Count,
    "StoreTime": MetricUnit.Milliseconds,
    "StoreThrottles": MetricUnit.Count,
    "StoreErrors": MetricUnit.Count,
    "ReadUnits": MetricUnit.Count,
    "WriteUnits": MetricUnit.Count,
    "SqsRequests": MetricUnit.Count,
}
"""Every metric that is ever written; its one dimension is `service`, the consumer's name. None is written as zero."""


class Observer(Protocol):
    """See what an invocation makes of its deliveries; what an observer raises changes nothing."""

    def started(self) -> None:
        """See that the invocation starts, in the thread that calls `consume`."""

    def handling(self, record: SqsRecord, message: Message) -> None:
        """See that the handler is about to be called, in the thread that calls it."""

    def awaiting(self, awaitable: Awaitable[Any]) -> Awaitable[Any]:
        """See in the same thread that a handler is to be awaited, in another; return what is awaited in its place."""

    def handled(self, settlement: Settlement | None) -> None:
        """See in the same thread what that came to; None if it was interrupted."""

    def delivered(self, report: DeliveryReport) -> None:
        """See one delivery's report, in any thread."""

    def deferred_again(self, count: int, longest_ms: int, left_ms: int) -> None:
        """See that deliveries were put off which had been received before: they spend their receives on nothing."""

    def release_failed(self, error: BaseException) -> None:
        """See that a claim could not be given up; it ends with its lease."""

    def not_dead_lettered(self, sqs_message_id: str, reason: str) -> None:
        """See that a delivery could not be copied to the dead-letter queue; it comes back."""

    def redelivery_not_shaped(self, reason: str) -> None:
        """See that SQS was not told when to deliver something again; it comes back after its visibility timeout."""

    def ended(self, reports: Sequence[DeliveryReport], usage: Usage) -> None:
        """See the end of the invocation, all its reports, and what it has asked of AWS."""


class Telemetry:
    """
    Write a log line and a trace for each delivery, and metrics for the invocation.

    None holds the message's body, unless an exception of the handler quotes it. While a handler runs, every Powertools
    logger in its thread says which message it is about.

    Args:
        consumer: name of the consumer.

    Raises:
        ConfigurationError: a variable of the environment keeps Powertools from working.
    """

    def __init__(self, consumer: str) -> None:
        self._consumer = consumer
        self._tracing = Tracing(consumer)
        self._outer = threading.local()  # log keys that were there before the handler, by thread
        self._unshaped: set[str] = set()  # kinds of reasons that were told of
        self._deferred_again = 0  # in the invocation under way
        try:
            # A logger of its own: one of the same service, which the user may have, would share level and keys with it.
            self._logger = Logger(
                service=f"{LOGGER_NAME}.{consumer}", json_serializer=_one_line, serialize_stacktrace=False
            )
            EphemeralMetrics(namespace=METRICS_NAMESPACE, service=consumer)
        except Exception as error:
            raise ConfigurationError(f"a variable of Powertools, POWERTOOLS_…, cannot be used: {error}") from error

    # -- around a handler --------------------------------------------------------------------------

    def started(self) -> None:
        """Find what the messages' parts of the trace are to hang under."""
        self._tracing.start()

    def handling(self, record: SqsRecord, message: Message) -> None:
        """Name the message in the thread's log keys, and begin its part of the trace."""
        # Powertools keeps these in a context variable, for all its loggers. A handler runs in a copy of the context, so
        # that keys which it appends itself do not outlive it.
        self._outer.keys = self._logger.thread_safe_get_current_keys()
        self._logger.thread_safe_append_keys(
            consumer=self._consumer, **_ids(message), sqs_message_id=record.sqs_message_id
        )
        self._tracing.begin(record, message)

    def awaiting(self, awaitable: Awaitable[Any]) -> Awaitable[Any]:
        """Have what an async handler traces hang under its message."""
        return self._tracing.awaiting(awaitable)

    def handled(self, settlement: Settlement | None) -> None:
        """End the message's part of the trace, and give the thread its former log keys back."""
        try:
            self._tracing.end(settlement)
        finally:
            self._logger.thread_safe_clear_keys()
            self._logger.thread_safe_append_keys(**self._outer.keys)

    # -- log lines ---------------------------------------------------------------------------------

    def delivered(self, report: DeliveryReport) -> None:
        """Log the delivery at the level that its outcome deserves."""
        is_unexpected = report.handled and report.outcome is not Outcome.REJECTED  # a refusal needs no traceback
        write = self._logger.info if report.outcome.acknowledged else self._logger.warning
        write(
            "delivery",
            consumer=report.consumer,
            outcome=report.outcome.value,
            acknowledged=report.acknowledged,
            dead_lettered=report.dead_lettered,
            handled=report.handled,
            **_ids(report.message),
            sqs_message_id=report.sqs_message_id,
            receive_count=report.record.receive_count,
            group_id=report.record.group_id,
            age_ms=report.age_ms,
            handler_ms=report.handler_ms,
            duration_ms=report.duration_ms,
            reason=report.reason,
            exc_info=report.error if is_unexpected and _may_be_written(report.error) else None,
        )

    def deferred_again(self, count: int, longest_ms: int, left_ms: int) -> None:
        """Warn, with the inequality that the deployment breaks, and have it counted."""
        self._deferred_again = count
        self._logger.warning(
            "deferred again: BatchSize x duration of a handler exceeds what the function's timeout allows",
            consumer=self._consumer,
            deferred=count,
            longest_run_ms=longest_ms,
            time_left_ms=left_ms,
        )

    def release_failed(self, error: BaseException) -> None:
        """Log it."""
        self._logger.warning("a claim was not released and ends with its lease", reason=str(error))

    def not_dead_lettered(self, sqs_message_id: str, reason: str) -> None:
        """Log it."""
        self._logger.warning(
            "a delivery was not copied to the dead-letter queue and comes back",
            sqs_message_id=sqs_message_id,
            reason=reason,
        )

    def redelivery_not_shaped(self, reason: str) -> None:
        """Log it, once for each kind of reason in the life of the process: without a permission it would be always."""
        kind = reason.partition(":")[0]
        if kind not in self._unshaped:
            self._unshaped.add(kind)
            self._logger.warning("redelivery is left to the queue's visibility timeout", reason=reason)

    def disabled(self) -> None:
        """Warn that the deployment has switched idempotency off."""
        self._logger.warning("IDEMPOTENCY_DISABLED is set: every delivery is handled, nothing is recognised")

    # -- metrics -----------------------------------------------------------------------------------

    def ended(self, reports: Sequence[DeliveryReport], usage: Usage) -> None:
        """
        Write the invocation's metrics, in the embedded metric format.

        A line of it takes 100 values of a metric; of a larger batch there are more lines.
        """
        metrics = EphemeralMetrics(namespace=METRICS_NAMESPACE, service=self._consumer)
        deferred_again, self._deferred_again = self._deferred_again, 0
        for name, value in (("DeferredAgain", deferred_again), *_values(reports, usage)):
            if value or METRICS[name] is MetricUnit.Milliseconds:
                metrics.add_metric(name=name, unit=METRICS[name], value=value)
        if metrics.metric_set:
            metrics.flush_metrics()


def _values(reports: Sequence[DeliveryReport], usage: Usage) -> Iterator[tuple[str, float]]:
    """Yield what there is to write, name by name."""
    for outcome, count in Counter(report.outcome for report in reports).items():
        yield outcome.value, count
    yield "DeadLettered", sum(report.dead_lettered for report in reports)
    yield "StoreRequests", len(usage.store_times_ms)
    yield "StoreThrottles", usage.store_throttles
    yield "StoreErrors", usage.store_errors
    yield "ReadUnits", usage.read_units
    yield "WriteUnits", usage.write_units
    yield "SqsRequests", usage.sqs_requests
    for report in reports:
        if report.age_ms is not None:
            yield "MessageAge", report.age_ms
        if report.handled:
            yield "HandlerTime", report.handler_ms
    for took_ms in usage.store_times_ms:
        yield "StoreTime", round(took_ms, 3)


def _ids(message: Message | None) -> dict[str, Any]:
    """Return a message's ids; None where there is none, which is no error here."""
    return {
        "message_id": message._id if message else None,  # noqa: SLF001
        "key": message._key if message else None,  # noqa: SLF001
    }


def _one_line(entry: dict[str, Any]) -> str:
    """Write a log entry in ASCII: a lone surrogate out of a message would make its whole line impossible to print."""
    return json.dumps(entry, default=str)


def _may_be_written(error: BaseException | None) -> bool:
    """Tell whether there is an exception that can be written down: some raise when they are."""
    if error is None:
        return False
    try:
        str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - the exception is the user's, and so is its __str__
        return False
    return may_be_written(error)
