"""Whether there is time for another delivery."""

from __future__ import annotations

import threading

from idempotent_consumer.clock import Deadline


class Pace:
    """
    Learn how long deliveries take, and stop starting them in time.

    The first handler of an invocation always starts: were it refused too, a function whose time is short would hand
    every message to the dead-letter queue untried. Later ones start if what is left exceeds the reserve and the longest
    run so far. Windows are admitted accordingly; until a handler has started, as long as there is time at all, for what
    was admitted so far may have been duplicates.

    Args:
        deadline: end of the invocation.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._lock = threading.Lock()
        self._has_admitted = False
        self._has_started = False
        self._longest_admission_ms = 0
        self._longest_failed_admission_ms = 0
        self.longest_run_ms = 0

    def may_admit(self) -> bool:
        """Tell whether a window may be admitted, and count it as begun if so."""
        with self._lock:
            needed_ms = self._longest_failed_admission_ms
            if self._has_started:
                needed_ms = self._longest_admission_ms + self.longest_run_ms
            may = not self._has_admitted or self._has_time(needed_ms)
            self._has_admitted = True
            return may

    def may_start(self) -> bool:
        """Tell whether a handler may start, and count it as started if so."""
        with self._lock:
            may = not self._has_started or self._has_time(self.longest_run_ms)
            self._has_started = True
            return may

    def admission_took(self, duration_ms: int, *, has_failed: bool) -> None:
        """Learn from an admission; one that failed, since the store gave no answer, took as long as the next would."""
        with self._lock:
            self._longest_admission_ms = max(self._longest_admission_ms, duration_ms)
            if has_failed:
                self._longest_failed_admission_ms = max(self._longest_failed_admission_ms, duration_ms)

    def run_took(self, duration_ms: int) -> None:
        """Learn from a run, recording of its result included."""
        with self._lock:
            self.longest_run_ms = max(self.longest_run_ms, duration_ms)

    def ahead(self, workers: int, most: int) -> int:
        """Return how many deliveries to admit at once: what the workers can start in the time left, `most` at most."""
        if not self.longest_run_ms:
            return most
        return max(1, min(most, workers * (self._deadline.spare_ms() // self.longest_run_ms)))

    def _has_time(self, needed_ms: int) -> bool:
        return self._deadline.spare_ms() > needed_ms
