"""
Do the work of each SQS message once, although queues deliver at least once.

Errors are in `idempotent_consumer.errors`; what tests need is in `idempotent_consumer.testing`.
"""

from idempotent_consumer.consumer import IdempotentConsumer
from idempotent_consumer.dynamodb import DynamoDBStore
from idempotent_consumer.errors import ConditionFailed, ConfigurationError, Reject
from idempotent_consumer.event import BatchResponse
from idempotent_consumer.identity import attribute, body_field, first_of, sqs_message_id
from idempotent_consumer.message import Message
from idempotent_consumer.modes import Eager, Lazy, Natural, Transactional
from idempotent_consumer.outcome import DeliveryReport, Outcome
from idempotent_consumer.settings import Settings
from idempotent_consumer.work import UnitOfWork

__all__ = [
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
    "Settings",
    "Transactional",
    "UnitOfWork",
    "attribute",
    "body_field",
    "first_of",
    "sqs_message_id",
]
