"""
Every error of the package, in one tree; what botocore and PynamoDB raise never leaves the store untranslated.

::

    IdempotentConsumerError
    ├── ConfigurationError        the code or its deployment is wrong: raised at import or decoration
    ├── NotAnSQSEventError        the whole event came from somewhere else: nothing was handled
    ├── NotAStreamEventError      the same for the relay: nothing was sent
    ├── UnreportableRecordError   a delivery failed that has no SQS message id to report: the whole batch comes back
    ├── BatchFailedError          every delivery failed, and the consumer was asked to raise then
    ├── EmptyEnvelope             the envelope carries no message: the delivery is PROCESSED without the handler
    ├── PermanentError            this message can never succeed: the delivery is REJECTED
    │   ├── Reject                  said so by a handler
    │   ├── UnreadableMessageError  the body is not what it has to be
    │   ├── UnusableMessageIdError  no id, or one that must not become a key
    │   │   └── MissingMessageIdError   the place where the id should be is empty
    │   └── FingerprintMismatchError    the id is taken by a processed message with other content
    ├── RetryLater                said by a handler: FAILED, and delivered again when it says
    ├── StoreError                the store did not do it: the delivery is FAILED, or UNRECORDED after the handler
    │   ├── StoreUnavailableError   no answer, throttled or in conflict for as long as there was time
    │   └── StoreRefusedError       answered, and will answer the same again: permissions, table name, an invalid write
    ├── SendingError              a message was not sent
    │   ├── UnsendableMessageError  as it is, its target would refuse it or change it: nothing was sent
    │   ├── NotSentError            SQS refused it, or gave no answer: sending it again under the same id is safe
    │   └── UnreadableOutboxError   what is stored as outgoing messages is not what the relay can read
    ├── ConditionFailed           a condition that the handler put on one of its own writes did not hold
    └── WorkError                 a unit of work was used in a way that cannot be committed
        ├── WritesNotAllowedError   the mode does not commit the handler's writes, or its handler has returned
        ├── NoOutboxRelayError      nobody would send the outgoing message
        ├── OutboxFullError         more outgoing messages than one processed message stores
        ├── InvalidWriteError       DynamoDB refuses a write, and would refuse it again
        ├── TooManyWritesError      more than one transaction takes
        └── SecondWriteError        two writes to one item
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idempotent_consumer.outcome import DeliveryReport
    from idempotent_consumer.producer import Unsent


_MOST_NAMED = 10

_LONGEST_DELAY = timedelta(hours=12)  # as long as SQS can keep a delivery from coming back


class IdempotentConsumerError(Exception):
    """Stand at the root of the package's errors."""


class ConfigurationError(IdempotentConsumerError):
    """
    Name everything that is wrong with the code or its deployment, all at once.

    Raised while the function is imported, so that a bad deployment fails before it receives a message.
    """

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


class NotAnSQSEventError(IdempotentConsumerError):
    """Say what an event looks like that is no batch of SQS records."""


class NotAStreamEventError(IdempotentConsumerError):
    """Say that an event is no batch of a DynamoDB stream's records."""


class UnreportableRecordError(IdempotentConsumerError):
    """
    Fail the whole invocation, because a delivery that failed has no `messageId` to be reported by.

    SQS then delivers the batch again; what was processed is recognised as DUPLICATE.
    """


class BatchFailedError(IdempotentConsumerError):
    """Carry the reports of a batch in which every delivery failed (only with `raise_when_all_failed`)."""

    def __init__(self, reports: Sequence[DeliveryReport]) -> None:
        self.reports = tuple(reports)
        reasons = ", ".join(f"{report.sqs_message_id}: {report.outcome} ({report.reason})" for report in self.reports)
        super().__init__(f"all {len(self.reports)} deliveries failed: {reasons}")


class EmptyEnvelope(IdempotentConsumerError):  # noqa: N818 - a finding, not a failure
    """
    Say that an envelope carries no message, such as the event by which S3 tests a new notification.

    Raised by whatever opens envelopes. There is nothing to do, so the delivery is acknowledged; nothing is stored.
    """


class PermanentError(IdempotentConsumerError):
    """Mark a message that can never succeed, however often it is delivered."""


