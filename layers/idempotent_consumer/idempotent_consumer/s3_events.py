"""What S3 tells of its objects: notifications, and the event by which it tests a new one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from idempotent_consumer.errors import EmptyEnvelope, UnreadableMessageError

_TEST_EVENT = ("Amazon S3", "s3:TestEvent")
_BROKEN_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class S3Object:
    """
    Hold what a notification says about one object.

    Attributes:
        event_name: what happened, such as `ObjectCreated:Put`; empty if S3 does not say.
        bucket: name of the bucket.
        key: the object's key as it is in the bucket: `red flower.jpg`, which S3 sends as `red+flower.jpg`.
        version_id: version of the object, in a bucket that has versions.
        e_tag: its entity tag; deletions have none.
        sequencer: hexadecimal digits that grow with each creation and deletion under one key, and only there; they
            differ in length.
        size: in bytes; deletions have none.
    """

    event_name: str
    bucket: str
    key: str
    version_id: str | None = None
    e_tag: str | None = None
    sequencer: str | None = None
    size: int | None = None


def s3_objects(body: str) -> tuple[S3Object, ...]:
    """
    Read the objects of an S3 notification; made for `parse=s3_objects`.

    One notification may tell of several objects, and S3 may tell of one event twice, in two messages.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html

    Args:
        body: the message's body.

    Returns:
        The objects in the notification's order, one at least.

    Raises:
        UnreadableMessageError: it is no S3 notification; the error names the record that is none.
        EmptyEnvelope: it is the event by which S3 tests a new notification.
    """
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnreadableMessageError(f"the body is no S3 notification: it is not JSON: {error}") from error
    content = _mapping(content)
    if _is_test_event(content):
        raise EmptyEnvelope("the body is the event by which S3 tests a new notification")
    records = content.get("Records")
    if not isinstance(records, list) or not records:
        raise UnreadableMessageError("the body is no S3 notification: it has no list of Records")
    return tuple(_object_of(record, f"Records[{place}]") for place, record in enumerate(records))


def _is_test_event(content: Mapping[str, Any]) -> bool:
    return (content.get("Service"), content.get("Event")) == _TEST_EVENT and "Records" not in content


def _object_of(record: object, place: str) -> S3Object:
    members = _mapping(record)
    if members.get("eventSource") != "aws:s3":  # the same in every partition
        raise UnreadableMessageError(f"the body is no S3 notification: {place}.eventSource is not aws:s3")
    s3 = _mapping(members.get("s3"))
    stored = _mapping(s3.get("object"))
    bucket, key = _text(_mapping(s3.get("bucket")).get("name")), _text(stored.get("key"))
    if not bucket or not key:
        missing = "object.key" if bucket else "bucket.name"
        raise UnreadableMessageError(f"the body is no S3 notification: {place}.s3.{missing} is missing or no text")
    size = stored.get("size")
    return S3Object(
        event_name=_text(members.get("eventName")) or "",
        bucket=bucket,
        key=_decoded(key, place),
        version_id=_text(stored.get("versionId")),
        e_tag=_text(stored.get("eTag")),
        sequencer=_text(stored.get("sequencer")),
        size=size if isinstance(size, int) and not isinstance(size, bool) else None,
    )


def _decoded(key: str, place: str) -> str:
    """Decode a key, strictly: where broken escapes were let pass or replaced, two keys could become one."""
    try:
        if not _BROKEN_ESCAPE.search(key):
            return unquote_plus(key, errors="strict")
    except UnicodeDecodeError:
        pass
    raise UnreadableMessageError(f"the body is no S3 notification: {place}.s3.object.key is not form-encoded UTF-8")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
