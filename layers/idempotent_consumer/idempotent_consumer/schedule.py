"""Who is next: which deliveries may be admitted together, and which of the admitted may be handled now."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from idempotent_consumer.delivery import Delivery
from idempotent_consumer.outcome import Outcome, Settlement

MOST_GIVEN_UP = 10
"""Deliveries that are handed out together to be dead-lettered, at most: what one request to SQS takes."""


class GivenUp(tuple[Delivery, ...]):
    """Hold deliveries whose turn has come to be dead-lettered."""


class _Lane:
    """Keep deliveries that go one after another."""

    __slots__ = ("acknowledged", "deliveries", "is_queued", "is_running", "taken")

    def __init__(self, deliveries: Sequence[Delivery]) -> None:
        self.deliveries = deliveries
        self.taken = 0  # how many, from the front, were taken for admission
        self.acknowledged = 0  # how many, from the front, are acknowledged
        self.is_queued = False  # whether it waits for room in a window, or for a key
        self.is_running = False  # whether its head is ready or in the hands of a worker

    @property
    def is_taken(self) -> bool:
        return self.taken == len(self.deliveries)


class Schedule:
    """
    Hand out windows to admit and deliveries to handle; workers share it.

    It keeps three rules. In a lane, a delivery waits for the one before it, and does not start at all if that was not
    acknowledged; dead letters, too, are made in the lane's order. Deliveries with one key (and different content, for
    equals are folded) are admitted one after the other's outcome. With `heads_only`, only a delivery whose turn has
    come is admitted, so that a lane which stops leaves no claim behind.

    All calls together cost as much as there are deliveries.

    Args:
        lanes: in the order in which they are to start.
        heads_only: whether to admit nothing ahead within a lane.
        gives_up: tells of a delivery with its outcome whether it is to be dead-lettered.
    """

    def __init__(
        self,
        lanes: Iterable[Sequence[Delivery]],
        *,
        heads_only: bool,
        gives_up: Callable[[Delivery], bool] = lambda _: False,
    ) -> None:
        self._heads_only = heads_only
        self._gives_up = gives_up
        self._changed = threading.Condition()
        self._lane_of: dict[Delivery, _Lane] = {}
        self._waiting: deque[_Lane] = deque()  # have deliveries to admit
        self._ready: deque[Delivery] = deque()  # admitted, and their turn has come
        self._given_up: deque[Delivery] = deque()  # to be dead-lettered, and their turn has come
        self._holders: dict[str, Delivery] = {}  # by key: the one delivery between admission and outcome
        self._parked: dict[str, deque[_Lane]] = {}  # by key: lanes whose next delivery waits for its holder
        self._in_hand = 0  # windows and deliveries that workers have taken
        for deliveries in lanes:
            lane = _Lane(deliveries)
            self._lane_of.update(dict.fromkeys(deliveries, lane))
            self._advance(lane)

    def take(self, most: int) -> Delivery | GivenUp | list[Delivery] | None:
        """
        Take the next thing to do; wait where only another worker's result can tell.

        Args:
            most: size of a window.

        Returns:
            A delivery to handle, some to dead-letter, a window of deliveries to admit, or None when all is done. The
            caller hands it back with `settled`, `dead_lettered` or `admitted`, whatever happens.
        """
        with self._changed:
            while True:
                taken = self._next_given_up() or (self._ready.popleft() if self._ready else self._next_window(most))
                if taken:
                    self._in_hand += 1
                    return taken
                if not self._in_hand:
                    return None
                self._changed.wait()

    def admitted(self, window: Iterable[Delivery], now_ms: int) -> None:
        """Take a window back: what its mode has settled is done with, the others wait for their turn."""
        with self._changed:
            for delivery in window:
                if delivery.settlement is None:
                    delivery.admitted_ms = now_ms
                else:
                    self._free_key(delivery)
            for lane in dict.fromkeys(self._lane_of[delivery] for delivery in window):
                self._advance(lane)
            self._hand_back()

    def settled(self, delivery: Delivery) -> None:
        """Take a delivery back that has its outcome."""
        with self._changed:
            lane = self._lane_of[delivery]
            lane.is_running = False
            self._free_key(delivery)
            self._advance(lane)
            self._hand_back()

    def dead_lettered(self, given_up: GivenUp) -> None:
        """Take deliveries back that were to be dead-lettered; those that could not be will come back."""
        with self._changed:
            for delivery in given_up:
                lane = self._lane_of[delivery]
                lane.is_running = False
                self._advance(lane)
            self._hand_back()

    def _next_given_up(self) -> GivenUp:
        return GivenUp(self._given_up.popleft() for _ in range(min(MOST_GIVEN_UP, len(self._given_up))))

    def _next_window(self, most: int) -> list[Delivery]:
        window: list[Delivery] = []
        while self._waiting and len(window) < most:
            lane = self._waiting.popleft()
            lane.is_queued = False
            room = 1 if self._heads_only else most - len(window)
            window += self._take_from(lane, room)
            if not self._heads_only:
                self._queue(lane)
        return window

    def _take_from(self, lane: _Lane, room: int) -> list[Delivery]:
        chosen: list[Delivery] = []
        while not lane.is_taken and len(chosen) < room:
            delivery = lane.deliveries[lane.taken]
            key = delivery.key
            if delivery.settlement is None and key in self._holders:
                self._parked.setdefault(key, deque()).append(lane)
                lane.is_queued = True
                break
            lane.taken += 1
            if delivery.settlement is None:
                chosen.append(delivery)
                if key is not None:
                    self._holders[key] = delivery
        return chosen

    def _advance(self, lane: _Lane) -> None:
        """Let a lane go on, now that one of its deliveries has got further."""
        while lane.acknowledged < len(lane.deliveries):
            head = lane.deliveries[lane.acknowledged]
            if head.settlement is None:
                if head.admitted_ms is not None and not lane.is_running:
                    lane.is_running = True
                    self._ready.append(head)
                else:
                    self._queue(lane)
                return
            if not head.is_acknowledged and lane.is_running:
                return  # what becomes of it is still in a worker's hands
            if not head.is_acknowledged and not head.is_given_up and self._gives_up(head):
                head.is_given_up = lane.is_running = True
                self._given_up.append(head)
                return
            if not head.lets_lane_go_on:
                self._stop(lane, head)
                return
            lane.acknowledged += 1
            lane.taken = max(lane.taken, lane.acknowledged)

    def _stop(self, lane: _Lane, head: Delivery) -> None:
        untaken = lane.deliveries[lane.taken :]
        lane.taken = len(lane.deliveries)
        for follower in lane.deliveries[lane.acknowledged + 1 :]:
            if follower.settlement is None:
                reason = f"{head.record.sqs_message_id}, before it in its group, was not acknowledged"
                follower.settle(Settlement(Outcome.DEFERRED, reason))
                self._free_key(follower)
        if untaken and untaken[0].key is not None:
            self._wake(untaken[0].key)  # it may have been this lane's turn to take that key

    def _queue(self, lane: _Lane) -> None:
        if not lane.is_queued and not lane.is_taken:
            lane.is_queued = True
            self._waiting.append(lane)

    def _free_key(self, delivery: Delivery) -> None:
        key = delivery.key
        if key is not None and self._holders.get(key) is delivery:
            del self._holders[key]
            self._wake(key)

    def _wake(self, key: str) -> None:
        """Let one of the lanes that wait for a key go on: the others would only find it taken again."""
        parked = self._parked.get(key)
        while parked and key not in self._holders:
            lane = parked.popleft()
            lane.is_queued = False
            if not lane.is_taken:
                self._queue(lane)
                return

    def _hand_back(self) -> None:
        self._in_hand -= 1
        self._changed.notify_all()
