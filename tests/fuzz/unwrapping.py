"""What is in a record and in the envelopes around its text, as the tests see it: no code of the layer's is used."""

import base64
import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from tests.fuzz.reading import Content, EmptyError, NothingError, UnsureError, is_text, members_of

LARGEST = 20_000
"""Bytes that compressed text may have, in the consumers under test."""


@dataclass(frozen=True)
class Sent:
    """
    What a producer sent, as a consumer is to see it.

    Attributes:
        record: what SQS delivered.
        body: the text inside all envelopes.
        attributes: the message attributes, those inside envelopes included.
        envelopes: kind and members of those that were opened.
    """

    record: Mapping[str, Any]
    body: Content
    attributes: Mapping[str, str | bytes]
    envelopes: tuple[tuple[str, Mapping[str, Any]], ...] = ()


@dataclass(frozen=True)
class Inside:
    """What was in an envelope."""

    kind: str
    body: Content
    members: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, str | bytes] = field(default_factory=dict)


def sent(record: Any, envelopes: tuple[str, ...]) -> Sent:
    """
    Return what a record delivers, its envelopes opened.

    Raises:
        NothingError: it cannot be read, or is not in these envelopes.
        EmptyError: an envelope carries no message.
    """
    if not isinstance(record, dict):
        raise NothingError
    message = Sent(record, _body_of(record), _attributes_of(record))
    for name in envelopes:
        inside = opened(message.body, name)
        if inside is not None:
            attributes = {**message.attributes, **inside.attributes}
            opened_so_far = (*message.envelopes, (inside.kind, inside.members))
            message = Sent(record, inside.body, attributes, opened_so_far)
    return message


def _body_of(record: Mapping[str, Any]) -> Content:
    body = record.get("body")
    if isinstance(body, (dict, list)):
        return Content(json.dumps(body))
    if not isinstance(body, str):
        raise NothingError
    return Content(body)


def _attributes_of(record: Mapping[str, Any]) -> dict[str, str | bytes]:
    found: dict[str, str | bytes] = {}
    for name, attribute in members_of(record.get("messageAttributes")).items():
        text, binary = members_of(attribute).get("stringValue"), members_of(attribute).get("binaryValue")
        if isinstance(text, str):
            found[name] = text
        elif isinstance(binary, str):
            found[name] = _bytes_of(binary)
    return found


def _bytes_of(text: str) -> str | bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return text  # no bytes that SQS would send: as good as text


# -- envelopes -----------------------------------------------------------------------------------------------


def opened(body: Content, name: str) -> Inside | None:
    """Open one envelope; None if it may be absent and is."""
    try:
        return OPENERS[name.removesuffix("?")](body)
    except NothingError:
        if name.endswith("?"):
            return None
        raise


def sns_in(body: Content) -> Mapping[str, Any] | None:
    """Return the members of an SNS envelope, if it is one."""
    members = _object(body)
    is_whole = is_text(members.get("MessageId")) and is_text(members.get("TopicArn"))
    is_whole = is_whole and isinstance(members.get("Message"), str)
    return members if is_whole and members.get("Type") == "Notification" else None


def eventbridge_in(body: Content) -> Mapping[str, Any] | None:
    """Return the members of an EventBridge event, if it is one."""
    members = _object(body)
    is_whole = all(is_text(members.get(name)) for name in ("detail-type", "source", "id"))
    return members if is_whole and "detail" in members else None


def cloudevent_in(body: Content) -> Mapping[str, Any] | None:
    """Return the members of a CloudEvent, if it is one."""
    members = _object(body)
    is_whole = all(is_text(members.get(name)) for name in ("id", "source", "type"))
    version = members.get("specversion")
    return members if is_whole and isinstance(version, str) and version.startswith("1.") else None


def s3_records_in(body: Content) -> list[Mapping[str, Any]]:
    """
    Return the records of a notification by S3.

    Raises:
        NothingError: it is none.
        EmptyError: it is the one that says that notifications work.
    """
    members = _object(body)
    records = members.get("Records")
    if "Records" not in members and (members.get("Service"), members.get("Event")) == ("Amazon S3", "s3:TestEvent"):
        raise EmptyError
    if isinstance(records, list) and records and all(map(_is_s3_record, records)):
        return records
    raise NothingError


