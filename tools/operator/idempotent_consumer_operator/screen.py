"""What a person sees and a script reads: answers go to stdout, words about them to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from idempotent_consumer_operator.errors import UsageError

_NARROWEST_UNATTENDED = 200  # columns where no terminal says how many it has
_YES = ("y", "yes")
_SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


class Screen:
    """
    Show answers and say words.

    Args:
        as_json: whether the answer is one JSON document instead of a table.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._out = Console(highlight=False)
        self.err = Console(stderr=True, highlight=False)
        for console in (self._out, self.err):
            if not console.is_terminal:
                console.width = max(console.width, _NARROWEST_UNATTENDED)

    @property
    def shows_progress(self) -> bool:
        """Tell whether somebody watches."""
        return self.err.is_terminal and not self.as_json

    def answer(self, document: Mapping[str, Any], *shown: Table | str) -> None:
        """Give the answer: a document for scripts, or what is shown to a person."""
        if self.as_json:
            self._out.file.write(json.dumps(document, indent=2) + "\n")
            return
        for each in shown:
            self._out.print(plain(each) if isinstance(each, str) else each, soft_wrap=isinstance(each, str))

    def say(self, words: str) -> None:
        """Say something about the answer."""
        self.err.print(plain(words), soft_wrap=True)

    def log(self, line: str) -> None:
        """Write a line that other programs read."""
        self.err.file.write(line + "\n")

    def ask(self, question: str, *, yes: bool) -> bool:
        """
        Ask a person, unless the answer was given beforehand.

        Raises:
            UsageError: nobody is there to answer.
        """
        if yes:
            return True
        self.err.print(plain(f"{question} [y/N] "), end="", soft_wrap=True)
        try:
            answer = input()
        except EOFError:
            self.err.print()
            raise UsageError("nobody is there to answer: give --yes") from None
        if not sys.stdin.isatty():
            self.err.print()  # a terminal has shown the end of the line already
        return answer.strip().lower() in _YES


def plain(value: object) -> Text:
    """Return text in which nothing is markup, and nothing moves the cursor: it may come from any producer."""
    return Text(
        "".join(each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}" for each in str(value))
    )


def pairs(rows: Iterable[tuple[str, object]], title: str | None = None) -> Table:
    """Return a table of names and values; what is None or empty has no row."""
    table = Table(
        show_header=False, box=None, pad_edge=False, title=plain(title) if title else None, title_justify="left"
    )
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value not in (None, ""):
            table.add_row(plain(name), plain(value))
    return table


def columns(names: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = ()) -> Table:
    """
    Return a table.

    Args:
        names: of the columns.
        rows: their values; None is shown as nothing.
        right: names of columns that hold numbers.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(plain("" if value is None else value) for value in row))
    return table


def span(seconds: float) -> str:
    """Return a duration in its two largest units: `2 h 5 min`."""
    left = int(abs(seconds))
    words: list[str] = []
    for size, unit in _SPANS:
        if left >= size or (unit == "s" and not words):
            words.append(f"{left // size} {unit}")
            left %= size
    return " ".join(words[:2])


def ago(instant_ms: int, now_ms: int) -> str:
    """Return how long ago an instant was, or how far off it is."""
    passed = span((now_ms - instant_ms) / 1000)
    return f"{passed} ago" if instant_ms <= now_ms else f"in {passed}"


def age(instant: datetime | None, now_ms: int) -> str | None:
    """Return how long ago an instant was; None if it is not known."""
    return None if instant is None else span(now_ms / 1000 - instant.timestamp())
