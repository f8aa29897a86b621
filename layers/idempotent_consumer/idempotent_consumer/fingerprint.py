"""What the content of two messages is compared by, should the id of a processed message return."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from idempotent_consumer.digits import exact
from idempotent_consumer.errors import ConfigurationError
from idempotent_consumer.message import Message

_DEEPEST = 200  # levels of JSON; the interpreter's own limit lies far beyond
_BRACKETS_AND_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_LONGEST_WRITTEN = 40  # digits of a number that is written out; 1e3999 would take 4,000 for its six
_TOO_LONG = 10**_LONGEST_WRITTEN


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
        self._paths = [compiled(path) for path in paths]
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
    value = exact(text)
    if value.adjusted() < _LONGEST_WRITTEN and value == value.to_integral_value():
        return int(value)
    number = _Number(text)
    number.digits = str(value)
    return number


def _writable(value: Any) -> Any:
    """Write equal numbers alike, however they were sent, and nothing else so."""
    if isinstance(value, _Number):
        return {"\0number": value.digits}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _TOO_LONG:
        return {"\0number": str(exact(str(value)))}
    if isinstance(value, list):
        return [_writable(item) for item in value]
    if isinstance(value, dict):
        return {f"\0{name}" if name.startswith("\0") else name: _writable(item) for name, item in value.items()}
    return value


def compiled(path: str) -> Any:
    """
    Compile a JMESPath.

    Raises:
        ConfigurationError: it is none.
    """
    try:
        return jmespath.compile(path)
    except (JMESPathError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{path!r} is not a JMESPath: {error}") from error
