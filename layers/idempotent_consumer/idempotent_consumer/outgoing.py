"""A message on its way out, in the form in which SQS takes it; what SQS would refuse is refused here, with advice."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from idempotent_consumer.errors import UnsendableMessageError
from idempotent_consumer.record import DEAD_LETTER_ATTRIBUTE
from idempotent_consumer.settings import current_trace_header

ID_ATTRIBUTE = "message-id"
"""The message attribute that carries the id; a consumer finds it with `attribute("message-id")`."""

LARGEST_MESSAGE_BYTES = 1_048_576
MOST_ATTRIBUTES = 10
_LONGEST_NAME = 256
_LONGEST_DELAY = timedelta(minutes=15)
_MOST_DIGITS = 38

_REFUSED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAME = re.compile(r"(?!\.)(?!.*\.\.)[A-Za-z0-9_.-]+(?<!\.)")
_RESERVED_NAME = re.compile(r"(aws|amazon)\.", re.IGNORECASE)
_TOKEN = re.compile(r"[!-~]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """
    Hold a message to be sent.

    Attributes:
        message_id: its identity, as text that is not blank: the same for the same message, however often it is sent.
        body: text is sent as it is, anything else as JSON.
        attributes: message attributes by name: text, whole numbers of up to 38 digits, or bytes; nine at most, since
            the id is the tenth.
        group_id: message group. A FIFO queue needs one and keeps order in it; on a standard queue it is the tenant
            among whom a fair queue shares.
        deduplication_id: what a FIFO queue folds equal messages by for five minutes; by default the hex SHA-256 of the
            message id.
        delay: how long a standard queue hides the message at first: up to 15 minutes, in whole seconds (a part of one
            counts as one).
        trace_header: X-Ray header that goes along; by default that of the invocation in which the message is made.
    """

    message_id: str
    body: Any = field(hash=False, repr=False)  # a message that is printed must not carry its content into a log
    attributes: Mapping[str, str | int | bytes] = field(default_factory=dict, hash=False, repr=False)
    group_id: str | None = None
    deduplication_id: str | None = None
    delay: timedelta | None = None
    trace_header: str | None = field(default_factory=current_trace_header, repr=False)


def entry_of(message: OutgoingMessage, *, is_fifo: bool) -> dict[str, Any]:
    """
    Write a message as an entry of SendMessageBatch, all but the entry's `Id`.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatchRequestEntry.html

    Args:
        message: the message.
        is_fifo: whether its queue keeps order.

    Raises:
        UnsendableMessageError: SQS would refuse the message, or consumers could not know it by its id.
    """
    entry = {
        "MessageBody": written_body(message.body),
        "MessageAttributes": written_attributes(message.message_id, message.attributes),
        **_queue_fields(message, is_fifo=is_fifo),
    }
    if message.trace_header:
        header = checked_text(message.trace_header, "the trace header")
        entry |= trace_fields(header)
    size = size_of(entry)
    if size > LARGEST_MESSAGE_BYTES:
        raise UnsendableMessageError(
            f"the message is {size:,} bytes long with its attributes, and SQS takes {LARGEST_MESSAGE_BYTES:,}: put the "
            "content into S3 and send where it is"
        )
    return entry


def trace_fields(header: str) -> dict[str, Any]:
    """Return the fields of an entry that join its message to the trace of an X-Ray header."""
    return {"MessageSystemAttributes": {"AWSTraceHeader": {"DataType": "String", "StringValue": header}}}


def size_of(entry: Mapping[str, Any]) -> int:
    """
    Return the bytes of an entry that SQS counts: body, and names, types and values of attributes; no system attribute.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_MessageAttributeValue.html
    """
    size = len(entry.get("MessageBody", "").encode(errors="surrogatepass"))
    for name, attribute in entry.get("MessageAttributes", {}).items():
        value = (
            attribute["BinaryValue"]
            if "BinaryValue" in attribute
            else attribute["StringValue"].encode(errors="surrogatepass")
        )
        size += len(name.encode()) + len(attribute["DataType"].encode()) + len(value)
    return size


# -- body and attributes ----------------------------------------------------------------------------------------------


def written_body(body: Any) -> str:
    """
    Return a body as it is sent: text as it is, anything else as JSON.

    Raises:
        UnsendableMessageError: it is neither, is empty, or holds what SQS refuses.
    """
    if isinstance(body, (bytes, bytearray)):
        raise UnsendableMessageError("the body is bytes, and SQS takes text: encode it, such as in base64")
    if not isinstance(body, str):
        try:
            return json.dumps(body, allow_nan=False)  # ASCII, so that whatever a text in it holds gets through
        except (TypeError, ValueError, RecursionError) as error:
            raise UnsendableMessageError(f"the body cannot be written as JSON: {error}") from error
    if not body:
        raise UnsendableMessageError("the body is empty: SQS takes one character at least")
    return checked_text(body, "the body")


def written_attributes(message_id: object, attributes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """
    Return a message's attributes as they are sent, to a queue or a topic; its id is one of them.

    Raises:
        UnsendableMessageError: naming the attribute that SQS would refuse.
    """
    return {ID_ATTRIBUTE: _id(message_id), **_attributes(attributes)}


def _id(message_id: object) -> dict[str, Any]:
    if not isinstance(message_id, str):
        raise UnsendableMessageError(f"the message id is {type(message_id).__name__}: give text")
    if not message_id.strip():
        raise UnsendableMessageError("the message id is blank: give what makes this message the same when sent again")
    return {"DataType": "String", "StringValue": checked_text(message_id, "the message id")}


def _attributes(attributes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    if len(attributes) >= MOST_ATTRIBUTES:
        raise UnsendableMessageError(
            f"there are {len(attributes)} attributes, and SQS takes {MOST_ATTRIBUTES}, of which {ID_ATTRIBUTE} is one: "
            "put some of them into the body"
        )
    return {_name(name): _attribute(name, value) for name, value in attributes.items()}


def _name(name: object) -> str:
    if name == ID_ATTRIBUTE:
        raise UnsendableMessageError(f"{ID_ATTRIBUTE} is set by message_id: leave it out of the attributes")
    if name == DEAD_LETTER_ATTRIBUTE:  # with it a new message would be taken for the redriven one that it came from
        raise UnsendableMessageError(f"{name} is what a redriven message is known by: leave it out of the attributes")
    if (
        isinstance(name, str)
        and len(name) <= _LONGEST_NAME
        and _NAME.fullmatch(name)
        and not _RESERVED_NAME.match(name)
    ):
        return name
    raise UnsendableMessageError(
        f"the attribute name is {name!r:.80}: give up to {_LONGEST_NAME} of A-Z a-z 0-9 _ - and single dots inside, "
        "not beginning with AWS. or Amazon."
    )


def _attribute(name: str, value: object) -> dict[str, Any]:
    if isinstance(value, (str, bytes)) and not value:
        raise UnsendableMessageError(f"the attribute {name} is empty, which SQS refuses: leave it out")
    if isinstance(value, str):
        return {"DataType": "String", "StringValue": checked_text(value, f"the attribute {name}")}
    if isinstance(value, bytes):
        return {"DataType": "Binary", "BinaryValue": value}
    if isinstance(value, bool) or not isinstance(value, int):
        found = type(value).__name__
        raise UnsendableMessageError(f"the attribute {name} is {found}: give text, a whole number or bytes")
    if abs(value) >= 10**_MOST_DIGITS:
        raise UnsendableMessageError(f"the attribute {name} has more than {_MOST_DIGITS} digits: give it as text")
    return {"DataType": "Number", "StringValue": int.__repr__(value)}


def is_sendable(text: str) -> bool:
    """Tell whether SQS takes every character of a text."""
    return _REFUSED.search(text) is None


def checked_text(text: str, what: str) -> str:
    """
    Return a text that SQS takes as it is.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html

    Raises:
        UnsendableMessageError: naming the character that it refuses.
    """
    if refused := _REFUSED.search(text):
        raise UnsendableMessageError(
            f"{what} holds U+{ord(refused[0]):04X} at position {refused.start()}, a character that SQS refuses: send "
            "JSON in the body, which escapes it, or bytes in an attribute"
        )
    return text


# -- what the queue's kind decides ------------------------------------------------------------------------------------


def order_fields(
    message_id: str, group_id: str | None, deduplication_id: str | None, *, is_fifo: bool, target: str
) -> dict[str, Any]:
    """
    Return the fields that keep a message in its group's order and fold what is sent twice.

    Args:
        message_id: of the message.
        group_id: what was given for it.
        deduplication_id: what was given for it; the hex SHA-256 of the message id if None.
        is_fifo: whether the target keeps order.
        target: `queue` or `topic`.

    Raises:
        UnsendableMessageError: the target would refuse the message.
    """
    if is_fifo and group_id is None:
        raise UnsendableMessageError(f"a FIFO {target} needs a group_id: give the id of what has to stay in order")
    if not is_fifo and deduplication_id is not None:
        raise UnsendableMessageError(
            f"only a FIFO {target} takes a deduplication_id: leave it out, the consumer knows the message by its id"
        )
    fields = {} if group_id is None else {"MessageGroupId": _token(group_id, "group_id")}
    if is_fifo:
        if deduplication_id is None:
            deduplication_id = hashlib.sha256(message_id.encode()).hexdigest()
        fields["MessageDeduplicationId"] = _token(deduplication_id, "deduplication_id")
    return fields


def _queue_fields(message: OutgoingMessage, *, is_fifo: bool) -> dict[str, Any]:
    fields = order_fields(
        message.message_id, message.group_id, message.deduplication_id, is_fifo=is_fifo, target="queue"
    )
    if message.delay is not None:
        if is_fifo:
            raise UnsendableMessageError("a FIFO queue takes no delay by message: leave it out, or set it on the queue")
        fields["DelaySeconds"] = _delay_seconds(message.delay)
    return fields


def _token(value: object, name: str) -> str:
    if isinstance(value, str) and _TOKEN.fullmatch(value):
        return value
    raise UnsendableMessageError(
        f"{name} is {value!r:.160}: give 1 to 128 of the ASCII letters, digits and punctuation, such as the hex "
        "SHA-256 of what it stands for"
    )


def _delay_seconds(delay: object) -> int:
    if isinstance(delay, timedelta) and timedelta(0) <= delay <= _LONGEST_DELAY:
        return -(-delay // timedelta(seconds=1))
    raise UnsendableMessageError(f"the delay is {delay!r}: give a timedelta from 0 to 15 minutes")
