"""Delete a processed message, and leave a line that says who did it and why."""

from __future__ import annotations

import getpass
import json
import socket
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from idempotent_consumer_operator.aws import Aws
from idempotent_consumer_operator.errors import OperatorError, translated
from idempotent_consumer_operator.records import LEASE_ENDED, Record, iso

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

MEANING = "the next delivery of this message is handled like a new one, and its effect happens again"

_UNCHANGED = ("owner", "status", "updated_at")


def check_nobody_holds(record: Record) -> None:
    """
    Make sure that no handler can be at work on the message.

    Raises:
        OperatorError: one may be.
    """
    if record.lease not in (None, LEASE_ENDED):
        raise OperatorError(
            f"a handler may be at work on {record.message.key} until {iso(record.message.lease_until_ms) or 'ever'}: "
            "wait for the end of its lease, or add --force if you know that it is gone"
        )


def forget(dynamodb: DynamoDBClient, table: str, record: Record) -> None:
    """
    Delete a processed message, if it is still what the person has seen.

    Between the look and the answer a delivery may complete it, or take it over: that one's record must not go.

    Raises:
        OperatorError: it has changed; nothing was deleted.
    """
    expected = {name: record.item[name] for name in _UNCHANGED if name in record.item}
    conditions = [f"#{name} = :{name}" if name in expected else f"attribute_not_exists(#{name})" for name in _UNCHANGED]
    with translated():
        try:
            dynamodb.delete_item(
                TableName=table,
                Key={"id": record.item["id"]},
                ConditionExpression=" AND ".join(conditions),
                ExpressionAttributeNames={f"#{name}": name for name in _UNCHANGED},
                **_values(expected),
            )
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
                raise OperatorError(
                    f"{record.message.key} has changed since it was shown, and was not deleted: look at it again"
                ) from error
            raise


def log_line(record: Record, *, who: str, reason: str, now_ms: int) -> str:
    """Return the structured line that says what was forgotten, by whom and why."""
    return json.dumps(
        {
            "event": "forgotten",
            "at": iso(now_ms),
            "who": who,
            "reason": reason,
            "key": record.message.key,
            "status": record.status,
            "owner": record.message.owner,
            "source": record.message.source,
        }
    )


def who_asks(aws: Aws) -> str:
    """Return who runs the command: as AWS knows them, or else the user of this machine."""
    try:
        return aws.sts.get_caller_identity()["Arn"]
    except (ClientError, BotoCoreError, KeyError):  # no permission is needed; an endpoint of one's own may lack STS
        return f"{getpass.getuser()}@{socket.gethostname()}"


def _values(expected: dict[str, Any]) -> dict[str, Any]:
    values = {f":{name}": value for name, value in expected.items()}
    return {"ExpressionAttributeValues": values} if values else {}
