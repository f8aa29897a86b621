"""Build deliveries as the invocation opens them."""

from typing import Any

from idempotent_consumer.clock import Deadline
from idempotent_consumer.delivery import Delivery
from idempotent_consumer.message import read_message
from idempotent_consumer.record import SqsRecord
from idempotent_consumer.store import UNMARKED, Mark
from idempotent_consumer.testing import FakeClock, sqs_record

FIFO_QUEUE = "arn:aws:sqs:eu-central-1:111122223333:orders.fifo"


def delivery(position: int, *, key: str | None = None, fingerprint: str | None = "f", **record: Any) -> Delivery:
    """
    Build a delivery whose SQS message id is `s-<position>`.

    Args:
        position: of its record in the event.
        key: of its message; without one the consumer remembers nothing.
        fingerprint: of its message.
        record: the other arguments of `sqs_record`.
    """
    built = sqs_record("", sqs_message_id=f"s-{position}", **record)
    mark = Mark(key, f"owner-{position}", fingerprint, "source", 1_000) if key else UNMARKED
    return Delivery(position, SqsRecord.of(built), read_message(built, Deadline(FakeClock())), mark)


def unreadable(position: int, **record: Any) -> Delivery:
    """Build a delivery whose message could not be read."""
    return Delivery(position, SqsRecord.of(sqs_record("", sqs_message_id=f"s-{position}", **record)))


def bare(position: int, *, key: str | None = None, fingerprint: str = "f") -> Delivery:
    """Build a delivery of which only the key counts, at little cost."""
    mark = Mark(key, "owner", fingerprint, "source", 1_000) if key else UNMARKED
    return Delivery(position, SqsRecord(f"s-{position}", "", 1, None, None), None, mark)
