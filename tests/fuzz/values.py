"""What producers write, and what they should not: the values that bodies, attributes and envelopes are made of."""

from collections.abc import Sequence
from typing import Any

from tests.fuzz.choices import Choices
from tests.fuzz.wrapping import Raw

MARKER = "the-producers-secret"
"""Stands in every body where no id is, and must not get into a log."""

ABSENT = object()
"""In place of a member's value: there is no such member."""

LONG = "x" * 2_100
TEXTS: Sequence[str] = (
    "a",
    "A",
    "b",
    "c",
    " a",
    "a ",
    "a\n",
    "a|b",
    "a,b",
    "a#b",
    '["a","b"]',
    '["a", "b"]',
    '[["a","b"],"c"]',
    "42",
    "042",
    "42.0",
    "-42",
    "1.10",
    "true",
    "null",
    "None",
    "\u00e4",
    "a\u0308",
    "\u200b",
    "\x00",
    "\N{GRINNING FACE}",
    "\ufffd",
    "sha256:" + "0" * 64,
    LONG,
    LONG + "y",
    LONG[:2_040],
    "\u00e4" * 1_040,
    "ObjectCreated:Put",
    "red flower.jpg",
    "red+flower.jpg",
    "red%20flower.jpg",
    "v1:a",
    "H4sI",
)
"""Texts that can be ids, many of them nearly the same."""

NO_IDS: Sequence[Any] = (
    None,
    "",
    " ",
    "\u00a0\n",
    "\ud83d",
    "a\udc00",
    True,
    False,
    42.0,
    0.5,
    [],
    {},
    ["a"],
    ["a", "b"],
    {"id": "a"},
    {"secret": MARKER},
    [MARKER],
    Raw("NaN"),
    Raw("-Infinity"),
    Raw("1e400"),
    Raw("42.00"),
    Raw("1e99999999999999999999"),
    Raw("0.10000000000000000000000000000000001"),
    Raw("9" * 4_400),
    Raw("[" * 150 + "]" * 150),
    Raw("[" * 300 + "]" * 300),
    Raw('{"a":' * 20_000 + "1" + "}" * 20_000),
    {"\0number": "0.5"},
    {"": None},
    [None, [" "], {"a": ""}],
)
"""What is no id, and must not become one; content it may be."""

NUMBERS: Sequence[Any] = (0, 1, 42, -42, 10**30, 12345678901234567890, Raw("-0"), Raw("9" * 4_000))
"""Whole numbers: ids like their digits."""

FEW: Sequence[Any] = ("a", "b", 42, "42", " a")
"""So few that messages are the same again and again."""

FEW_TEXTS = ("a", "b", "42", " a")
ANY: Sequence[Any] = (*TEXTS, *NUMBERS, *NO_IDS)
LETTERS = (
    "a",
    "0",
    '"',
    "\\",
    " ",
    "#",
    "|",
    "\n",
    "\x00",
    "\u00e4",
    "\u0308",
    "\N{GRINNING FACE}",
    "\ud83d",
    "]",
    ",",
)


def text(choose: Choices) -> str:
    """Make a text that can be an id, most of the time."""
    if choose.one_in(4):
        return "".join(choose.of(LETTERS) for _ in range(choose.below(4)))
    return str(choose.of_one(FEW_TEXTS, TEXTS))


def value(choose: Choices) -> Any:
    """Make a value that stands where an id should be."""
    kind = choose.below(10)
    return text(choose) if kind == 9 else choose.of((FEW, FEW, FEW, FEW, FEW, TEXTS, TEXTS, NUMBERS, NO_IDS)[kind])


def member(choose: Choices) -> Any:
    """Make a member of an object, which may be absent."""
    return ABSENT if choose.one_in(12) else value(choose)


def made_of(**given: Any) -> dict[str, Any]:
    """Return an object of those members that are not absent."""
    return {name: value for name, value in given.items() if value is not ABSENT}
