"""What the outside sees of the relay: a log line for each message that does not leave, and metrics."""

from __future__ import annotations

import json
from collections.abc import Sequence

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from idempotent_consumer.departures import Departure
from idempotent_consumer.errors import ConfigurationError
from idempotent_consumer.relaying import Relaying
from idempotent_consumer.telemetry import LOGGER_NAME, METRICS_NAMESPACE

RELAY_SERVICE = "outbox-relay"

RELAY_METRICS: dict[str, MetricUnit] = {
    "OutgoingSent": MetricUnit.Count,
    "OutgoingParked": MetricUnit.Count,
    "OutgoingHeldUp": MetricUnit.Count,
    "OutgoingAge": MetricUnit.Milliseconds,
}
"""Every metric of the relay; the dimension `service` is RELAY_SERVICE. None is written as zero, but for ages."""


class RelayTelemetry:
    """
    Write down what becomes of outgoing messages; never what is in them.

    Raises:
        ConfigurationError: a variable of the environment keeps Powertools from working.
    """

    def __init__(self) -> None:
        try:
            self._logger = Logger(service=f"{LOGGER_NAME}.{RELAY_SERVICE}", json_serializer=_one_line)
            EphemeralMetrics(namespace=METRICS_NAMESPACE, service=RELAY_SERVICE)
        except Exception as error:
            raise ConfigurationError(f"a variable of Powertools, POWERTOOLS_…, cannot be used: {error}") from error

    def ended(self, departures: Sequence[Departure], relaying: Relaying, now_ms: int) -> None:
        """Log each message that was parked, and each reason why records come back; write the metrics."""
        for leaving, why in relaying.parked:
            self._logger.error(
                "an outgoing message was parked",
                message_id=leaving.message_id,
                target=leaving.address and leaving.address[1],
                code=why.code,
                reason=why.reason,
            )
        held_up = [departure for departure in departures if departure.held_up_by]
        for reason in dict.fromkeys(departure.held_up_by for departure in held_up):
            keys = [departure.record.key for departure in held_up if departure.held_up_by == reason]
            self._logger.warning("outgoing messages are held up", reason=reason, records=len(keys), first_key=keys[0])
        self._write_metrics(relaying, sum(len(departure.waiting) for departure in held_up), now_ms)

    def _write_metrics(self, relaying: Relaying, held_up: int, now_ms: int) -> None:
        metrics = EphemeralMetrics(namespace=METRICS_NAMESPACE, service=RELAY_SERVICE)
        counts = {
            "OutgoingSent": len(relaying.sent),
            "OutgoingParked": len(relaying.parked),
            "OutgoingHeldUp": held_up,
        }
        for name, count in counts.items():
            if count:
                metrics.add_metric(name=name, unit=RELAY_METRICS[name], value=count)
        for leaving in relaying.sent:
            if leaving.stamp.committed_ms is not None:
                age_ms = max(0, now_ms - leaving.stamp.committed_ms)
                metrics.add_metric(name="OutgoingAge", unit=RELAY_METRICS["OutgoingAge"], value=age_ms)
        if metrics.metric_set:
            metrics.flush_metrics()


def _one_line(entry: dict[str, object]) -> str:
    return json.dumps(entry, default=str)  # ASCII: any key can be printed
