"""The face of the package: what a consumer is given, and what Lambda calls. `invocation.py` does the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from idempotent_consumer.backoff import Backoff
from idempotent_consumer.calling import check_signature
from idempotent_consumer.clock import Clock, Deadline, SystemClock
from idempotent_consumer.definition import define
from idempotent_consumer.envelopes import Opener
from idempotent_consumer.errors import BatchFailedError, ConfigurationError
from idempotent_consumer.event import BatchResponse, records_of, respond
from idempotent_consumer.identity import MessageIdStrategy
from idempotent_consumer.invocation import Handlers, Invocation
from idempotent_consumer.modes import Mode
from idempotent_consumer.outcome import DeliveryReport
from idempotent_consumer.redelivery import make_hasty_client
from idempotent_consumer.sending import SQSAccess
from idempotent_consumer.settings import DEFAULT_RETENTION, Settings
from idempotent_consumer.store import Store
from idempotent_consumer.telemetry import Telemetry

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

Function = TypeVar("Function", bound=Callable[..., Any])


class IdempotentConsumer:
    """
    Do the work of each message once, although queues deliver at least once.

    Args:
        name: stable name that scopes the message ids; not the function's, which may change.
        mode: `Lazy()`, `Eager()`, `Transactional()` or `Natural()`.
        message_id: what identifies a message: `attribute(…)`, `body_field(…)`, another of `strategies.py`, or a
            function of the message. There is no default; only `Natural` takes none.
        store: where processed messages are remembered; by default the DynamoDB table `PROCESSED_MESSAGES_TABLE`.
        envelope: what to open before anything is read of the body: `envelopes.sns()`, another of `envelopes`, or a
            function of the text that returns the text inside; several from the outermost to the innermost.
        parse: makes `message.payload` of the body: a function of the text, a Pydantic model or `TypeAdapter`. What it
            raises rejects the message, except `OSError`.
        reject_on: exceptions of the handler that no redelivery can help.
        retention: how long a processed message is remembered; a day at least.
        fingerprint: JMESPaths of the content by which a message that returns under the same id is compared; all of
            it by default. None compares nothing, for producers that send again with a new timestamp.
        concurrency: how many handlers run at the same time, 100 at most.
        backoff: how long a message waits whose handler raised; by default what the settings say.
        on_outcome: called with the report of every delivery, if there is time; what it raises changes nothing.
        raise_when_all_failed: raise `BatchFailedError` if every delivery failed, for who wants Lambda's error metric.
        settings: what the deployment decides; read from the environment by default.
        sqs: boto3's client of SQS, for dead letters and redelivery; by default clients are made whose timeouts fit into
            an invocation.
        clock: the time; tests bring their own.

    Raises:
        ConfigurationError: naming every problem at once, while the function is imported.
    """

    def __init__(
        self,
        name: str,
        *,
        mode: Mode,
        message_id: MessageIdStrategy | None = None,
        store: Store | None = None,
        envelope: Opener | Sequence[Opener] = (),
        parse: Any = None,
        reject_on: Sequence[type[BaseException]] = (),
        retention: timedelta = DEFAULT_RETENTION,
        fingerprint: Sequence[str] | None = ("@",),
        concurrency: int = 1,
        backoff: Backoff | None = None,
        on_outcome: Callable[[DeliveryReport], None] | None = None,
        raise_when_all_failed: bool = False,
        settings: Settings | None = None,
        sqs: SQSClient | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._definition = define(
            name=name,
            mode=mode,
            message_id=message_id,
            store=store,
            envelope=envelope,
            parse=parse,
            reject_on=reject_on,
            retention=retention,
            fingerprint=fingerprint,
            concurrency=concurrency,
            backoff=backoff,
            on_outcome=on_outcome,
            settings=settings,
            sqs=SQSAccess(sqs),
            shaping_sqs=SQSAccess(sqs, make=make_hasty_client),
            clock=clock or SystemClock(),
        )
        self._observer = Telemetry(name)
        self._raise_when_all_failed = raise_when_all_failed
        self._handlers = Handlers()
        if self._definition.settings.idempotency_disabled:
            self._observer.disabled()

    def handler(self, function: Function) -> Function:
        """
        Register the handler, a function of `(message, work)`, and return it unchanged.

        It may be `async`. What it returns is ignored; returning means that the message is handled.

        Raises:
            ConfigurationError: there is a handler already, or this one cannot be called so.
        """
        if self._handlers.handle is not None:
            raise ConfigurationError(
                f"the consumer {self._definition.name!r} has its handler: make another consumer for another handler"
            )
        check_signature(function, "message", "work")
        self._handlers.handle = function
        return function

    def on_condition_failed(self, function: Function) -> Function:
        """
        Register what to do when a condition on the handler's own writes did not hold, and return it unchanged.

        It is a function of `(message, work, failure)`. It gets a fresh unit of work, committed once under the same
        condition on the message's record: "out of stock: save a refusal". `failure` is the `ConditionFailed`.

        Raises:
            ConfigurationError: there is one already, this one cannot be called so, or the mode has no such writes.
        """
        if self._definition.mode.refusal:
            raise ConfigurationError(
                f"the consumer {self._definition.name!r} commits no writes whose condition could fail: only "
                "Transactional does"
            )
        if self._handlers.condition_failed is not None:
            raise ConfigurationError(f"the consumer {self._definition.name!r} has its on_condition_failed")
        check_signature(function, "message", "work", "failure")
        self._handlers.condition_failed = function
        return function

    def consume(self, event: object, context: object = None) -> BatchResponse:
        """
        Handle the messages of one Lambda invocation.

        Args:
            event: the SQS event that Lambda passes.
            context: the context that Lambda passes; without it the invocation is taken to have 15 minutes.

        Returns:
            The deliveries that are to come back, for `ReportBatchItemFailures`. Return it from the Lambda handler.

        Raises:
            NotAnSQSEventError: the event is no SQS event.
            BatchFailedError: every delivery failed, if `raise_when_all_failed`.
            UnreportableRecordError: a delivery failed whose record has no SQS message id.
        """
        if self._handlers.handle is None:
            raise ConfigurationError(
                f"the consumer {self._definition.name!r} has no handler: decorate a function with its .handler"
            )
        records = records_of(event)
        deadline = Deadline(self._definition.clock, context)
        reports = Invocation(self._definition, self._handlers, self._observer, deadline).run(records)
        failed = [report for report in reports if not report.acknowledged]
        if self._raise_when_all_failed and failed and len(failed) == len(reports):
            raise BatchFailedError(reports)
        return respond(report.sqs_message_id for report in failed)
