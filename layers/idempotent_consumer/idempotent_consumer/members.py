"""The members of a JSON object by the exact text that each stands as, so that no digit of a content gets lost."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from idempotent_consumer.errors import UnreadableMessageError

_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str)  # only ends are asked for: 5,000 digits cost no more than 5
_BLANKS = re.compile(r"[ \t\n\r]*")


class Members:
    """
    Hold the members of a JSON object. Of two with one name the last counts, as for `json.loads`.

    What `json.loads` and `json.dumps` make of a content is not what was sent: 1.10 and 1e400 lose their digits.
    """

    __slots__ = ("_body", "_spans")

    def __init__(self, body: str, spans: Mapping[str, tuple[int, int]]) -> None:
        self._body = body
        self._spans = spans

    @classmethod
    def of(cls, body: str) -> Members | None:
        """Find the members of a body; None if it is no JSON object, or one nested deeper than the interpreter reads."""
        try:
            return cls(body, _spans(body))
        except (ValueError, RecursionError):
            return None

    def __contains__(self, name: str) -> bool:
        return name in self._spans

    def json(self, name: str) -> str:
        """Return the JSON that a member stands as; `null` if there is none."""
        start, end = self._spans.get(name, (0, 0))
        return self._body[start:end] or "null"

    def text(self, name: str) -> str | None:
        """Return the text that a member holds; None if there is none, or it holds something else."""
        written = self.json(name)
        return json.loads(written) if written.startswith('"') else None

    def json_without(self, *names: str) -> str:
        """Return the object's JSON, as it stands but for some members."""
        kept = (f"{json.dumps(name)}:{self.json(name)}" for name in self._spans if name not in names)
        return f"{{{','.join(kept)}}}"

    def without(self, *names: str) -> Mapping[str, Any]:
        """
        Return what all members but these hold, read-only.

        Raises:
            UnreadableMessageError: one is a number of more digits than Python reads, or nested too deep.
        """
        try:
            return MappingProxyType({name: json.loads(self.json(name)) for name in self._spans if name not in names})
        except (ValueError, RecursionError) as error:
            raise UnreadableMessageError(f"the envelope has a member that cannot be read: {error}") from error


def _spans(body: str) -> dict[str, tuple[int, int]]:
    spans: dict[str, tuple[int, int]] = {}
    place = _past("{", body, 0)
    more = not body.startswith("}", place)
    while more:
        if not body.startswith('"', place):
            raise ValueError("a member has no name")
        name, end = _SCANNER.raw_decode(body, place)
        start = _past(":", body, end)
        _, end = _SCANNER.raw_decode(body, start)
        spans[name] = start, end
        place = _past_blanks(body, end)
        more = body.startswith(",", place)
        place = _past(",", body, place) if more else place
    if _past("}", body, place) != len(body):
        raise ValueError("something follows the object")
    return spans


def _past(mark: str, body: str, place: int) -> int:
    place = _past_blanks(body, place)
    if not body.startswith(mark, place):
        raise ValueError(f"there is no {mark} where one has to be")
    return _past_blanks(body, place + 1)


def _past_blanks(body: str, place: int) -> int:
    blanks = _BLANKS.match(body, place)
    return blanks.end() if blanks else place
