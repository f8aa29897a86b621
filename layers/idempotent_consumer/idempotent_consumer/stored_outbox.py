"""
The outbox as it is stored: one JSON string, and the way from there and back.

::

    {"trace": "Root=1-…", "messages": [{"queue": "https://…", "body": "…", "attributes": {"kind": "new"}}, …]}

A message is one object, and its first member says what it is by naming its target: `queue`, `topic` or `bus`. Ids are
not stored, because they follow from the key and the place. docs/decisions/0020 has the form; what is added to it must
be readable by the relay before a consumer writes it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from idempotent_consumer.errors import UnreadableOutboxError
from idempotent_consumer.outbound import Attributes, Outgoing, ToBus, ToQueue, ToTopic
from idempotent_consumer.outgoing import is_sendable

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class StoredOutbox:
    """
    Hold a stored outbox as far as it was read.

    Attributes:
        messages: the messages as they are stored, in the order of the calls; `read_message` reads each by itself.
        trace_header: X-Ray header of the invocation that made them.
    """

    messages: Sequence[Mapping[str, Any]]
    trace_header: str | None = None

    @classmethod
    def of(cls, text: str) -> StoredOutbox:
        """
        Read a stored outbox.

        Raises:
            UnreadableOutboxError: it is none.
        """
        try:
            outbox = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UnreadableOutboxError(f"the outbox is no JSON: {error}") from error
        messages = outbox.get("messages") if isinstance(outbox, dict) else None
        if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
            raise UnreadableOutboxError("the outbox has no list of messages")
        trace_header = outbox.get("trace")
        return cls(messages, trace_header if isinstance(trace_header, str) else None)


def outgoing_id(key: str, number: int) -> str:
    """
    Return the message id of an outgoing message: the same however often it is sent.

    Args:
        key: of the processed message that holds it. Where it has characters that SQS refuses, its hex SHA-256 stands
            for it.
        number: of the message in its outbox, from 1.
    """
    return f"{key if is_sendable(key) else hashlib.sha256(key.encode(errors='surrogatepass')).hexdigest()}/{number}"


# -- writing ----------------------------------------------------------------------------------------------------------


def write_outbox(written: Sequence[str], trace_header: str | None) -> str:
    """Join written messages to an outbox."""
    trace = f'"trace":{_json(trace_header)},' if trace_header else ""
    return f'{{{trace}"messages":[{",".join(written)}]}}'


def write_message(message: Outgoing) -> str:
    """Write one message as it is stored; what is empty is left out."""
    return _json({name: value for name, value in _members(message).items() if value not in (None, {}, [])})


def _members(message: Outgoing) -> Mapping[str, Any]:
    if isinstance(message, ToBus):
        return {
            "bus": message.bus,
            "source": message.source,
            "detail_type": message.detail_type,
            "detail": message.detail,
            "resources": list(message.resources),
        }
    common = {
        "attributes": {name: _stored_value(value) for name, value in message.attributes.items()},
        "group_id": message.group_id,
        "deduplication_id": message.deduplication_id,
    }
    if isinstance(message, ToTopic):
        return {"topic": message.topic_arn, "message": message.message, "subject": message.subject, **common}
    delay_s = None if message.delay is None else -(-message.delay // _SECOND)
    return {"queue": message.queue_url, "body": message.body, "delay_s": delay_s, **common}


def _stored_value(value: str | int | bytes) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))  # as it is: an escape may be six times as long


# -- reading ----------------------------------------------------------------------------------------------------------


def read_message(stored: Mapping[str, Any]) -> Outgoing:
    """
    Read one stored message; whether its target would take it is said when its entry is made.

    Raises:
        UnreadableOutboxError: it is of no kind that is known here.
    """
    try:
        if "queue" in stored:
            return _to_queue(**stored)
        if "topic" in stored:
            return _to_topic(**stored)
        return ToBus(**stored)
    except (TypeError, ValueError, OverflowError) as error:
        raise UnreadableOutboxError(f"the stored message cannot be read: {error}") from error


def _to_queue(
    queue: str, body: str, delay_s: int | None = None, attributes: Mapping[str, Any] | None = None, **order: Any
) -> ToQueue:
    delay = None if delay_s is None else timedelta(seconds=delay_s)
    return ToQueue(queue_url=queue, body=body, delay=delay, attributes=_read_attributes(attributes), **order)


def _to_topic(topic: str, message: str, attributes: Mapping[str, Any] | None = None, **more: Any) -> ToTopic:
    return ToTopic(topic_arn=topic, message=message, attributes=_read_attributes(attributes), **more)


def _read_attributes(stored: Mapping[str, Any] | None) -> Attributes:
    if stored is None:
        return {}
    if not isinstance(stored, Mapping):
        raise TypeError("attributes are an object")
    return {name: _read_value(value) for name, value in stored.items()}


def _read_value(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    try:
        return base64.b64decode(value["base64"], validate=True)
    except (KeyError, TypeError, binascii.Error) as error:
        raise ValueError("an attribute is text, a number or base64") from error
