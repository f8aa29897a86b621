"""Workers that share a store: each has its own consumer and its own clock, and writes down what it handled."""

from collections.abc import Callable
from typing import Any

from idempotent_consumer import DeliveryReport, IdempotentConsumer, Message, Outcome, UnitOfWork, body_field
from idempotent_consumer.clock import Deadline
from idempotent_consumer.modes import Mode
from idempotent_consumer.store import ProcessedMessage, Store
from idempotent_consumer.testing import FakeClock, FakeContext, sqs_event
from tests.promises.faults import FaultyStore

TIMEOUT_MS = 30_000
Handler = Callable[[Message, UnitOfWork], Any]


def do_nothing(message: Message, work: UnitOfWork) -> None:
    """Handle a message."""


class Worker:
    """
    One function process.

    Attributes:
        consumer: what it runs.
        clock: its clock.
        handled: ids that its handler saw, in order; SQS message ids in natural mode.
        reports: of its last batch, in the order of the event.
    """

    def __init__(self, name: str, mode: Mode, store: Store, clock: FakeClock, handler: Handler, options: Any) -> None:
        self.clock = clock
        self.handled: list[str] = []
        self.reports: list[DeliveryReport] = []
        self._reported: dict[str, DeliveryReport] = {}
        self.consumer = IdempotentConsumer(name, mode=mode, store=store, clock=clock, on_outcome=self._see, **options)

        @self.consumer.handler
        def handle(message: Message, work: UnitOfWork) -> Any:
            self.handled.append(message.id if mode.remembers else message.sqs_message_id)
            return handler(message, work)

    def deliver(self, *records: dict[str, Any], remaining_ms: int = TIMEOUT_MS) -> list[str]:
        """Deliver a batch and return the SQS message ids that are to come back."""
        self._reported.clear()
        response = self.consumer.consume(sqs_event(*records), FakeContext(remaining_ms, self.clock))
        self.reports = [self._reported[record["messageId"]] for record in records]
        return [failure["itemIdentifier"] for failure in response["batchItemFailures"]]

    @property
    def outcomes(self) -> list[Outcome]:
        """Return the outcomes of the last batch, in the order of the event."""
        return [report.outcome for report in self.reports]

    def _see(self, report: DeliveryReport) -> None:
        self._reported[report.sqs_message_id] = report


class World:
    """A store, and the workers on it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.workers: list[Worker] = []

    def worker(
        self,
        mode: Mode,
        handler: Handler = do_nothing,
        *,
        name: str = "consumer",
        store: Store | None = None,
        clock_ahead_ms: int = 0,
        **options: Any,
    ) -> Worker:
        """Start a worker whose clock is so far ahead of the first one's."""
        clock = FakeClock(self.workers[0].clock.now_ms() + clock_ahead_ms) if self.workers else FakeClock()
        if mode.remembers:
            options.setdefault("message_id", body_field("id"))
        worker = Worker(name, mode, store or self.store, clock, handler, options)
        self.workers.append(worker)
        return worker

    def dying_worker(self, mode: Mode, handler: Handler = do_nothing, **options: Any) -> Worker:
        """Start a worker whose process is gone when its handler has run: nothing it does then has any effect."""
        store = FaultyStore(self.store)

        def die(message: Message, work: UnitOfWork) -> None:
            handler(message, work)
            store.is_dead = True

        return self.worker(mode, die, store=store, **options)

    def items(self, *keys: str) -> dict[str, ProcessedMessage]:
        """Return what is stored under the keys."""
        deadline = Deadline(self.workers[0].clock)
        return dict(self.store.look_up(keys, deadline))

    def pass_ms(self, duration_ms: int) -> None:
        """Let time pass, for every worker."""
        for worker in self.workers:
            worker.clock.sleep_ms(duration_ms)
