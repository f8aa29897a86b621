"""Time that passes only when a test says so."""

from __future__ import annotations

import threading
from datetime import timedelta

_START_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z


class FakeClock:
    """
    Tell a time that stands still until it is moved; sleeping moves it.

    Args:
        now_ms: where it starts, in milliseconds since 1970; at the beginning of 2026 by default.
    """

    def __init__(self, now_ms: int = _START_MS) -> None:
        self._now_ms = now_ms
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        """Return the time in whole milliseconds since 1970-01-01 UTC."""
        return self._now_ms

    def sleep_ms(self, duration_ms: int) -> None:
        """Move the time forward, at once."""
        with self._lock:
            self._now_ms += duration_ms

    def advance(self, duration: timedelta) -> None:
        """Move the time forward."""
        self.sleep_ms(duration // timedelta(milliseconds=1))


class FakeContext:
    """
    Stand in for Lambda's context object.

    Args:
        remaining_ms: time that the invocation has from now on, in milliseconds.
        clock: the clock that uses it up; without one it stays what it is.
    """

    def __init__(self, remaining_ms: int = 30_000, clock: FakeClock | None = None) -> None:
        self.function_name = "function"
        self.aws_request_id = "00000000-0000-0000-0000-000000000000"
        self._clock = clock
        self._remaining_ms = remaining_ms
        self._started_ms = clock.now_ms() if clock else 0

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds left."""
        return self._remaining_ms - (self._clock.now_ms() - self._started_ms if self._clock else 0)
