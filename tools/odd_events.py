"""
Sample events that are odd and yet arrive: what the SDKs of others leave null, what local tools leave out, what bodies
hold that are not what was expected, and queues of other partitions.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

_NAMESPACE = uuid.UUID("2d9b7a52-6c0e-4f43-8a0b-5a3f4d2f9e11")
_SENT = 1_767_603_600_000
_PARTITIONS = {"aws-cn": "cn-north-1", "aws-us-gov": "us-gov-west-1", "aws-eusc": "eusc-de-east-1"}


def odd_events() -> dict[str, dict[str, Any]]:
    """Return each odd sample event by the name of its file."""
    return {
        "orders-odd-records.json": {"Records": list(_odd_but_whole())},
        "orders-unusable-records.json": {"Records": list(_unusable())},
        "shipments-other-partitions.json": {"Records": list(_of_other_partitions())},
    }


def _odd_but_whole() -> Iterator[dict[str, Any]]:
    """Yield records of orders that can be placed, whatever else their record says or does not say."""
    null = {"stringValue": "web", "binaryValue": None, "stringListValues": None, "dataType": "String"}
    yield _order(1) | {"messageAttributes": {"channel": null}, "md5OfMessageAttributes": None}
    yield _without(_order(2), "attributes", "messageAttributes", "md5OfBody", "receiptHandle", "awsRegion")
    yield _order(3) | {"messageAttributes": {"channel": {"stringValue": "web"}, "nothing": None}}
    yield _order(4) | {"body": _body(4)}  # an object, as people write it into test events
    yield _order(5) | {"attributes": {"SentTimestamp": str(_SENT // 1_000), "ApproximateReceiveCount": None}}
    yield _order(
        6,
        MessageGroupId="tenant-1",  # of a fair queue: the next of this group does not wait for it
        AWSTraceHeader="Root=1-695b6e10-8b5c1f0a4b6d4d2f9a7c3e21;Parent=53995c3f42cd8ad8;Sampled=1",
        DeadLetterQueueSourceArn="arn:aws:sqs:us-east-1:123456789012:orders",
    )
    yield _order(7) | {"messageId": "7", "eventSource": None, "dataFromTheFuture": {"a": [1]}}


def _unusable() -> Iterator[dict[str, Any]]:
    """Yield records of which no order can be known again; each is its own to be rejected."""
    pointer = {"s3BucketName": "large-messages", "s3Key": "f3a0c7a2-5f0b-4a53-9f0e-0a8d1e2c4b6d"}
    yield _record("pointer", ["software.amazon.payloadoffloading.PayloadS3Pointer", pointer])
    yield _record(
        "s3-test-event",
        {
            "Service": "Amazon S3",
            "Event": "s3:TestEvent",
            "Time": "2026-01-05T09:00:00.000Z",
            "Bucket": "uploads",
            "RequestId": "5582815E1AEA5ADF",
            "HostId": "8cLeGAmw098X5cv4Zkwcmo8vvZa3eH3eKxsPzbB9wrR",
        },
    )
    yield _record(
        "sns-envelope",
        {
            "Type": "Notification",
            "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
            "TopicArn": "arn:aws:sns:us-east-1:123456789012:orders",
            "Message": json.dumps(_body(8)),
            "Timestamp": "2026-01-05T09:00:00.000Z",
        },
    )
    for name, order_id in (("null", None), ("true", True), ("fraction", 42.0), ("blank", " "), ("list", ["o-9"])):
        yield _record(f"id-{name}", _body(9) | {"order_id": order_id})
    yield _record("lone-surrogate", '{"order_id": "\\ud83d", "customer_id": "c-17"}')
    yield _record("truncated", '{"order_id": "o-9", "lines": [')
    yield _without(_record("no-body", ""), "body")
    yield _record("number-body", "") | {"body": 42}
    yield _without(_record("body-of-receive-message", ""), "body") | {"Body": json.dumps(_body(9))}


def _of_other_partitions() -> Iterator[dict[str, Any]]:
    """Yield the first step of a shipment from a FIFO queue of each partition, and the second of the first."""
    steps = [(name, region, "packed") for name, region in _PARTITIONS.items()]
    for partition, region, step in [*steps, ("aws-cn", _PARTITIONS["aws-cn"], "shipped")]:
        shipment = f"s-{partition}"
        body = {"shipment_id": shipment, "step": step, "at": "2026-01-05T09:00:00Z"}
        record = _record(f"{shipment}/{step}", body, MessageGroupId=shipment, MessageDeduplicationId=step)
        arn = f"arn:{partition}:sqs:{region}:123456789012:shipments.fifo"
        yield record | {"eventSourceARN": arn, "awsRegion": region}


def _order(number: int, **attributes: str) -> dict[str, Any]:
    return _record(f"order-{number}", _body(number), **attributes)


def _body(number: int) -> dict[str, Any]:
    return {"order_id": f"o-200{number}", "customer_id": "c-17", "lines": [{"sku": "sku-1", "quantity": 1}]}


def _record(name: str, body: object, **attributes: str) -> dict[str, Any]:
    text = body if isinstance(body, str) else json.dumps(body)
    return {
        "messageId": str(uuid.uuid5(_NAMESPACE, name)),
        "receiptHandle": f"receipt-handle-of-{name}",
        "body": text,
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": str(_SENT),
            "SenderId": "AIDAIENQZJOLO23YVJ4VO",
            "ApproximateFirstReceiveTimestamp": str(_SENT + 12),
            **attributes,
        },
        "messageAttributes": {},
        "md5OfBody": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:orders",
        "awsRegion": "us-east-1",
    }


def _without(record: Mapping[str, Any], *members: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in members}
