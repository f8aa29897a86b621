"""Decisions out of bytes that hypothesis draws: a tenth of the cost of a draw for each, and they shrink as well."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

Option = TypeVar("Option")
_BYTES = 56  # for one record; what asks for more gets zeros


class Choices:
    """
    Decide, one byte for each decision. Bytes shrink to zero, so that the first option is to be the plainest.

    Args:
        recipe: the bytes; when they are used up, every decision is for the first option.
    """

    def __init__(self, recipe: bytes) -> None:
        self._recipe = iter(recipe)

    def below(self, end: int) -> int:
        """Return a number from 0 to one less than the end."""
        return next(self._recipe, 0) % end

    def one_in(self, times: int) -> bool:
        """Say yes once in so many times."""
        return self.below(times) == times - 1

    def of(self, options: Sequence[Option]) -> Option:
        """Choose one of the options."""
        return options[self.below(len(options))]

    def of_one(self, *groups: Sequence[Any]) -> Any:
        """Choose one of the groups, and of it one option."""
        return self.of(self.of(groups))


_RECIPES = st.binary(min_size=_BYTES, max_size=_BYTES)


@st.composite
def made(draw: st.DrawFn, make: Callable[[Choices], Any]) -> Any:
    """Generate what a function makes of choices."""
    return make(Choices(draw(_RECIPES)))
