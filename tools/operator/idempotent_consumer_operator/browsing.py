"""
Receive each letter of a queue once, and make visible again in the end what is left in it.

A queue can only be read by receiving, which hides what was received for a while and counts as a receive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from idempotent_consumer.clock import Clock
from idempotent_consumer.targets import MOST_ENTRIES
from idempotent_consumer_operator.errors import OperatorError
from idempotent_consumer_operator.letters import DeadLetter
from idempotent_consumer_operator.queues import Depth, Queue

HOLD_S = 30
"""How long what is under work stays hidden, should the command be killed."""
LEFT_HOLD_S = 900
"""How long what is left stays hidden: a letter that came back meanwhile would be received again and again."""

_MOST_BARREN = 5  # receives in a row that bring nothing but what is known
_PAUSE_MS = 100


class Browser:
    """
    Go through a queue, inside of a `with` block.

    Args:
        queue: a dead-letter queue.
        clock: the time.
        wait_s: how long to go on looking, when nothing new is received, while SQS counts letters that others hold.
        should_stop: asked before each receive.

    Attributes:
        is_drained: whether nothing was left to be received in the end.
    """

    def __init__(
        self, queue: Queue, clock: Clock, wait_s: int = 0, should_stop: Callable[[], bool] = lambda: False
    ) -> None:
        self._queue = queue
        self._clock = clock
        self._wait_ms = 1_000 * wait_s
        self._should_stop = should_stop
        self._held: dict[str, DeadLetter] = {}
        self._done: set[str] = set()
        self.is_drained = False

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Make visible again what is still in the queue, whatever has happened."""
        if kind is None:
            self._queue.hide(list(self._held.values()), 0)
            return
        with suppress(OperatorError):  # what has ended the block says more; they come back by themselves
            self._queue.hide(list(self._held.values()), 0)

    def unseen(self) -> int:
        """
        Ask how many letters there are that were not received, as SQS counts them, which lags.

        An empty receive of a standard queue is believed, and not what is counted as waiting. In a FIFO queue letters
        wait behind those of their group that are held.
        """
        depth = self._queue.depth()
        others = self._held_by_others(depth)
        may_wait = not self.is_drained or (self._queue.is_fifo and (self._held or others))
        return others + (depth.waiting if may_wait else 0)

    def letters(self, most: int = MOST_ENTRIES) -> Iterator[list[DeadLetter]]:
        """
        Receive letters that are not known yet, some at a time, until there are none.

        Args:
            most: at a time, 10 at most.
        """
        barren = 0
        new_at_ms = self._clock.now_ms()
        while barren < _MOST_BARREN and not self._should_stop():
            received = self._queue.receive(most, HOLD_S)
            new = self._new_ones(received)
            if new:
                barren = 0
                yield new
                new_at_ms = self._clock.now_ms()
            elif received:
                barren += 1
            elif self._clock.now_ms() - new_at_ms < self._wait_ms and self._held_by_others(self._queue.depth()):
                self._clock.sleep_ms(_PAUSE_MS)
            else:
                self.is_drained = True
                return

    def leave(self, letters: Sequence[DeadLetter]) -> None:
        """Leave letters in the queue, hidden until the end."""
        self._queue.hide(letters, LEFT_HOLD_S)

    def delete(self, letters: Sequence[DeadLetter]) -> list[DeadLetter]:
        """Delete letters, and return those that SQS has not deleted; none of them is given out again."""
        self._done |= {letter.sqs_message_id for letter in letters}
        undeleted = self._queue.delete(letters)
        for letter in letters:
            if letter not in undeleted:
                self._held.pop(letter.sqs_message_id, None)
        return undeleted

    def _held_by_others(self, depth: Depth) -> int:
        return max(0, depth.held + depth.delayed - len(self._held))

    def _new_ones(self, received: Sequence[DeadLetter]) -> list[DeadLetter]:
        """Return what is not known yet; what is was hidden too briefly, and is treated again as it was before."""
        new = [letter for letter in received if letter.sqs_message_id not in self._held.keys() | self._done]
        done = [letter for letter in received if letter.sqs_message_id in self._done]
        left = [letter for letter in received if letter not in (*new, *done)]
        self._held |= {letter.sqs_message_id: letter for letter in received}  # by their latest receipts
        self.leave(left)
        self.leave(self.delete(done))
        return new
