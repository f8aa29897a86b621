"""Deliver what was generated to a consumer, and see all that comes of it: answer, reports, log lines, store."""

import contextlib
import io
import json
import logging
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from idempotent_consumer import DeliveryReport, IdempotentConsumer, Message, Outcome, Reject, UnitOfWork
from idempotent_consumer.errors import NotAnSQSEventError, UnreportableRecordError
from idempotent_consumer.metering import Usage
from idempotent_consumer.telemetry import LOGGER_NAME, Observer
from idempotent_consumer.testing import FakeClock, FakeContext, InMemoryStore
from tests.fuzz.setups import Setup
from tests.fuzz.tally import TALLY

NAME = "fuzzed"

RETURN, RAISE, REJECT = "return", "raise", "reject"
GOOD = (RETURN,)
MIXED = (RETURN, RETURN, RAISE, REJECT)


class BrokenHandlerError(Exception):
    """Raised by handlers that are to fail."""


@dataclass
class Delivered:
    """
    What came of one event.

    Attributes:
        records: of the event.
        reports: one for each of them, in their order.
        response: what SQS gets; None if the consumer raised.
        error: what it raised, which is one of the two errors that it may raise.
        lines: of the log, one for each delivery, as they were printed.
    """

    records: Sequence[Any]
    reports: Sequence[DeliveryReport] = ()
    response: dict[str, Any] | None = None
    error: Exception | None = None
    lines: Sequence[str] = ()

    @property
    def outcomes(self) -> list[Outcome]:
        """Return the outcomes in the order of the records."""
        return [report.outcome for report in self.reports]

    def keys(self) -> list[str | None]:
        """Return the key under which each record goes, None for those that have none."""
        return [report.message._key if report.message else None for report in self.reports]

    def ids(self) -> list[str | None]:
        """Return the message id of each record, None for those that have none."""
        return [report.message._id if report.message else None for report in self.reports]


@dataclass
class Bench:
    """
    A consumer, and the store that outlives its deliveries.

    Attributes:
        setup: of the consumer.
        behaviours: what its handler does: which of them, the body decides.
        store: may be shared with other consumers.
        name: the consumer's.
        returned: keys whose handler has returned, in order; SQS message ids in natural mode.
        seen: the messages that the handler was called with.
    """

    setup: Setup
    behaviours: Sequence[str] = GOOD
    store: InMemoryStore = field(default_factory=InMemoryStore)
    name: str = NAME
    clock: FakeClock = field(default_factory=FakeClock)
    returned: list[str] = field(default_factory=list)
    seen: list[Message] = field(default_factory=list)

    def deliver(self, event: Any, *, counts: bool = True) -> Delivered:
        """
        Deliver an event.

        Args:
            event: of whatever form; a sequence that is no list stands for an SQS event of these records.
            counts: whether its records were generated for this delivery, rather than delivered before.
        """
        if isinstance(event, tuple):
            event = {"Records": list(event)}
        records = event.get("Records") if isinstance(event, dict) else None
        delivered = Delivered(records if isinstance(records, list) else ())
        consumer = IdempotentConsumer(self.name, store=self.store, clock=self.clock, **self.setup.options())
        watch = _Watch(consumer._observer)
        consumer._observer = watch  # type: ignore[assignment]
        consumer.handler(self._handle)
        with printed(self.name) as output:
            try:
                delivered.response = dict(consumer.consume(event, FakeContext()))
            except (NotAnSQSEventError, UnreportableRecordError) as error:
                delivered.error = error
        delivered.reports = watch.reports
        delivered.lines = [line for line in output.getvalue().splitlines() if '"message": "delivery"' in line]
        if counts:
            TALLY.count(delivered.outcomes)
        return delivered

    def _handle(self, message: Message, work: UnitOfWork) -> None:
        self.seen.append(message)
        behaviour = self.behaviours[zlib.crc32(message.body.encode(errors="replace")) % len(self.behaviours)]
        if behaviour == RAISE:
            raise BrokenHandlerError
        if behaviour == REJECT:
            raise Reject("the handler does not want it")
        self.returned.append(message.key if self.setup.mode.remembers else message.sqs_message_id)


class _Watch:
    """See the reports in the order of the event, and pass everything on to the log."""

    def __init__(self, log: Observer) -> None:
        self._log = log
        self.reports: Sequence[DeliveryReport] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def ended(self, reports: Sequence[DeliveryReport], usage: Usage) -> None:
        """See them."""
        self.reports = reports
        self._log.ended(reports, usage)


@contextlib.contextmanager
def printed(consumer: str) -> Iterator[io.StringIO]:
    """Collect what a consumer logs; pytest's own way costs more than the consumer."""
    output = io.StringIO()
    logger = logging.getLogger(f"{LOGGER_NAME}.{consumer}")
    [handler] = logger.handlers
    logger.propagate = False
    stream = handler.setStream(output)  # type: ignore[attr-defined]
    try:
        with contextlib.redirect_stdout(output):
            yield output
    finally:
        handler.setStream(stream)  # type: ignore[attr-defined]
        logger.propagate = True


def is_usable(sqs_message_id: Any) -> bool:
    """Tell whether SQS can be told of a record by it."""
    return isinstance(sqs_message_id, str) and sqs_message_id != ""


def sqs_message_id(record: Any) -> Any:
    """Return a record's messageId, whatever that is."""
    return record.get("messageId") if isinstance(record, dict) else None


def logged(line: str) -> dict[str, Any]:
    """Read a line of the log, which has to be printable as well."""
    line.encode()
    entry = json.loads(line)
    assert isinstance(entry, dict)
    return entry
