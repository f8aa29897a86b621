"""
How a message is known again: the strategies that find its id, and the key made of it.

An id that is not certainly the producer's never becomes a key: a wrong key would drop work without a trace.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from jmespath.exceptions import JMESPathError

from idempotent_consumer.errors import ConfigurationError, MissingMessageIdError, UnusableMessageIdError
from idempotent_consumer.fingerprint import compiled
from idempotent_consumer.message import Message

MessageIdStrategy = Callable[[Message], Any]
"""Finds the id of a message that has none yet: text, or a whole number, which stands for its digits."""

LONGEST_KEY_BYTES = 2_048  # DynamoDB's limit for a partition key
_HASHED = "sha256:"
_CONSUMER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")


# -- Strategies -----------------------------------------------------------------------------------


def attribute(name: str) -> MessageIdStrategy:
    """
    Take the id from a message attribute that the producer sets.

    Args:
        name: the attribute's exact name, such as `message-id`.
    """
    if not name:
        raise ConfigurationError("attribute() needs the name of a message attribute")

    def find(message: Message) -> Any:
        if name not in message.attributes:
            raise MissingMessageIdError(f"there is no message attribute {name!r}")
        return message.attributes[name]

    return find


def body_field(path: str) -> MessageIdStrategy:
    """
    Take the id from a field of the JSON body.

    Args:
        path: where the field is, as a JMESPath: `order_id`, `detail.payment.id`. See https://jmespath.org.
    """
    search = compiled(path).search

    def find(message: Message) -> Any:
        try:
            value = search(message.json())
        except JMESPathError as error:
            raise UnusableMessageIdError(f"the body does not fit {path!r}: {error}") from error
        if value is None:
            raise MissingMessageIdError(f"the body has nothing at {path!r}")
        return value

    return find


def sqs_message_id() -> MessageIdStrategy:
    """
    Take SQS's own `messageId`.

    It knows again what SQS itself delivers twice, and nothing else: a producer that sends again gets a new one, and so
    does a redrive from the dead-letter queue.
    """

    def find(message: Message) -> Any:
        if not message.sqs_message_id:
            raise MissingMessageIdError("the record has no messageId")
        return message.sqs_message_id

    return find


def first_of(*strategies: MessageIdStrategy) -> MessageIdStrategy:
    """
    Take the id from the first strategy whose place is not empty.

    A place that holds something unusable refuses the message: the next place might hold another message's id.

    Args:
        strategies: in order of trust.
    """
    if not strategies:
        raise ConfigurationError("first_of() needs at least one strategy")

    def find(message: Message) -> Any:
        missing: list[str] = []
        for strategy in strategies:
            try:
                value = strategy(message)
            except MissingMessageIdError as error:
                missing.append(str(error))
                continue
            if value is not None:
                return value
        raise MissingMessageIdError("; ".join(missing) or "no strategy found an id")

    return find


STRATEGY_FACTORIES: tuple[object, ...] = (attribute, body_field, sqs_message_id, first_of)
"""What makes a strategy, and is none itself."""


# -- Ids and keys ---------------------------------------------------------------------------------


def message_id_of(message: Message, strategy: MessageIdStrategy) -> str:
    """
    Find a message's id and make sure that it can be one.

    Args:
        message: a message without id.
        strategy: where to look.

    Returns:
        The id: text as it was sent, or the digits of a whole number.

    Raises:
        UnusableMessageIdError: nothing was found, or a blank text, a boolean, a float, a list, an object …
    """
    value = strategy(message)
    if value is None:
        raise MissingMessageIdError("the id strategy found nothing")
    if isinstance(value, int) and not isinstance(value, bool):
        return int.__repr__(value)  # not what a subclass, such as an enumeration, makes of it
    if not isinstance(value, str):
        raise UnusableMessageIdError(f"the id is {_named(value)}: only text and whole numbers can be ids")
    if not value.strip():
        raise UnusableMessageIdError("the id is blank")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UnusableMessageIdError(f"the id is no valid text: {error.reason}") from error
    return str.__str__(value)


def key_of(consumer: str, message_id: str) -> str:
    """
    Scope a message id by its consumer: `consumer#message id`.

    A key that DynamoDB would refuse for its length carries the id's SHA-256 instead, as `consumer#sha256:<hex>`; so
    does one whose id looks like that already, so that no id can pose as another's hash.
    """
    key = f"{consumer}#{message_id}"
    if len(key.encode()) <= LONGEST_KEY_BYTES and not message_id.startswith(_HASHED):
        return key
    return f"{consumer}#{_HASHED}{hashlib.sha256(message_id.encode()).hexdigest()}"


def consumer_name_problem(name: object) -> str | None:
    """Say what is wrong with a consumer's name; None if nothing is. It may not hold `#`, which ends it in every key."""
    if isinstance(name, str) and _CONSUMER_NAME.fullmatch(name):
        return None
    return (
        f"the consumer name is {name!r}: give it a stable name of up to 128 letters, digits and . _ : / -, "
        "beginning with a letter or digit"
    )


def _named(value: object) -> str:
    return f"{value!r:.60} ({type(value).__name__})"
