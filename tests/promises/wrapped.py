"""Messages as services wrap them."""

import json
from typing import Any

TOPIC = "arn:aws:sns:eu-central-1:111122223333:orders"


def in_sns(message: object, sns_message_id: str = "sns-1", **attributes: str) -> dict[str, Any]:
    """Wrap a message as SNS does without raw message delivery."""
    return {
        "Type": "Notification",
        "MessageId": sns_message_id,
        "TopicArn": TOPIC,
        "Subject": None,
        "Message": message if isinstance(message, str) else json.dumps(message),
        "Timestamp": "2026-03-01T12:00:00.000Z",
        "MessageAttributes": {name: {"Type": "String", "Value": value} for name, value in attributes.items()},
    }


def in_eventbridge(detail: object, event_id: str = "event-1", **members: str) -> dict[str, Any]:
    """Wrap a message as EventBridge does."""
    return {
        "version": "0",
        "id": event_id,
        "detail-type": "Order Placed",
        "source": "shop",
        "account": "111122223333",
        "time": "2026-03-01T12:00:00Z",
        "region": "eu-central-1",
        "resources": [],
        "detail": detail,
        **members,
    }


def in_cloudevent(data: object, event_id: str = "1", source: str = "/shop") -> dict[str, Any]:
    """Wrap a message as a CloudEvent."""
    return {"specversion": "1.0", "id": event_id, "source": source, "type": "order.placed", "data": data}


def s3_notification(*keys: str) -> dict[str, Any]:
    """Build the notification that S3 sends of new objects."""
    return {
        "Records": [
            {
                "eventVersion": "2.1",
                "eventSource": "aws:s3",
                "eventName": "ObjectCreated:Put",
                "s3": {
                    "bucket": {"name": "uploads", "arn": "arn:aws:s3:::uploads"},
                    "object": {"key": key, "size": 7, "eTag": "e", "sequencer": f"00{place}"},
                },
            }
            for place, key in enumerate(keys)
        ]
    }


S3_TEST_EVENT = {
    "Service": "Amazon S3",
    "Event": "s3:TestEvent",
    "Time": "2026-03-01T12:00:00.000Z",
    "Bucket": "uploads",
    "RequestId": "r",
    "HostId": "h",
}
