"""Ctrl-C as a request: what is under way is brought to its end, and nothing new is begun."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Know whether somebody has asked to stop."""

    def __init__(self) -> None:
        self.is_requested = False

    def request(self, _number: int, _frame: FrameType | None) -> None:
        """Note the request; the second one does not wait any more."""
        if self.is_requested:
            raise KeyboardInterrupt
        self.is_requested = True


@contextmanager
def stopping_in_between() -> Iterator[Stop]:
    """Let Ctrl-C and SIGTERM only be noted while the block runs, so that a letter is not left between two steps."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():  # only that one may handle signals
        yield stop
        return
    before = {number: signal.signal(number, stop.request) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
