"""What the schedule costs in a large batch: counted in lines of code that run, not in seconds."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from idempotent_consumer import schedule as schedule_module
from idempotent_consumer.delivery import Delivery
from idempotent_consumer.outcome import Outcome, Settlement
from idempotent_consumer.schedule import Schedule
from tests.unit.deliveries import bare

FEW, MANY = 100, 1_000


def of_own_keys(count: int) -> list[Delivery]:
    return [bare(n, key=f"k-{n}") for n in range(count)]


def of_one_key(count: int) -> list[Delivery]:
    return [bare(n, key="k", fingerprint=f"f-{n}") for n in range(count)]


def in_lanes_of(length: int, batch: list[Delivery]) -> list[list[Delivery]]:
    return [batch[start : start + length] for start in range(0, len(batch), length)]


SHAPES: dict[str, Callable[[int], list[list[Delivery]]]] = {
    "each alone": lambda count: in_lanes_of(1, of_own_keys(count)),
    "each alone and all of one key": lambda count: in_lanes_of(1, of_one_key(count)),
    "one lane": lambda count: [of_own_keys(count)],
    "one lane of one key": lambda count: [of_one_key(count)],
    "lanes of ten": lambda count: in_lanes_of(10, of_own_keys(count)),
    "lanes of ten and all of one key": lambda count: in_lanes_of(10, of_one_key(count)),
}


class TooManyStepsError(Exception):
    """Say so at once, rather than after minutes."""


class Steps:
    """Count the lines of schedule.py that run; more than `most` of them raise."""

    def __init__(self, most: float = float("inf")) -> None:
        self.count = 0
        self._most = most

    @contextmanager
    def counted(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(before)

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        del argument
        if frame.f_code.co_filename != schedule_module.__file__:
            return None
        self.count += event == "line"
        if self.count > self._most:
            raise TooManyStepsError(f"more than {self._most:.0f} lines")
        return self._trace


@pytest.mark.parametrize("outcome", [Outcome.PROCESSED, Outcome.FAILED])
@pytest.mark.parametrize("heads_only", [True, False], ids=["heads only", "ahead"])
@pytest.mark.parametrize("shape", SHAPES)
def test_each_of_many_deliveries_costs_no_more_than_each_of_a_few(
    shape: str, heads_only: bool, outcome: Outcome
) -> None:
    few = Steps()
    run(SHAPES[shape](FEW), heads_only, outcome, few)
    many = Steps(most=1.2 * few.count * MANY / FEW)

    run(SHAPES[shape](MANY), heads_only, outcome, many)

    assert many.count >= MANY


def run(lanes: list[list[Delivery]], heads_only: bool, outcome: Outcome, steps: Steps) -> None:
    with steps.counted():
        schedule = Schedule(lanes, heads_only=heads_only)
        while taken := schedule.take(25):
            if isinstance(taken, Delivery):
                taken.settle(Settlement(outcome))
                schedule.settled(taken)
            else:
                schedule.admitted(taken, 0)
    assert all(one.settlement for lane in lanes for one in lane)
