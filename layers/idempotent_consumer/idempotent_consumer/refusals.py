"""Whose fault it is that DynamoDB refuses a transaction: a write of the handler's own, or ours and the deployment's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from boto3.dynamodb.types import TypeDeserializer
from botocore.exceptions import ClientError, ParamValidationError

from idempotent_consumer.errors import (
    ConditionFailed,
    FailedCondition,
    IdempotentConsumerError,
    InvalidWriteError,
    StoreRefusedError,
)
from idempotent_consumer.store import Write

CONDITION_FAILED = "ConditionalCheckFailed"
_INVALID_REASONS = frozenset({"ItemCollectionSizeLimitExceeded", "ValidationError"})
_INVALID_CODES = frozenset(
    {"ItemCollectionSizeLimitExceededException", "SerializationException", "ValidationException"}
)
"""Refusals of what a request says. Permissions and tables that are not there have codes of their own, and are not among
them: they would meet every message, so none is to be given up for them."""


def is_of_handlers_writes(error: Exception, writes: Sequence[Write]) -> bool:
    """
    Tell whether a transaction was refused as a whole for what its writes say.

    Our own record is of one form, in which the look-up before has passed its key; so it is the handler's writes, if
    there are any.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """
    if not writes:
        return False
    if isinstance(error, ClientError):
        return error.response["Error"]["Code"] in _INVALID_CODES
    return isinstance(error, ParamValidationError)


def invalid(error: Exception) -> InvalidWriteError:
    """Return what to raise for a transaction that was refused as a whole."""
    return InvalidWriteError(f"the handler's own writes are refused: {error}")


def fault_in(reasons: Sequence[Mapping[str, Any]], writes: Sequence[Write]) -> IdempotentConsumerError:
    """
    Return what to raise for a transaction that was cancelled: the handler's conditions first, then its invalid writes.

    Args:
        reasons: one for our record, and one for each write.
        writes: the handler's, in their order.
    """
    of_handler = list(zip(writes, reasons[1:], strict=False))
    failures = [
        FailedCondition(write.operation, write.request["TableName"], _plain(write.key), _plain(reason.get("Item")))
        for write, reason in of_handler
        if reason.get("Code") == CONDITION_FAILED
    ]
    if failures:
        return ConditionFailed(failures)
    found = [
        f"{write.operation} on {write.request['TableName']}: {_said(reason)}"
        for write, reason in of_handler
        if reason.get("Code") in _INVALID_REASONS
    ]
    if found:
        return InvalidWriteError(f"the handler's own writes are refused: {'; '.join(found)}")
    return StoreRefusedError(f"the transaction was refused: {'; '.join(map(_said, reasons))}")


def _said(reason: Mapping[str, Any]) -> str:
    return f"{reason.get('Code')}: {reason.get('Message', '')}"


def _plain(item: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if not item:
        return None
    deserialize = TypeDeserializer().deserialize
    return {name: deserialize(value) for name, value in item.items()}
