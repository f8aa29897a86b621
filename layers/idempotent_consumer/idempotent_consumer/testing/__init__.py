"""What tests of consumers need: a store in memory, a clock to move by hand, and events as Lambda builds them."""

from idempotent_consumer.testing.events import message, sqs_event, sqs_record
from idempotent_consumer.testing.memory import InMemoryStore
from idempotent_consumer.testing.tables import create_processed_messages_table
from idempotent_consumer.testing.time import FakeClock, FakeContext
from idempotent_consumer.testing.work import recorded_work

__all__ = [
    "FakeClock",
    "FakeContext",
    "InMemoryStore",
    "create_processed_messages_table",
    "message",
    "recorded_work",
    "sqs_event",
    "sqs_record",
]
