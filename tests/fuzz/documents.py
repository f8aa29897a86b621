"""JSON documents, and other ways to write the same."""

import json
from typing import Any

from tests.fuzz.choices import Choices
from tests.fuzz.values import LETTERS
from tests.fuzz.wrapping import Raw, Spelling, written

NUMBERS = (
    "0",
    "1",
    "42",
    "-7",
    "0.1",
    "1.5",
    "42.0",
    "4.2e1",
    "-0.0",
    "1e400",
    "1e-400",
    "1e21",
    "12345678901234567890",
)
DIGITS = ("0.1000000000000000000001", "123456789012345678901234567890.5", "1E+5", "100000", "9007199254740993")
WORDS = ("", " ", "a", "b", "\u00e4", "a\u0308", "\ud83d", "\0number", "1.5", "null")


def document(choose: Choices, depth: int = 0) -> Any:
    """Make a JSON value; its numbers are written in any way that JSON allows."""
    kind = choose.below(8)
    if kind < 3 and depth < 3:
        return {_word(choose): document(choose, depth + 1) for _ in range(choose.below(4))}
    if kind == 3 and depth < 3:
        return [document(choose, depth + 1) for _ in range(choose.below(4))]
    if kind == 4:
        return choose.of([True, False, None])
    if kind == 5:
        return _word(choose)
    return Raw(choose.of_one(NUMBERS, DIGITS))


def _word(choose: Choices) -> str:
    return choose.of(WORDS) if choose.below(3) else "".join(choose.of(LETTERS) for _ in range(choose.below(4)))


def with_other_numbers(value: Any) -> Any:
    """Return the same document with every number written in another way."""
    if isinstance(value, dict):
        return {name: with_other_numbers(member) for name, member in value.items()}
    if isinstance(value, list):
        return [with_other_numbers(item) for item in value]
    if not isinstance(value, Raw):
        return value
    head, exponent = value.text.lower().partition("e")[::2]
    if exponent:
        return Raw(f"{head}E{int(exponent):+}")
    return Raw(f"{head}0e0" if "." in head else f"{head}.00")


def respelled(text: str, spelling: Spelling) -> str:
    """Write the JSON of a text in another way, every digit of its numbers as it was."""
    return written(json.loads(text, parse_int=Raw, parse_float=Raw, parse_constant=Raw), spelling)
