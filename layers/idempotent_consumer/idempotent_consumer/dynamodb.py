"""The store on DynamoDB: one PynamoDB connection, and raw requests on its client that tell what a condition met."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError, NoRegionError
from pynamodb.connection import Connection
from pynamodb.expressions.condition import Condition

from idempotent_consumer.clock import Deadline
from idempotent_consumer.conditions import is_my_claim, may_be_completed, may_be_taken
from idempotent_consumer.errors import ConfigurationError, IdempotentConsumerError
from idempotent_consumer.item import from_item, to_item
from idempotent_consumer.metering import ask_store
from idempotent_consumer.refusals import CONDITION_FAILED, fault_in, invalid, is_of_handlers_writes
from idempotent_consumer.requesting import PASSING_CODES, REQUEST_ERRORS, TryAgain, until_answered
from idempotent_consumer.settings import CONNECT_TIMEOUT_S, MOST_CONCURRENT, READ_TIMEOUT_S, STORE_SHARE
from idempotent_consumer.store import Mark, ProcessedMessage, Write, judge

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_KEYS_PER_LOOK_UP = 100  # BatchGetItem takes no more


class DynamoDBStore:
    """
    Remember processed messages in a DynamoDB table with the partition key `id`.

    Args:
        table_name: name of the table.
        connection: a PynamoDB connection to use instead of one with timeouts of seconds and without retries of its own.

    Raises:
        ConfigurationError: there is no AWS region.
    """

    def __init__(self, table_name: str, *, connection: Connection | None = None) -> None:
        self.table_name = table_name
        self._connection = connection or Connection(
            connect_timeout_seconds=CONNECT_TIMEOUT_S,
            read_timeout_seconds=READ_TIMEOUT_S,
            max_retry_attempts=0,
            max_pool_connections=MOST_CONCURRENT,
        )
        try:
            self._connection.client  # noqa: B018 - made now, in the init phase, and not in the first message's time
        except NoRegionError as error:
            raise ConfigurationError("there is no AWS region: set AWS_DEFAULT_REGION") from error

    @property
    def region(self) -> str:
        """Return the AWS region of the table."""
        return self._client.meta.region_name

    @property
    def _client(self) -> DynamoDBClient:
        return cast("DynamoDBClient", self._connection.client)

    # -- reading -----------------------------------------------------------------------------------

    def look_up(self, keys: Sequence[str], deadline: Deadline) -> Mapping[str, ProcessedMessage]:
        """Return the items that there are for the keys, with all that was written before the call."""
        found: dict[str, ProcessedMessage] = {}
        missing = list(dict.fromkeys(keys))

        def get() -> None:
            nonlocal missing
            request = {
                "Keys": [{"id": {"S": key}} for key in missing[:_KEYS_PER_LOOK_UP]],
                "ConsistentRead": True,
            }
            response = ask_store(self._client.batch_get_item, reads=True, RequestItems={self.table_name: request})
            for item in response["Responses"].get(self.table_name, []):
                old = from_item(item)
                found[old.key] = old
            left = response.get("UnprocessedKeys", {})
            unprocessed = left[self.table_name]["Keys"] if self.table_name in left else []
            missing = [key["id"]["S"] for key in unprocessed] + missing[_KEYS_PER_LOOK_UP:]
            if unprocessed:  # they are not absent: they were not looked for
                raise TryAgain("some keys were not looked up")

        while missing:
            until_answered(get, deadline, share=STORE_SHARE)
        return found

    def _read(self, key: str) -> ProcessedMessage | None:
        response = ask_store(
            self._client.get_item, reads=True, TableName=self.table_name, Key={"id": {"S": key}}, ConsistentRead=True
        )
        return from_item(response["Item"]) if "Item" in response else None

    # -- writing -----------------------------------------------------------------------------------

    def claim(self, mark: Mark, deadline: Deadline, *, lease_ms: int) -> ProcessedMessage | None:
        """Take a message for as long as the invocation lasts, `lease_ms` at least, if nothing that counts is stored."""

        def put() -> ProcessedMessage | None:
            now_ms = deadline.now_ms()
            lease_until_ms = now_ms + max(deadline.left_ms(), lease_ms)
            return self._put(mark.in_progress(now_ms, lease_until_ms), may_be_taken(now_ms))

        return until_answered(put, deadline, share=STORE_SHARE)

    def complete(self, mark: Mark, deadline: Deadline) -> ProcessedMessage | None:
        """Turn one's own claim into a completed item; if it is gone altogether, store that."""
        return until_answered(
            lambda: self._put(mark.completed(deadline.now_ms()), may_be_completed(mark.owner)), deadline
        )

    def remember(self, mark: Mark, deadline: Deadline) -> ProcessedMessage | None:
        """Store a completed item without a claim before it, under the condition of a claim."""

        def put() -> ProcessedMessage | None:
            now_ms = deadline.now_ms()
            return self._put(mark.completed(now_ms), may_be_taken(now_ms))

        return until_answered(put, deadline)

    def release(self, mark: Mark, deadline: Deadline) -> None:
        """Give one's own claim up; what is not one's own, or is completed, stays untouched."""

        def delete() -> None:
            try:
                ask_store(
                    self._client.delete_item,
                    TableName=self.table_name,
                    Key={"id": {"S": mark.key}},
                    **_expression(is_my_claim(mark.owner)),
                )
            except ClientError as error:
                if not _condition_failed(error):
                    raise

        until_answered(delete, deadline)

    def commit(self, mark: Mark, writes: Sequence[Write], deadline: Deadline) -> ProcessedMessage | None:
        """
        Store a completed item and the handler's writes in one transaction, under the condition of a claim.

        Raises:
            ConditionFailed: our record could have been stored, but a condition of the handler's did not hold.
            InvalidWriteError: it could have been stored, but DynamoDB refuses a write of the handler's as it is.
        """

        def transact() -> ProcessedMessage | None:
            now_ms = deadline.now_ms()
            record = Write("Put", self._put_request(mark.completed(now_ms), may_be_taken(now_ms)))
            try:
                ask_store(
                    self._client.transact_write_items,
                    TransactItems=[{write.operation: write.request} for write in (record, *writes)],
                    # One token for one composition: DynamoDB refuses a token that returns with other content.
                    ClientRequestToken=str(uuid.uuid4()),
                )
            except self._client.exceptions.TransactionCanceledException as error:
                return self._judge_cancellation(error.response, mark, writes, deadline)
            except REQUEST_ERRORS as error:
                if not is_of_handlers_writes(error, writes):
                    raise
                return self._unless_settled(invalid(error), mark, deadline)
            return None

        return until_answered(transact, deadline)

    def _put(self, item: ProcessedMessage, condition: Condition) -> ProcessedMessage | None:
        try:
            ask_store(self._client.put_item, **self._put_request(item, condition))
        except ClientError as error:
            if not _condition_failed(error):
                raise
            return self._in_the_way(error.response.get("Item"), item.key, item.owner)
        return None

    def _put_request(self, item: ProcessedMessage, condition: Condition) -> dict[str, Any]:
        return {
            "TableName": self.table_name,
            "Item": to_item(item),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            **_expression(condition),
        }

    def _in_the_way(self, item: Any, key: str, owner: str) -> ProcessedMessage | None:
        """Return what a failed condition met; None if that was our own write, whose answer was lost."""
        old = from_item(item) if item else self._read(key)
        if old is None:
            raise TryAgain("what stood in the way is gone")
        return None if old.owner == owner else old

    def _judge_cancellation(
        self, response: Mapping[str, Any], mark: Mark, writes: Sequence[Write], deadline: Deadline
    ) -> ProcessedMessage | None:
        """
        Find out why a transaction was cancelled: our record first, then what passes, then the handler's conditions.

        After a lost answer our own condition and the handler's `does_not_exist` both fail on what we ourselves have
        written; whichever of them DynamoDB reports, that is a success.
        """
        reasons: Sequence[Mapping[str, Any]] = response.get("CancellationReasons") or [{}]
        codes = [reason.get("Code", "None") for reason in reasons]
        if codes[0] == CONDITION_FAILED:
            return self._in_the_way(reasons[0].get("Item"), mark.key, mark.owner)
        if passing := PASSING_CODES.intersection(codes):
            raise TryAgain(f"the transaction met {', '.join(sorted(passing))}")
        return self._unless_settled(fault_in(reasons, writes), mark, deadline)

    def _unless_settled(
        self, fault: IdempotentConsumerError, mark: Mark, deadline: Deadline
    ) -> ProcessedMessage | None:
        """Raise what a transaction was refused for, unless our record is there: then an earlier try or another won."""
        old = self._read(mark.key)
        if old is not None and old.owner == mark.owner:
            return None
        if judge(old, mark.fingerprint, deadline.now_ms()) is not None:
            return old
        raise fault


def _condition_failed(error: ClientError) -> bool:
    return error.response["Error"]["Code"] == f"{CONDITION_FAILED}Exception"


def _expression(condition: Condition) -> dict[str, Any]:
    names: dict[str, str] = {}
    values: dict[str, Any] = {}
    return {
        "ConditionExpression": condition.serialize(names, values),
        "ExpressionAttributeNames": {placeholder: name for name, placeholder in names.items()},
        "ExpressionAttributeValues": values,
    }
