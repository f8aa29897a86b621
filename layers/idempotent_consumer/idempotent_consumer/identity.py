"""
What can be a message's id, how it is written, and the key made of it; `strategies.py` finds it.

An id that is not certainly the producer's never becomes a key: a wrong key would drop work without a trace. The rules
are explained in docs/identity.md.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from idempotent_consumer.digits import exact
from idempotent_consumer.errors import MissingMessageIdError, UnusableMessageIdError
from idempotent_consumer.message import Message

MessageIdStrategy = Callable[[Message], Any]
"""Finds the id of a message that has none yet: a text, or another value that `message_id_of` knows to write as one."""

LONGEST_KEY_BYTES = 2_048  # DynamoDB's limit for a partition key
_HASHED = "sha256:"
_CONSUMER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")
_MOST_DIGITS = 100  # before the point, or zeros after it: 1E+999999999 is a short Decimal and a long text


@dataclass(frozen=True, slots=True)
class CompositeId:
    """
    Hold an id that takes several values to tell one message from another.

    Attributes:
        parts: the values, in a fixed order; each is written by the rules for a single one, or is composite itself.
    """

    parts: tuple[Any, ...]


def message_id_of(message: Message, strategy: MessageIdStrategy) -> str:
    """
    Find a message's id and make sure that it can be one.

    Args:
        message: a message without id.
        strategy: where to look.

    Returns:
        The id as text. A text is taken as it was sent; a whole number stands for its digits, a `Decimal` for its
        digits without trailing zeros, a UUID and a date for their usual form, a moment for its ISO form in UTC; a
        composite id is the JSON array of its parts' texts, in which no two sets of parts look alike.

    Raises:
        MissingMessageIdError: nothing was found.
        UnusableMessageIdError: a blank text was, a boolean, a float, a list, an object …
    """
    value = strategy(message)
    if value is None:
        raise MissingMessageIdError("the id strategy found nothing")
    written = _written(value)
    return written if isinstance(written, str) else json.dumps(written, ensure_ascii=False, separators=(",", ":"))


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


# -- Writing ids ----------------------------------------------------------------------------------


def _written(value: Any) -> str | list[Any]:
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise _unusable(value)


def _text(value: str) -> str:
    if not value.strip():
        raise UnusableMessageIdError("the id is blank")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UnusableMessageIdError(f"the id is no valid text: {error.reason}") from error
    return str.__str__(value)  # not what a subclass, such as an enumeration, makes of it


def _digits(value: int) -> str:
    try:
        return int.__repr__(value)
    except ValueError as error:  # the interpreter writes 4,300 digits and no more
        raise UnusableMessageIdError(f"the id is a number that is too long: {error}") from error


def _decimal(value: Decimal) -> str:
    if not value.is_finite() or abs(value.adjusted()) > _MOST_DIGITS:
        raise _unusable(value)
    return f"{exact(str(value)):f}" if value else "0"


def _moment(value: datetime) -> str:
    if value.utcoffset() is None:
        raise UnusableMessageIdError(f"the id is {value.isoformat()} of no time zone, which is no certain moment")
    return value.astimezone(UTC).isoformat()


def _refused(value: object) -> str:
    raise _unusable(value)


def _unusable(value: object) -> UnusableMessageIdError:
    kind = type(value).__name__
    if isinstance(value, (list, tuple, dict)):
        return UnusableMessageIdError(f"the id is {kind}: several fields make an id as body_field('a', 'b')")
    # Other values may be secrets, and this goes into logs; a number or a boolean says what went wrong.
    shown = f"{value!r:.60} ({kind})" if isinstance(value, (bool, float, Decimal)) else kind
    return UnusableMessageIdError(
        f"the id is {shown}: only text, whole numbers and what stands for one text can be ids"
    )


_WRITERS: tuple[tuple[type, Callable[[Any], str | list[Any]]], ...] = (
    (CompositeId, lambda composite: [_written(part) for part in composite.parts]),
    (str, _text),
    (bool, _refused),  # an int to Python
    (int, _digits),
    (Decimal, _decimal),
    (UUID, str),
    (datetime, _moment),  # a date to Python
    (date, date.isoformat),
)
