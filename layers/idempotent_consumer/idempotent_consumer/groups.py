"""What exception groups hold, however deep they are and however often they hold it."""

from __future__ import annotations

from collections.abc import Iterator

_MOST_WRITTEN = 1_000
_DEEPEST_WRITTEN = 50


def leaves_of(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions that are no groups themselves, each once: of one that is no group itself, just that."""
    left, seen = [error], {id(error)}
    while left:  # no recursion: handlers may nest groups deeper than Python calls
        each = left.pop()
        if not isinstance(each, BaseExceptionGroup):
            yield each
            continue
        for member in each.exceptions:
            if id(member) not in seen:
                seen.add(id(member))
                left.append(member)


def may_be_written(error: BaseException) -> bool:
    """
    Tell whether Python can write an exception's traceback.

    It writes the members of a group by recursion, and one that is there twice two times over: some end in a
    RecursionError, and some not in the life of the process.
    """
    left, seen = [(error, 0)], 0
    while left:
        each, depth = left.pop()
        seen += 1
        if seen > _MOST_WRITTEN or depth > _DEEPEST_WRITTEN:
            return False
        if isinstance(each, BaseExceptionGroup):
            left += [(member, depth + 1) for member in each.exceptions]
    return True
