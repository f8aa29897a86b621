"""When the content of two bodies is the same, by plain code that shares nothing with the layer."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from tests.fuzz.reading import UNREAD, Content, MissingError, NothingError, Number, UnsureError, at, is_text
from tests.fuzz.unwrapping import Sent

LARGEST_EXPONENT = 10**17
"""What is larger, or smaller, is beyond what a decimal of Python holds; how that counts as content is left open."""

POINTERS = ("software.amazon.payloadoffloading.PayloadS3Pointer", "com.amazon.sqs.javamessaging.MessageS3Pointer")


def content(*paths: str) -> Callable[[Sent], Any]:
    """Find the content that counts, in a form that does not depend on how it was written."""

    def find(message: Sent) -> Any:
        value = json_or_text(message.body, is_json=bool(paths))
        if isinstance(value, list) and value and value[0] in POINTERS:
            raise UnsureError if len(value) != 2 or not isinstance(value[1], dict) else NothingError
        chosen = [at(value, path) for path in paths] if paths else [value]
        if any(map(is_hollow, chosen)):
            raise MissingError if all(map(is_hollow, chosen)) else NothingError
        return Hash(("text", str(value)) if isinstance(value, NotJSON) else ("json", *map(canonical, chosen)))

    return find


class NotJSON(str):
    """A body that counts as text."""

    __slots__ = ()


@dataclass(frozen=True)
class Hash:
    """The identity of content; the message id is a hash of it."""

    content: Hashable


def json_or_text(body: Content, *, is_json: bool) -> Any:
    """Return what a body means; as text if it is not JSON, or is nested deeper than anybody's data is."""
    try:
        value = body.json()
    except NothingError:
        value = UNREAD
    if value is not UNREAD and not is_deep(value):
        return value
    if is_json:
        raise NothingError
    if body.text is None:
        raise UnsureError
    return NotJSON(body.text)


def is_deep(value: Any) -> bool:
    """Tell whether a value is nested deeper than 200 levels, without recursion."""
    level, depth = [value], 0
    while level and depth <= 200:
        level = [
            item
            for one in level
            if isinstance(one, (list, dict))
            for item in [None, *(one.values() if isinstance(one, dict) else one)]
        ]
        depth += bool(level)
    return depth > 200


def is_hollow(value: Any) -> bool:
    """Tell whether there is nothing but blanks and nulls in it."""
    if isinstance(value, (list, dict)):
        return all(map(is_hollow, value.values() if isinstance(value, dict) else value))
    return value is None or (isinstance(value, str) and not is_text(value))


def canonical(value: Any) -> Hashable:
    """Return a value in a form that equals another's exactly if both are the same content."""
    if isinstance(value, dict):
        return ("object", *sorted((name, repr(canonical(member))) for name, member in value.items()))
    if isinstance(value, list):
        return ("list", *map(canonical, value))
    if isinstance(value, int) and not isinstance(value, bool):
        return Number.of(str(value))
    if isinstance(value, Number):
        if abs(value.exponent) > LARGEST_EXPONENT:
            raise UnsureError
        return value
    return (type(value).__name__, str(value))
