"""
Do the work of each SQS message once, although queues deliver at least once.

Errors are in `idempotent_consumer.errors`, what sends messages in `idempotent_consumer.producer`, what tests need in
`idempotent_consumer.testing`.
"""

from idempotent_consumer import envelopes
from idempotent_consumer.backoff import Backoff
from idempotent_consumer.consumer import IdempotentConsumer
from idempotent_consumer.dynamodb import DynamoDBStore
from idempotent_consumer.errors import ConditionFailed, ConfigurationError, Reject, RetryLater
from idempotent_consumer.event import BatchResponse
from idempotent_consumer.message import Message
from idempotent_consumer.modes import Eager, Lazy, Natural, Transactional
from idempotent_consumer.outcome import DeliveryReport, Outcome
from idempotent_consumer.s3_events import S3Object, s3_objects
from idempotent_consumer.settings import Settings
from idempotent_consumer.strategies import (
    all_of,
    attribute,
    body_field,
    content_hash,
    deduplication_id,
    event_id,
    first_of,
    s3_event_id,
    sns_message_id,
    sqs_message_id,
)
from idempotent_consumer.work import UnitOfWork

__all__ = [
    "Backoff",
    "BatchResponse",
    "ConditionFailed",
    "ConfigurationError",
    "DeliveryReport",
    "DynamoDBStore",
    "Eager",
    "IdempotentConsumer",
    "Lazy",
    "Message",
    "Natural",
    "Outcome",
    "Reject",
    "RetryLater",
    "S3Object",
    "Settings",
    "Transactional",
    "UnitOfWork",
    "all_of",
    "attribute",
    "body_field",
    "content_hash",
    "deduplication_id",
    "envelopes",
    "event_id",
    "first_of",
    "s3_event_id",
    "s3_objects",
    "sns_message_id",
    "sqs_message_id",
]