class Reject(PermanentError):  # noqa: N818 - a handler says it, like an instruction
    """
    Refuse a message for good: raised by a handler that knows no redelivery can help.

    Args:
        reason: what is wrong with the message, for the person who reads the dead-letter queue.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class UnreadableMessageError(PermanentError):
    """Say why a body cannot be read."""


class UnusableMessageIdError(PermanentError):
    """Say why a value must not become a message id."""


class MissingMessageIdError(UnusableMessageIdError):
    """Say where no message id was found; `first_of` then looks at its next place."""


class FingerprintMismatchError(PermanentError):
    """Say that a message id returned with other content than that which was processed."""


class RetryLater(IdempotentConsumerError):  # noqa: N818 - a handler says it, like an instruction
    """
    Put a message off: raised by a handler that knows when another try may succeed.

    The delivery is FAILED and counts as one of the message's receives. In an exception group, as an `asyncio.TaskGroup`
    raises, the longest delay counts.

    Args:
        delay: how long to wait, from 0 to 12 hours.
        reason: why, for the log.
    """

    def __init__(self, delay: timedelta, reason: str = "") -> None:
        if not isinstance(delay, timedelta) or not timedelta(0) <= delay <= _LONGEST_DELAY:
            raise ConfigurationError(f"RetryLater({delay!r}): give a timedelta from 0 to {_LONGEST_DELAY}")
        self.delay = delay
        super().__init__(reason or f"to be tried again in {delay}")


class StoreError(IdempotentConsumerError):
    """Stand for whatever kept the store from doing its part."""


class StoreUnavailableError(StoreError):
    """Say that the store could not be reached, or was too busy, for as long as it could be tried."""


class StoreRefusedError(StoreError):
    """Say that the store refused a request that it would refuse again."""


class SendingError(IdempotentConsumerError):
    """Stand for whatever kept a message from being sent."""


class UnsendableMessageError(SendingError):
    """Say what has to be changed about a message before SQS, SNS or EventBridge takes it."""


class NotSentError(SendingError):
    """
    Carry the messages that SQS has not taken, or is not known to have.

    Attributes:
        unsent: one `Unsent` for each, with its reason.
    """

    def __init__(self, unsent: Sequence[Unsent]) -> None:
        self.unsent = tuple(unsent)
        named = ", ".join(f"{each.message_id!r:.80} ({each})" for each in self.unsent[:_MOST_NAMED])
        more = f" and {len(self.unsent) - _MOST_NAMED} more" if len(self.unsent) > _MOST_NAMED else ""
        super().__init__(f"{len(self.unsent)} not sent: {named}{more}")


class UnreadableOutboxError(SendingError):
    """Say why stored outgoing messages cannot be read: another version has written them, or another hand."""


@dataclass(frozen=True, slots=True)
class FailedCondition:
    """
    Describe one write of the handler whose condition did not hold.

    Attributes:
        operation: `Put`, `Update`, `Delete` or `ConditionCheck`.
        table_name: the table of the write.
        key: the key of the item, as plain values; None where a put in client form does not tell it.
        item: the item that the condition met, as plain values (numbers are `Decimal`); None if there was none.
    """

    operation: str
    table_name: str
    key: Mapping[str, Any] | None
    item: Mapping[str, Any] | None


class ConditionFailed(IdempotentConsumerError):  # noqa: N818 - a business outcome first, an error second
    """
    Carry the handler's own conditions that did not hold; nothing of its unit of work was written.

    Handle it with `@consumer.on_condition_failed`. Otherwise the delivery is FAILED and tried again, since a fresh
    read may pass; put it into `reject_on` only where a fresh read could not.

    Attributes:
        failures: one `FailedCondition` for each write that failed, in the order of the calls.
    """

    def __init__(self, failures: Sequence[FailedCondition]) -> None:
        self.failures = tuple(failures)
        met = ", ".join(
            f"{failure.operation} on {failure.table_name} met {'an item' if failure.item else 'no item'}"
            for failure in self.failures
        )
        super().__init__(f"the handler's own condition did not hold: {met}")


class WorkError(IdempotentConsumerError):
    """Say why a unit of work cannot take a write or an outgoing message."""


class WritesNotAllowedError(WorkError):
    """Refuse what nobody would commit."""


class NoOutboxRelayError(WorkError):
    """Refuse an outgoing message that would be stored and never sent."""


class OutboxFullError(WorkError):
    """Refuse the outgoing message that one processed message cannot hold."""


class InvalidWriteError(WorkError):
    """
    Say why DynamoDB refuses a transaction for a write of the handler's own; nothing of it was written.

    It shows only when the unit of work is committed, and makes the delivery FAILED like any error of the handler.
    """


class TooManyWritesError(WorkError):
    """Refuse the write that one transaction cannot hold."""


class SecondWriteError(WorkError):
    """Refuse a second write to an item within one transaction."""
