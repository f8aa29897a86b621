"""
The relay: what sends the messages that processed messages hold, as the stream of their table tells of them.

::

    relay = OutboxRelay()

    def lambda_handler(event, context):
        return relay.relay(event, context)

A record of the stream is sent at least once, and always under the same ids, by which the next consumer knows the
repetition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idempotent_consumer.clock import Clock, Deadline, SystemClock
from idempotent_consumer.departures import Address, Departure
from idempotent_consumer.errors import ConfigurationError
from idempotent_consumer.event import BatchResponse
from idempotent_consumer.relay_telemetry import RelayTelemetry
from idempotent_consumer.relaying import Reach, Relaying
from idempotent_consumer.sending import keeps_order
from idempotent_consumer.settings import Settings
from idempotent_consumer.stream import stream_records
from idempotent_consumer.targets import BusTarget, QueueTarget, Target, TopicTarget, make_client


class OutboxRelay:
    """
    Send outgoing messages, for a function that the stream of the table of processed messages invokes.

    Its event source needs `StartingPosition: TRIM_HORIZON`, `FunctionResponseTypes: [ReportBatchItemFailures]` and no
    limit of retries. Source: https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html

    Args:
        settings: what the deployment decides; read from the environment by default.
        clients: boto3's clients of `sqs`, `sns` and `events`; those that are missing are made when they are needed.
        clock: the time; tests bring their own.

    Raises:
        ConfigurationError: `OUTBOX_DEAD_LETTER_QUEUE_URL` is missing or is a FIFO queue, while the function is
            imported.
    """

    def __init__(
        self,
        *,
        settings: Settings | None = None,
        clients: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        url = (settings or Settings.from_environment()).outbox_dead_letter_queue_url
        if not url:
            raise ConfigurationError(
                "OUTBOX_DEAD_LETTER_QUEUE_URL is not set: name the queue that takes messages whose target will not, or "
                "one of them would hold up all that follow"
            )
        if keeps_order(url):
            raise ConfigurationError("OUTBOX_DEAD_LETTER_QUEUE_URL is a FIFO queue: give a standard one")
        self._clock = clock or SystemClock()
        self._telemetry = RelayTelemetry()
        self._clients = dict(clients or {})
        self._targets: dict[Address, Target] = {}
        self._parking = self._target_at(("queue", url))
        self._reach = Reach()

    def relay(self, event: object, context: object = None) -> BatchResponse:
        """
        Send what the records of a batch hold.

        Args:
            event: of the stream.
            context: Lambda's context object.

        Returns:
            The sequence numbers of the records that have to come back. Lambda goes back to the lowest of them, so what
            was sent after it is sent again, under the same ids.

        Raises:
            NotAStreamEventError: the event came from somewhere else.
        """
        departures = [Departure.of(record) for record in stream_records(event) if record.outbox]
        relaying = Relaying(departures, self._target_at, self._parking, self._reach, Deadline(self._clock, context))
        relaying.run()
        self._telemetry.ended(departures, relaying, self._clock.now_ms())
        failures = [departure.record.sequence_number for departure in departures if departure.held_up_by]
        return {"batchItemFailures": [{"itemIdentifier": number} for number in failures]}

    def _target_at(self, address: Address) -> Target:
        if address not in self._targets:
            self._targets[address] = self._new_target(*address)
        return self._targets[address]

    def _new_target(self, kind: str, name: str) -> Target:
        if kind == "queue":
            return QueueTarget(self._client("sqs"), name)
        return TopicTarget(self._client("sns"), name) if kind == "topic" else BusTarget(self._client("events"))

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = make_client(service)
        return self._clients[service]
