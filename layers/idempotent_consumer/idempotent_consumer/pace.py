"""Whether there is time to start another handler."""

from __future__ import annotations

import threading

from idempotent_consumer.clock import Deadline
from idempotent_consumer.settings import RESERVE_MS, RESERVE_SHARE


class Pace:
    """
    Learn how long handlers run, and stop starting them in time.

    The first of an invocation always starts: were it refused too, a function whose time is short would hand every
    message to the dead-letter queue untried. Later ones start if what is left exceeds the reserve and the longest run
    so far.

    Args:
        deadline: end of the invocation.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._lock = threading.Lock()
        self._reserve_ms = min(RESERVE_MS, int(deadline.left_ms() * RESERVE_SHARE))
        self._has_started = False
        self.longest_ms = 0

    def has_time(self) -> bool:
        """Tell whether another handler may start."""
        return not self._has_started or self._deadline.left_ms() > self._reserve_ms + self.longest_ms

    def start(self) -> bool:
        """Tell whether another handler may start, and count it as started if so."""
        with self._lock:
            may_start = self.has_time()
            self._has_started = True
            return may_start

    def ended(self, duration_ms: int) -> None:
        """Learn from a run, recording of its result included."""
        with self._lock:
            self.longest_ms = max(self.longest_ms, duration_ms)

    def ahead(self, workers: int, most: int) -> int:
        """Return how many deliveries to admit at once: what the workers can start in the time left, `most` at most."""
        if not self.longest_ms:
            return most
        runs = (self._deadline.left_ms() - self._reserve_ms) // self.longest_ms
        return max(1, min(most, workers * runs))
