"""The schedule against a model of it: any lanes, keys and outcomes, any number of workers, stepped by hand."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idempotent_consumer.delivery import Delivery
from idempotent_consumer.outcome import Outcome, Settlement
from idempotent_consumer.schedule import MOST_GIVEN_UP, GivenUp, Schedule
from tests.unit.deliveries import bare


@dataclass(frozen=True)
class Plan:
    """What is to become of one delivery."""

    key: str | None
    opened: Outcome | None  # settled before the schedule sees it
    admitted: Outcome | None  # settled by its mode
    handled: Outcome
    copied: bool | None  # whether the copy succeeds, if it is to be dead-lettered unless it is acknowledged

    @property
    def reached(self) -> Outcome:
        return self.opened or self.admitted or self.handled


PLANS = st.builds(
    Plan,
    key=st.sampled_from([None, "a", "b", "c"]),
    opened=st.sampled_from([None, None, None, None, None, Outcome.REJECTED]),
    admitted=st.sampled_from([None, None, None, Outcome.DUPLICATE, Outcome.IN_FLIGHT]),
    handled=st.sampled_from([Outcome.PROCESSED, Outcome.PROCESSED, Outcome.FAILED]),
    copied=st.sampled_from([None, None, True, False]),
)
BATCHES = st.lists(st.lists(PLANS, min_size=1, max_size=5), max_size=6)


class Blocked(Exception):  # noqa: N818 - a worker that waits is no error
    """A worker would wait for another."""


class Impatient(threading.Condition):
    """Stand in for the schedule's condition where one thread plays all workers."""

    def wait(self, timeout: float | None = None) -> bool:
        raise Blocked


@dataclass
class World:
    """Workers that a test steps by hand, and the rules that it checks at every step."""

    plans: dict[Delivery, Plan]
    lanes: Sequence[Sequence[Delivery]]
    schedule: Schedule
    heads_only: bool
    in_hand: list[Delivery | GivenUp | list[Delivery]] = field(default_factory=list)
    open_keys: list[str] = field(default_factory=list)
    windows: list[Delivery] = field(default_factory=list)
    handled: list[Delivery] = field(default_factory=list)
    given_up: list[Delivery] = field(default_factory=list)

    def take(self, most: int) -> bool:
        """Let a worker take the next thing to do; tell whether there was any."""
        taken = self.schedule.take(most)
        if taken is None:
            assert not self.in_hand
            return False
        if isinstance(taken, Delivery):
            self._see_handling(taken)
        elif isinstance(taken, GivenUp):
            assert len(taken) <= MOST_GIVEN_UP
            for one in taken:
                self._see_giving_up(one)
        else:
            assert 1 <= len(taken) <= most
            for one in taken:
                self._see_admission(one)
        self.in_hand.append(taken)
        return True

    def _see_admission(self, one: Delivery) -> None:
        assert one.settlement is None
        assert one not in self.windows
        assert one.key not in self.open_keys
        assert not self.heads_only or all(earlier.is_acknowledged for earlier in self._before(one))
        self.windows.append(one)
        self.open_keys += [one.key] if one.key else []

    def _see_handling(self, one: Delivery) -> None:
        assert one.settlement is None
        assert one.admitted_ms is not None
        assert one not in self.handled
        assert all(earlier.is_acknowledged for earlier in self._before(one))
        self.handled.append(one)

    def _see_giving_up(self, one: Delivery) -> None:
        assert self.plans[one].copied is not None
        assert one.settlement is not None
        assert not one.is_acknowledged
        assert one not in self.given_up
        assert all(earlier.is_acknowledged for earlier in self._before(one))
        self.given_up.append(one)

    def _before(self, one: Delivery) -> Sequence[Delivery]:
        [lane] = [lane for lane in self.lanes if one in lane]
        return lane[: lane.index(one)]

    def hand_back(self, number: int) -> None:
        """Let a worker hand back what it has taken."""
        taken = self.in_hand.pop(number)
        if isinstance(taken, Delivery):
            taken.settle(Settlement(self.plans[taken].handled))
            self.schedule.settled(taken)
        elif isinstance(taken, GivenUp):
            for one in taken:
                one.is_dead_lettered = bool(self.plans[one].copied)
            self.schedule.dead_lettered(taken)
        else:
            for one in taken:
                if one.settlement is None and (outcome := self.plans[one].admitted):
                    one.settle(Settlement(outcome))
            self.schedule.admitted(taken, 0)
        self.open_keys = [one.key for one in self.windows if one.key and one.settlement is None]

    def check_end(self) -> None:
        """Compare what became of every delivery with what the rules alone say."""
        for lane in self.lanes:
            stopped = False
            for one in lane:
                plan, outcome = self.plans[one], one.settlement and one.settlement.outcome
                was_ahead = stopped and not self.heads_only and plan.admitted is not None and one in self.windows
                allowed = {Outcome.DEFERRED, plan.admitted} if was_ahead else {Outcome.DEFERRED}
                assert outcome in (allowed if stopped and not plan.opened else {plan.reached})
                assert (one in self.handled) == (not stopped and plan.opened is None and plan.admitted is None)
                wanted = plan.copied is not None and not plan.reached.acknowledged
                assert (one in self.given_up) == (wanted and not stopped)
                assert one.is_dead_lettered == (one in self.given_up and bool(plan.copied))
                assert not (self.heads_only and one.admitted_ms is not None and one not in self.handled)
                stopped = stopped or not one.is_acknowledged


def world(batch: list[list[Plan]], *, heads_only: bool) -> World:
    plans: dict[Delivery, Plan] = {}
    lanes: list[list[Delivery]] = []
    for lane in batch:
        lanes.append([])
        for plan in lane:
            n = len(plans)
            one = bare(n, key=plan.key, fingerprint=f"f-{n}")
            one.settlement = Settlement(plan.opened) if plan.opened else None
            plans[one] = plan
            lanes[-1].append(one)

    def gives_up(one: Delivery) -> bool:
        return plans[one].copied is not None and not one.is_acknowledged

    schedule = Schedule(lanes, heads_only=heads_only, gives_up=gives_up)
    schedule._changed = Impatient()
    return World(plans, lanes, schedule, heads_only)


@pytest.mark.parametrize("heads_only", [True, False])
@settings(max_examples=300, deadline=None)
@given(batch=BATCHES, most=st.integers(1, 6))
def test_one_worker_settles_every_delivery_by_the_rules(batch: list[list[Plan]], most: int, heads_only: bool) -> None:
    stepped = world(batch, heads_only=heads_only)

    while stepped.take(most):
        stepped.hand_back(0)

    stepped.check_end()


@pytest.mark.parametrize("heads_only", [True, False])
@settings(max_examples=300, deadline=None)
@given(batch=BATCHES, workers=st.integers(2, 4), data=st.data())
def test_however_workers_are_interleaved_every_delivery_is_settled_by_the_rules(
    batch: list[list[Plan]], workers: int, data: st.DataObject, heads_only: bool
) -> None:
    stepped, is_done = world(batch, heads_only=heads_only), False

    while not is_done:
        if len(stepped.in_hand) < workers and (not stepped.in_hand or data.draw(st.booleans())):
            try:
                is_done = not stepped.take(data.draw(st.integers(1, 6)))
                continue
            except Blocked:
                assert stepped.in_hand  # or nobody would ever wake the worker
        stepped.hand_back(data.draw(st.integers(0, len(stepped.in_hand) - 1)))

    stepped.check_end()
