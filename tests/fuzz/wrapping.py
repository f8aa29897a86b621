"""What other services and producers write around a text, by code of its own: the layer has no part in it."""

import base64
import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TOPIC_ARN = "arn:aws:sns:eu-central-1:111122223333:orders"


@dataclass(frozen=True)
class Raw:
    """JSON as it is to be written: numbers that Python would round, or nesting that it would not write."""

    text: str


@dataclass(frozen=True)
class Spelling:
    """
    One of the ways to write the same JSON.

    Attributes:
        ascii: whether what is not ASCII is written as escapes.
        blanks: what stands around every comma and colon.
        backwards: whether members come in reverse order.
        doubled: whether each object's first member is written twice, null before its value: the last one counts.
    """

    ascii: bool = True
    blanks: str = ""
    backwards: bool = False
    doubled: bool = False


PLAIN = Spelling()
SPELLINGS = (
    PLAIN,
    Spelling(blanks=" "),
    Spelling(ascii=False),
    Spelling(backwards=True),
    Spelling(ascii=False, blanks="\n\t", backwards=True),
    Spelling(doubled=True),
)


def written(value: Any, spelling: Spelling = PLAIN) -> str:
    """Write JSON."""
    between, colon = f"{spelling.blanks},{spelling.blanks}", f"{spelling.blanks}:{spelling.blanks}"
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, Mapping):
        members = [f"{_text(name, spelling)}{colon}{written(member, spelling)}" for name, member in value.items()]
        if spelling.backwards:
            members.reverse()
        if spelling.doubled and value:
            members.insert(0, f"{_text(next(iter(value)), spelling)}{colon}null")
        return f"{{{between.join(members)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{between.join(written(item, spelling) for item in value)}]"
    return _text(value, spelling)


def _text(value: Any, spelling: Spelling) -> str:
    return json.dumps(value, ensure_ascii=spelling.ascii)


# -- envelopes -----------------------------------------------------------------------------------------------


def sns_members(text: str, **members: Any) -> dict[str, Any]:
    """Return what SNS writes around a text without raw message delivery."""
    return {
        "Type": "Notification",
        "MessageId": "3b8f9c55-0000-5555-9999-0123456789ab",
        "TopicArn": TOPIC_ARN,
        "Subject": None,
        "Message": text,
        "Timestamp": "2026-01-05T09:00:00.000Z",
        "SignatureVersion": "1",
        "Signature": "EXAMPLE==",
        "MessageAttributes": {"message-id": {"Type": "String", "Value": "by-sns"}},
        **members,
    }


def eventbridge_members(detail: Any, **members: Any) -> dict[str, Any]:
    """Return an event as EventBridge hands it to a queue."""
    return {
        "version": "0",
        "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
        "detail-type": "order placed",
        "source": "shop.orders",
        "account": "111122223333",
        "time": "2026-01-05T09:00:00Z",
        "region": "eu-central-1",
        "resources": ['"detail": {"id": "decoy"}', {"detail": {"id": "decoy"}}],
        "detail": detail,
        **members,
    }


def cloudevent_members(data: Any, **members: Any) -> dict[str, Any]:
    """Return a CloudEvent in its structured form."""
    return {
        "specversion": "1.0",
        "id": "event-1",
        "source": "/shop/orders",
        "type": "order.placed",
        "extension": '"data": "decoy"',
        "data": data,
        **members,
    }


def s3_record(**members: Any) -> dict[str, Any]:
    """Return one record of a notification by S3: what `members` holds goes to where S3 has it."""
    values = {"eventName": "ObjectCreated:Put", "bucket": "photos", "key": "red+flower.jpg", "sequencer": "0A1B2C"}
    values.update(members)
    s3_object = {"key": values["key"], "size": 1024, "eTag": "d41d8cd9", "sequencer": values["sequencer"]}
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "eu-central-1",
        "eventTime": "2026-01-05T09:00:00.000Z",
        "eventName": values["eventName"],
        "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": values["bucket"]}, "object": s3_object},
    }


def s3_members(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a notification by S3."""
    return {"Records": list(records)}


S3_TEST = {"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": "2026-01-05T09:00:00.000Z", "Bucket": "photos"}
"""What S3 sends when a notification is set up: it carries no message."""


def pointer_to(key: str) -> list[Any]:
    """Return what the SQS extended clients send in place of a large message."""
    name = "software.amazon.payloadoffloading.PayloadS3Pointer"
    return [name, {"s3BucketName": "large-messages", "s3Key": key}]


def base64_of(text: str) -> str:
    """Return the text's UTF-8 in base64."""
    return base64.b64encode(text.encode()).decode()


def gzip_of(text: str) -> str:
    """Return the text compressed, in base64; in two members, which is lawful and rare."""
    content = text.encode()
    middle = len(content) // 2
    packed = gzip.compress(content[:middle], 1, mtime=0) + gzip.compress(content[middle:], 1, mtime=0)
    return base64.b64encode(packed).decode()


def zlib_of(text: str) -> str:
    """Return the text compressed as zlib does, in base64."""
    return base64.b64encode(zlib.compress(text.encode(), 1)).decode()