def _is_s3_record(record: Any) -> bool:
    s3 = members_of(members_of(record).get("s3"))
    bucket, key = members_of(s3.get("bucket")).get("name"), members_of(s3.get("object")).get("key")
    is_whole = members_of(record).get("eventSource") == "aws:s3" and isinstance(bucket, str) and bucket != ""
    return is_whole and isinstance(key, str) and key != "" and _is_form_encoded(key)


def _is_form_encoded(key: str) -> bool:
    try:
        unquote_to_bytes(key).decode()
    except ValueError:
        return False
    return not re.search("%(?![0-9a-fA-F]{2})", key)


def _object(body: Content) -> Mapping[str, Any]:
    try:
        return members_of(body.json())
    except NothingError:
        return {}


def _sns(body: Content) -> Inside:
    members = sns_in(body)
    if members is None:
        if members_of(_object(body)).get("Type") in ("SubscriptionConfirmation", "UnsubscribeConfirmation"):
            raise UnsureError
        raise NothingError
    attributes: dict[str, str | bytes] = {}
    for name, attribute in members_of(members.get("MessageAttributes")).items():
        value, kind = members_of(attribute).get("Value"), members_of(attribute).get("Type")
        if isinstance(value, str):
            attributes[name] = _bytes_of(value) if str(kind).partition(".")[0] == "Binary" else value
    return Inside("sns", Content(members["Message"]), members, attributes)


def _eventbridge(body: Content) -> Inside:
    members = eventbridge_in(body)
    if members is None:
        raise NothingError
    return Inside("eventbridge", Content(None, members["detail"]), members)


def _cloudevents(body: Content) -> Inside:
    members = cloudevent_in(body)
    if members is None:
        raise NothingError
    data, packed = members.get("data"), members.get("data_base64")
    if packed is not None and data is not None:
        raise NothingError
    if packed is not None:
        return Inside("cloudevents", _text_of(_bytes_in(packed)), members)
    if data is None:
        return Inside("cloudevents", Content("" if "data" not in members else None, None), members)
    return Inside("cloudevents", Content(data) if isinstance(data, str) else Content(None, data), members)


def _s3(body: Content) -> Inside:
    s3_records_in(body)
    return Inside("s3", body)


def _base64(body: Content) -> Inside:
    if body.text is None:
        raise UnsureError
    return Inside("base64", _text_of(_bytes_in(body.text)))


def _gzip(body: Content) -> Inside:
    if body.text is None:
        raise UnsureError
    packed, content = _bytes_in(body.text), b""
    while True:
        stream = zlib.decompressobj(31 if packed.startswith(b"\x1f\x8b") else 15)
        try:
            content += stream.decompress(packed)
        except zlib.error:
            raise NothingError from None
        if not stream.eof or len(content) > LARGEST:
            raise NothingError
        packed = stream.unused_data
        if not packed:
            return Inside("gzip", _text_of(content))
        if not packed.startswith(b"\x1f\x8b"):
            raise NothingError


def _bytes_in(text: Any) -> bytes:
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", "").encode(), validate=True)
    except (AttributeError, ValueError):
        raise NothingError from None


def _text_of(content: bytes) -> Content:
    try:
        return Content(content.decode())
    except ValueError:
        raise NothingError from None


def _own(body: Content) -> Inside:
    """Open what a user's own function opens: see `setups.without_prefix`."""
    if body.text is None or not body.text.startswith("v1:"):
        raise NothingError
    return Inside("without_prefix", Content(body.text.removeprefix("v1:")))


OPENERS: Mapping[str, Callable[[Content], Inside]] = {
    "sns": _sns,
    "eventbridge": _eventbridge,
    "cloudevents": _cloudevents,
    "s3": _s3,
    "base64": _base64,
    "gzip": _gzip,
    "own": _own,
}
