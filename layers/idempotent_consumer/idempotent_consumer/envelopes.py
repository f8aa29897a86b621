"""
Openers of the envelopes that messages travel in, for `IdempotentConsumer(…, envelope=…)`.

An opener takes the text that arrived and returns what is inside. Any function from text to text is one, too. What is
not the envelope that it opens is refused; none ever guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from idempotent_consumer.decoding import bytes_of, check_size, inflated, text_of
from idempotent_consumer.errors import ConfigurationError, UnreadableMessageError
from idempotent_consumer.members import Members
from idempotent_consumer.message import Envelope, Opened
from idempotent_consumer.recognition import (
    CLOUDEVENTS,
    EVENTBRIDGE,
    GZIP_IN_BASE64,
    SNS,
    Shape,
    hint_for,
    hinted,
    is_confirmation,
)
from idempotent_consumer.s3_events import s3_objects
from idempotent_consumer.settings import LARGEST_DECODED_BYTES

__all__ = ["Opener", "base64_text", "cloudevents", "eventbridge", "gzip_base64", "hint_for", "s3", "sns"]

Opener = Callable[[str], str | Opened]
"""Opens an envelope: gets its text and returns what is inside; the very same text where there is none to open."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


# -- Envelopes of services ------------------------------------------------------------------------


def sns(*, optional: bool = False) -> Opener:
    """
    Open what SNS delivers without raw message delivery: the body is what was published.

    The message attributes of what was published become the message's.
    Source: https://docs.aws.amazon.com/sns/latest/dg/http-notification-json.html

    Args:
        optional: take a body without the envelope as it is, while a subscription changes to raw message delivery.
    """

    def open_sns(members: Members) -> Opened:
        envelope = SNS.envelope(members)
        return Opened(members.text("Message") or "", envelope, _attributes(envelope.members.get("MessageAttributes")))

    return _opener(SNS, open_sns, optional=optional, advice="with raw message delivery SNS sends none")


def eventbridge(*, optional: bool = False) -> Opener:
    """
    Open an EventBridge event: the body is its `detail`, character for character.

    Source: https://docs.aws.amazon.com/eventbridge/latest/ref/overiew-event-structure.html

    Args:
        optional: take a body without the envelope as it is, while a rule changes to sending the `detail` alone.
    """

    def open_eventbridge(members: Members) -> Opened:
        return Opened(members.json("detail"), EVENTBRIDGE.envelope(members))

    return _opener(
        EVENTBRIDGE, open_eventbridge, optional=optional, advice="a rule with an input path or transformer sends none"
    )


def cloudevents(*, optional: bool = False) -> Opener:
    """
    Open a CloudEvent in its JSON format, version 1.x: the body is its `data`, character for character.

    Where `data` is a JSON string, the body is what the string holds, since many producers put their JSON or XML there;
    where there is `data_base64`, the body is the decoded text; where there is neither, it is empty.
    Source: https://github.com/cloudevents/spec/blob/main/cloudevents/formats/json-format.md

    Args:
        optional: take a body without the envelope as it is, while a producer changes to the other.
    """

    def open_cloudevents(members: Members) -> Opened:
        return Opened(_data_of(members), CLOUDEVENTS.envelope(members))

    return _opener(
        CLOUDEVENTS, open_cloudevents, optional=optional, advice="optional=True takes a body without it as it is"
    )


def s3() -> Opener:
    """
    Take S3 notifications, and acknowledge the event by which S3 tests a new one; the body stays as it is.

    `parse=s3_objects` reads it. S3 through SNS takes both: `envelope=(envelopes.sns(), envelopes.s3())`.
    """

    def open_s3(body: str) -> Opened:
        try:
            s3_objects(body)
        except UnreadableMessageError as error:
            raise UnreadableMessageError(hinted(str(error), body)) from error
        return Opened(body, Envelope("s3", _NOTHING))

    return open_s3


def _opener(shape: Shape, open_members: Callable[[Members], Opened], *, optional: bool, advice: str) -> Opener:
    def open_envelope(body: str) -> str | Opened:
        members = Members.of(body)
        problem = shape.problem(members)
        if members is not None and problem is None:
            return open_members(members)
        if optional and not (shape is SNS and is_confirmation(members)):
            return body
        raise UnreadableMessageError(hinted(f"the body is not {shape.name}: {problem}", body, advice))

    return open_envelope


def _attributes(found: object) -> Mapping[str, str | bytes]:
    """Return the message attributes of what was published; what is null or odd is absent."""
    attributes: dict[str, str | bytes] = {}
    for name, attribute in found.items() if isinstance(found, dict) else ():
        value = attribute.get("Value") if isinstance(attribute, dict) else None
        if isinstance(value, str):
            attributes[name] = _binary(value) if str(attribute.get("Type")).startswith("Binary") else value
    return MappingProxyType(attributes)


def _binary(value: str) -> str | bytes:
    try:
        return bytes_of(value)
    except UnreadableMessageError:
        return value  # not what SNS delivers, but better shown to the handler than lost


def _data_of(members: Members) -> str:
    if members.json("data_base64") == "null":  # as good as missing, for CloudEvents
        text = members.text("data")
        return text if text is not None else members.json("data") if "data" in members else ""
    encoded = members.text("data_base64")
    if encoded is None or members.json("data") != "null":
        raise UnreadableMessageError("the CloudEvent has data_base64 that is no text, or data besides")
    try:
        return text_of(bytes_of(encoded))
    except UnreadableMessageError as error:
        raise UnreadableMessageError(f"the CloudEvent's data_base64 cannot be read: {error}") from error


# -- Encodings ------------------------------------------------------------------------------------


def base64_text(*, largest: int = LARGEST_DECODED_BYTES) -> Opener:
    """
    Decode UTF-8 text in base64: the standard alphabet with padding; line breaks do no harm.

    Args:
        largest: bytes that the decoded text may have.
    """
    return _decoder("base64", bytes_of, largest)


def gzip_base64(*, largest: int = LARGEST_DECODED_BYTES) -> Opener:
    """
    Decode UTF-8 text that was compressed with gzip or zlib, and put into base64.

    Args:
        largest: bytes that the decoded text may have. A body that holds more is refused before it takes more memory.
    """
    return _decoder("gzip", lambda body: inflated(bytes_of(body), largest), largest)


def _decoder(kind: str, decode: Callable[[str], bytes | bytearray], largest: int) -> Opener:
    if not isinstance(largest, int) or isinstance(largest, bool) or largest < 1:
        raise ConfigurationError(f"largest is {largest!r}: give a whole number of bytes from 1")

    def open_encoded(body: str) -> Opened:
        try:
            decoded = decode(body)
            check_size(len(decoded), largest)
            return Opened(text_of(decoded), Envelope(kind, _NOTHING))
        except UnreadableMessageError as error:
            problem = f"the body is not {kind}: {error}"
            looks_right = kind == "gzip" and body.startswith(GZIP_IN_BASE64)
            raise UnreadableMessageError(problem if looks_right else hinted(problem, body)) from error

    return open_encoded


OPENER_FACTORIES: tuple[object, ...] = (sns, eventbridge, cloudevents, s3, base64_text, gzip_base64)
"""What makes an opener, and is none itself."""
