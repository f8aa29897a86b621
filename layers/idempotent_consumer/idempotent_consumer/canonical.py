"""Content in one written form: equal content is written alike, however its producer's software wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import InvalidOperation
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from idempotent_consumer.digits import exact
from idempotent_consumer.errors import ConfigurationError

_DEEPEST = 200  # levels of JSON; the interpreter's own limit lies far beyond
_BRACKETS_AND_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_LONGEST_WRITTEN = 40  # digits of a number that is written out; 1e3999 would take 4,000 for its six
_TOO_LONG = 10**_LONGEST_WRITTEN


class NotJSONError(ValueError):
    """Say that a body is to be compared as text: it is no JSON, or nested deeper than JSON is compared."""


def select(body: str, paths: Sequence[Any]) -> list[Any]:
    """
    Return what compiled JMESPaths find in a JSON body, None for what they do not; numbers keep every digit.

    Raises:
        NotJSONError: the body is no JSON, or too deep.
        JMESPathError: it does not fit a path, such as `length()` of a number.
    """
    if _is_deep(body):
        raise NotJSONError(f"nested deeper than {_DEEPEST} levels")
    try:
        content = json.loads(body, parse_float=_number)
    except ValueError as error:
        raise NotJSONError(str(error)) from error
    return [path.search(content) for path in paths]


def write_json(value: Any) -> str:
    """Write content canonically: key order, blanks and the way a number is written make no difference, digits do."""
    return "json" + json.dumps(_writable(value), sort_keys=True, separators=(",", ":"))


def write_text(body: str) -> str:
    """Write a body that counts as text; `ascii()` also writes lone surrogates, which have no UTF-8."""
    return "text" + ascii(body)


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

    def __new__(cls, text: str, digits: str) -> _Number:
        number = super().__new__(cls, text)
        number.digits = digits
        return number


_Number.__name__ = "float"  # JMESPath's functions go by the name of a number's type, not by its class


def _number(text: str) -> int | _Number:
    """Read 42.0 and 4.2e1 as 42; what is longer or has a fraction keeps its digits, and is never written out."""
    try:
        value = exact(text)
    except InvalidOperation:  # an exponent of twenty digits, which no Decimal takes: it is compared as it is written
        return _Number(text, text.lower())
    if value.adjusted() < _LONGEST_WRITTEN and value == value.to_integral_value():
        return int(value)
    return _Number(text, str(value))


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
