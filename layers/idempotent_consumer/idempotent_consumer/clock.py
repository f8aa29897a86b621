"""Time, as everything else in the package sees it: a clock from outside, and what an invocation has left of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from idempotent_consumer.settings import DEFAULT_TIME_LEFT_MS, RESERVE_MS, RESERVE_SHARE


class Clock(Protocol):
    """Tell the time and let it pass; tests bring one that they move by hand."""

    def now_ms(self) -> int:
        """Return the time in whole milliseconds since 1970-01-01 UTC."""

    def sleep_ms(self, duration_ms: int) -> None:
        """Return when the given number of milliseconds has passed."""


class SystemClock:
    """Tell the machine's time."""

    def now_ms(self) -> int:
        """Return the time in whole milliseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1_000_000

    def sleep_ms(self, duration_ms: int) -> None:
        """Return when the given number of milliseconds has passed."""
        time.sleep(duration_ms / 1000)


class Deadline:
    """
    Know when the invocation has to end; every reading is fresh.

    Args:
        clock: the time.
        context: Lambda's context object; anything with `get_remaining_time_in_millis()` will do. Without one the
            invocation is taken to end in 15 minutes.

    Attributes:
        total_ms: what was left at the beginning.
        reserve_ms: what is kept back for answering SQS.
    """

    __slots__ = ("_remaining_ms", "clock", "reserve_ms", "total_ms")

    def __init__(self, clock: Clock, context: object = None) -> None:
        self.clock = clock
        remaining_ms = getattr(context, "get_remaining_time_in_millis", None)
        if remaining_ms is None or not isinstance(remaining_ms(), (int, float)):
            remaining_ms = _countdown(clock, DEFAULT_TIME_LEFT_MS)
        self._remaining_ms: Callable[[], int] = remaining_ms
        self.total_ms = self.left_ms()
        self.reserve_ms = min(RESERVE_MS, int(self.total_ms * RESERVE_SHARE))

    def now_ms(self) -> int:
        """Return the time in whole milliseconds since 1970-01-01 UTC."""
        return self.clock.now_ms()

    def left_ms(self) -> int:
        """Return the milliseconds until the invocation is cut off: 0, never less, when it is over."""
        return max(0, int(self._remaining_ms()))

    def spare_ms(self) -> int:
        """Return the milliseconds left beyond the reserve; less than 0 when that is being used up."""
        return self.left_ms() - self.reserve_ms

    def pause_ms(self, duration_ms: int) -> None:
        """Let the given number of milliseconds pass."""
        self.clock.sleep_ms(duration_ms)


def _countdown(clock: Clock, duration_ms: int) -> Callable[[], int]:
    end_ms = clock.now_ms() + duration_ms
    return lambda: end_ms - clock.now_ms()
