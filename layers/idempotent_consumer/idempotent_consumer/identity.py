"""
How a message is known again: the strategies that find its id, the key made of it, and the fingerprint of its content.

An id that is not certainly the producer's never becomes a key: a wrong key would drop work without a trace.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from idempotent_consumer.errors import ConfigurationError, MissingMessageIdError, UnusableMessageIdError
from idempotent_consumer.message import Message

MessageIdStrategy = Callable[[Message], Any]
"""Finds the id of a message that has none yet: text, or a whole number, which stands for its digits."""

LONGEST_KEY_BYTES = 2_048  # DynamoDB's limit for a partition key
_HASHED = "sha256:"
_DEEPEST = 200  # levels of JSON; the interpreter's own limit lies far beyond
_BRACKETS_AND_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_LONGEST_WRITTEN = 40  # digits of a number that is written out; 1e3999 would take 4,000 for its six
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
    search = _compiled(path).search

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


# -- Fingerprints ---------------------------------------------------------------------------------


class FingerprintSpecification:
    """
    Compute what the content of two messages is compared by.

    Key order, blanks and the way a number is written make no difference; every digit does. The fingerprint begins
    with the id of its specification, so that one made by another specification is never compared.

    Args:
        paths: JMESPaths of what counts in a JSON body; `@` is all of it. A body that is not JSON counts as its text.
    """

    __slots__ = ("_paths", "id")

    def __init__(self, paths: Sequence[str]) -> None:
        if not isinstance(paths, (list, tuple)) or not paths:
            raise ConfigurationError(
                "fingerprint takes a sequence of JMESPaths, or None to compare nothing: fingerprint=('amount',)"
            )
        self._paths = [_compiled(path) for path in paths]
        self.id = "1-" + hashlib.sha256(json.dumps(list(paths)).encode()).hexdigest()[:12]

    def of(self, message: Message) -> str:
        """Return `<specification id>:<hex SHA-256>` of the message's content."""
        return f"{self.id}:{hashlib.sha256(self._canonical(message.body).encode()).hexdigest()}"

    def _canonical(self, body: str) -> str:
        if _is_deep(body):
            return _as_text(body)
        try:
            content = json.loads(body, parse_float=_number)
        except ValueError:
            return _as_text(body)
        try:
            chosen = [path.search(content) for path in self._paths]
        except JMESPathError:
            return _as_text(body)  # a path that the body does not fit, such as length() of a number
        return "json" + json.dumps(_writable(chosen), sort_keys=True, separators=(",", ":"))


def same_content(one: str | None, other: str | None) -> bool:
    """Tell whether two fingerprints do not contradict each other; only those of one specification are compared."""
    if one is None or other is None or one.partition(":")[0] != other.partition(":")[0]:
        return True
    return one == other


def _as_text(body: str) -> str:
    return "text" + ascii(body)  # ascii() also writes lone surrogates, which have no UTF-8


def _is_deep(body: str) -> bool:
    """Tell whether JSON is nested deeper than we compare it; interpreters differ in what they read at all."""
    if body.count("[") + body.count("{") <= _DEEPEST:
        return False
    depth = deepest = 0
    for token in _BRACKETS_AND_STRINGS.finditer(body):
        if token[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in "]}":
            depth -= 1
    return deepest > _DEEPEST


class _Number(float):
    """A number that keeps the digits it was sent with; JMESPath takes it for any other."""

    digits: str


_Number.__name__ = "float"  # JMESPath's functions go by the name of a number's type, not by its class


def _number(text: str) -> int | _Number:
    """Read 42.0 and 4.2e1 as 42; what is longer or has a fraction keeps its digits, and is never written out."""
    exact = _exact(text)
    if exact.adjusted() < _LONGEST_WRITTEN and exact == exact.to_integral_value():
        return int(exact)
    number = _Number(text)
    number.digits = str(exact)
    return number


def _exact(text: str) -> Decimal:
    return Decimal(text).normalize(Context(prec=len(text), Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[]))


def _writable(value: Any) -> Any:
    """Write equal numbers alike, however they were sent, and nothing else so."""
    if isinstance(value, _Number):
        return {"\0number": value.digits}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**_LONGEST_WRITTEN:
        return {"\0number": str(_exact(str(value)))}
    if isinstance(value, list):
        return [_writable(item) for item in value]
    if isinstance(value, dict):
        return {f"\0{name}" if name.startswith("\0") else name: _writable(item) for name, item in value.items()}
    return value


def _compiled(path: str) -> Any:
    try:
        return jmespath.compile(path)
    except (JMESPathError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{path!r} is not a JMESPath: {error}") from error


def _named(value: object) -> str:
    return f"{value!r:.60} ({type(value).__name__})"
