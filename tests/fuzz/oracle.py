"""
Who a message is, by plain code that shares nothing with the layer: what the tests compare the layer's keys with.

An identity equals another exactly if both are one message to the same consumer. An identity that is a text is also the
message id, letter by letter.
"""

import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from tests.fuzz.equal_content import Hash, content
from tests.fuzz.reading import (
    Content,
    EmptyError,
    MissingError,
    NothingError,
    UnsureError,
    at,
    is_text,
    members_of,
    present,
)
from tests.fuzz.unwrapping import Sent, cloudevent_in, eventbridge_in, s3_records_in, sent, sns_in

NOTHING = ("nothing",)
"""No identity: the record has to be REJECTED."""
EMPTY = ("empty",)
"""An envelope that carries no message: PROCESSED without the handler, and nothing stored."""
UNSURE = ("unsure",)
"""The rules leave it open: only the promises that do not depend on it count."""


def identity_of(record: Any, envelopes: tuple[str, ...], strategy: str) -> Hashable:
    """Return who the message in a record is, or NOTHING, EMPTY or UNSURE."""
    try:
        return scalar_or_tuple(FINDERS[strategy](sent(record, envelopes)))
    except NothingError:
        return NOTHING
    except EmptyError:
        return EMPTY
    except UnsureError:
        return UNSURE


def scalar_or_tuple(found: Any) -> Hashable:
    """Return what was found as an identity: a text, or the texts that make one together."""
    if isinstance(found, Hash):
        return found
    if isinstance(found, tuple):
        return tuple(map(scalar_or_tuple, found))
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    if is_text(found) and not re.search("[\ud800-\udfff]", found):
        return str(found)
    raise NothingError


def field(path: str) -> Callable[[Sent], Any]:
    """Find a field of the body."""

    def find(message: Sent) -> Any:
        return present(at(message.body.json(), path))

    return find


def together(*finders: Callable[[Sent], Any]) -> Callable[[Sent], tuple[Any, ...]]:
    """Find all parts of an identity, or nothing; some without the others are no identity either."""

    def find(message: Sent) -> tuple[Any, ...]:
        parts, missing = [], 0
        for finder in finders:
            try:
                parts.append(finder(message))
            except MissingError:
                missing += 1
        if missing:
            raise MissingError if missing == len(finders) else NothingError
        return tuple(parts)

    return find


def first(*finders: Callable[[Sent], Any]) -> Callable[[Sent], Any]:
    """Find the identity in the first place that is not empty."""

    def find(message: Sent) -> Any:
        for finder in finders:
            try:
                return finder(message)
            except MissingError:
                continue
        raise MissingError

    return find


def attribute(message: Sent) -> Any:
    """Find the attribute that producers set."""
    return present(message.attributes.get("message-id"))


def sqs_message_id(message: Sent) -> Any:
    """Find SQS's own id."""
    found = message.record.get("messageId")
    return present(found if isinstance(found, str) and found else None)


def deduplication_id(message: Sent) -> Any:
    """Find the deduplication id, within its queue and group."""
    attributes = members_of(message.record.get("attributes"))
    parts = (
        message.record.get("eventSourceARN"),
        attributes.get("MessageGroupId"),
        attributes.get("MessageDeduplicationId"),
    )
    if not isinstance(parts[2], str) or not parts[2]:
        raise MissingError
    if not all(isinstance(part, str) for part in parts):
        raise NothingError
    return parts


def sns_message_id(message: Sent) -> Any:
    """Find the id that SNS gave the message."""
    for kind, members in reversed(message.envelopes):
        if kind == "sns":
            return members["MessageId"]
    members_inside = None if message.envelopes else sns_in(message.body)
    return present(members_inside)["MessageId"]


def event_id(*, replay_is_new: bool) -> Callable[[Sent], Any]:
    """Find the id of an EventBridge event, or source and id of a CloudEvent."""

    def find(message: Sent) -> Any:
        for kind, members in reversed(message.envelopes):
            if kind in ("eventbridge", "cloudevents"):
                return of(members, is_cloudevent=kind == "cloudevents")
        event = message.body.json() if is_json(message.body) else None
        if "specversion" in members_of(event) and "detail-type" in members_of(event):
            raise MissingError  # neither has the other's member
        cloudevent = cloudevent_in(message.body)
        return of(present(cloudevent or eventbridge_in(message.body)), is_cloudevent=cloudevent is not None)

    def of(members: Mapping[str, Any], *, is_cloudevent: bool) -> Any:
        if is_cloudevent:
            return (members["source"], members["id"])
        replay = members.get("replay-name") if replay_is_new else None
        return members["id"] if replay is None else (members["id"], replay)

    return find


def s3_event_id(message: Sent) -> Any:
    """Find event, bucket, key and sequencer of each object."""
    try:
        parts = tuple(map(s3_identity, s3_records_in(message.body)))
    except NothingError:
        raise MissingError from None
    if not any(sequencer for *_, sequencer in parts):
        raise MissingError
    return parts[0] if len(parts) == 1 else parts


def s3_identity(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what tells one event of S3 from another; `s3_records_in` has seen that it is one."""
    s3_object = record["s3"]["object"]
    key = unquote_to_bytes(s3_object["key"].replace("+", " ")).decode()
    event, sequencer = record.get("eventName"), s3_object.get("sequencer")
    told = event if isinstance(event, str) else ""
    return told, record["s3"]["bucket"]["name"], key, sequencer if isinstance(sequencer, str) else None


def is_json(body: Content) -> bool:
    """Tell whether a body is JSON."""
    try:
        body.json()
    except NothingError:
        return False
    return True


def own_function(message: Sent) -> Any:
    """Find what `setups.id_of_own` finds, which knows nothing of missing places."""
    return members_of(message.body.json()).get("id")


def joined(message: Sent) -> Any:
    """Find two fields with a dash between, which `join()` only does to texts."""
    parts = [at(message.body.json(), name) for name in ("customer", "order")]
    if not all(isinstance(part, str) for part in parts):
        raise NothingError
    return "-".join(parts)


FINDERS: Mapping[str, Callable[[Sent], Any]] = {
    "attribute": attribute,
    "field": field("id"),
    "deep field": field("payment.id"),
    "fields": together(field("customer"), field("order")),
    "sqs": sqs_message_id,
    "deduplication": deduplication_id,
    "content": content(),
    "chosen content": content("customer", "order"),
    "sns": sns_message_id,
    "event": event_id(replay_is_new=False),
    "replayed event": event_id(replay_is_new=True),
    "s3": s3_event_id,
    "all of": together(attribute, field("order")),
    "first of": first(attribute, field("id"), sqs_message_id),
    "first envelope": first(event_id(replay_is_new=False), sns_message_id, s3_event_id, sqs_message_id),
    "deduplication and field": together(deduplication_id, field("order")),
    "own function": own_function,
    "joined": joined,
}
