"""How many letters may go in a second."""

from __future__ import annotations

import math
from collections.abc import Callable

from idempotent_consumer.clock import Clock
from idempotent_consumer.targets import MOST_ENTRIES

_LONGEST_PAUSE_MS = 200  # between two looks at whether somebody asks to stop
_LARGEST_BURST_MS = 1_000


class Rate:
    """
    Keep to a rate.

    Args:
        per_second: letters in a second; None for as many as will go.
        clock: the time.
    """

    def __init__(self, per_second: float | None, clock: Clock) -> None:
        self._per_second = per_second
        self._clock = clock
        self._next_ms = float(clock.now_ms())

    @property
    def at_once(self) -> int:
        """Return how many letters to receive together: what a second allows, so that none is held for long."""
        if self._per_second is None:
            return MOST_ENTRIES
        return max(1, min(MOST_ENTRIES, int(self._per_second)))

    def passes(self, count: int, should_stop: Callable[[], bool]) -> bool:
        """Wait until letters may go again after so many have; False if somebody asked to stop meanwhile."""
        if self._per_second is not None:
            # What was not used up while no letter was to go is not made up for by a burst.
            began_ms = max(self._next_ms, self._clock.now_ms() - _LARGEST_BURST_MS)
            self._next_ms = began_ms + 1_000 * count / self._per_second
            while (pause_ms := self._next_ms - self._clock.now_ms()) > 0 and not should_stop():
                self._clock.sleep_ms(min(_LONGEST_PAUSE_MS, math.ceil(pause_ms)))
        return not should_stop()
