"""Build SQS events as Lambda passes them, and messages as handlers get them."""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from idempotent_consumer.clock import Deadline, SystemClock
from idempotent_consumer.identity import key_of
from idempotent_consumer.message import Message, read_message

QUEUE_ARN = "arn:aws:sqs:eu-central-1:111122223333:orders"


def sqs_record(
    body: object,
    *,
    sqs_message_id: str | None = None,
    attributes: Mapping[str, str | bytes] | None = None,
    receive_count: int = 1,
    group_id: str | None = None,
    deduplication_id: str | None = None,
    queue_arn: str = QUEUE_ARN,
) -> dict[str, Any]:
    """
    Build one record of an SQS event.

    Args:
        body: text as it is; anything else as JSON.
        sqs_message_id: SQS's own id; a new one by default, as for every message that a producer sends.
        attributes: message attributes by name.
        receive_count: times that SQS has delivered it.
        group_id: message group; the queue is FIFO if its ARN ends so.
        deduplication_id: what a FIFO queue folds equal messages by.
        queue_arn: ARN of the queue.
    """
    text = body if isinstance(body, str) else json.dumps(body)
    system_attributes = {
        "ApproximateReceiveCount": str(receive_count),
        "SentTimestamp": str(int(datetime.now(tz=UTC).timestamp() * 1000)),
        "SenderId": "AIDAEXAMPLE",
    }
    if group_id is not None:
        system_attributes["MessageGroupId"] = group_id
    if deduplication_id is not None:
        system_attributes["MessageDeduplicationId"] = deduplication_id
    return {
        "messageId": sqs_message_id or str(uuid.uuid4()),
        "receiptHandle": "receipt-handle",
        "body": text,
        "attributes": system_attributes,
        "messageAttributes": {name: _attribute(value) for name, value in (attributes or {}).items()},
        "md5OfBody": hashlib.md5(text.encode(errors="replace"), usedforsecurity=False).hexdigest(),
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": "eu-central-1",
    }


def sqs_event(*records: Mapping[str, Any]) -> dict[str, Any]:
    """Build the event of an invocation out of its records."""
    return {"Records": list(records)}


def message(
    body: object, *, message_id: str = "message-1", consumer: str = "consumer", payload: Any = None, **record: Any
) -> Message:
    """
    Build a message as a handler gets it, to call the handler directly.

    Args:
        body: text as it is; anything else as JSON.
        message_id: the id that the consumer's strategy would find.
        consumer: the consumer's name, which scopes the key.
        payload: what the consumer's `parse` would make of the body.
        record: the other arguments of `sqs_record`.
    """
    read = read_message(sqs_record(body, **record), Deadline(SystemClock()))
    return read.identified(message_id, key_of(consumer, message_id)).parsed(payload)


def _attribute(value: str | bytes) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": value, "stringListValues": [], "binaryListValues": [], "dataType": "String"}
    binary = base64.b64encode(value).decode()
    return {"binaryValue": binary, "stringListValues": [], "binaryListValues": [], "dataType": "Binary"}
