"""What texts mean, by plain code that shares nothing with the layer; and what is said where they mean nothing."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class NothingError(Exception):
    """There is no identity, or what there is cannot be one."""


class MissingError(NothingError):
    """The place where the identity should be is empty."""


class EmptyError(Exception):
    """The envelope carries no message."""


class UnsureError(Exception):
    """The rules leave it open."""


@dataclass(frozen=True)
class Number:
    """A number with a fraction or an exponent, by its digits: `digits` times ten to the power of `exponent`."""

    sign: str
    digits: str
    exponent: int

    @classmethod
    def of(cls, text: str) -> "Number":
        """Read a number as JSON writes it."""
        sign, whole, fraction, power = re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?", text).groups("")  # type: ignore[union-attr]
        all_digits = (whole + fraction).lstrip("0")
        digits = all_digits.rstrip("0")
        if not digits:
            return cls("", "0", 0)
        return cls(sign, digits, int(power or 0) - len(fraction) + len(all_digits) - len(digits))


UNREAD = object()


@dataclass(frozen=True)
class Content:
    """
    What a text holds.

    Attributes:
        text: the text; None where only its meaning is known, as of a part of a JSON document.
        value: what it means as JSON.
    """

    text: str | None
    value: Any = UNREAD

    def json(self) -> Any:
        """Return what the text means as JSON; numbers that are no whole ones by their digits."""
        if self.value is not UNREAD:
            return self.value
        try:
            return json.loads(self.text or "", parse_float=Number.of)
        except (ValueError, RecursionError):
            raise NothingError from None


def members_of(value: Any) -> Mapping[str, Any]:
    """Return the members of an object, none of anything else."""
    return value if isinstance(value, dict) else {}


def is_text(value: Any) -> bool:
    """Tell whether it is a text with more than blanks in it."""
    return isinstance(value, str) and not all(map(str.isspace, value))


def at(value: Any, path: str) -> Any:
    """Return what is at a path of names with dots between them, None if nothing is."""
    for name in path.split("."):
        value = members_of(value).get(name)
    return value


def present(value: Any) -> Any:
    """Return what there is."""
    if value is None:
        raise MissingError
    return value
