"""When another handler may start."""

import pytest

from idempotent_consumer.clock import Deadline
from idempotent_consumer.pace import Pace
from idempotent_consumer.settings import RESERVE_MS
from idempotent_consumer.testing import FakeClock, FakeContext


class Invocation:
    """An invocation whose time a test spends by hand."""

    def __init__(self, remaining_ms: int) -> None:
        self.clock = FakeClock()
        self.pace = Pace(Deadline(self.clock, FakeContext(remaining_ms, self.clock)))

    def run(self, duration_ms: int) -> None:
        assert self.pace.may_start()
        self.clock.sleep_ms(duration_ms)
        self.pace.run_took(duration_ms)


@pytest.mark.parametrize("remaining_ms", [-5, 0, 1, 30_000])
def test_the_first_handler_always_starts(remaining_ms: int) -> None:
    pace = Invocation(remaining_ms).pace

    assert pace.may_admit()
    assert pace.may_start()


def test_with_no_time_left_only_the_first_starts() -> None:
    pace = Invocation(0).pace

    assert [pace.may_start() for _ in range(3)] == [True, False, False]


def test_with_no_time_left_only_the_first_window_is_admitted() -> None:
    pace = Invocation(0).pace

    assert [pace.may_admit() for _ in range(3)] == [True, False, False]


@pytest.mark.parametrize("left_ms", [1_501, 30_000])
def test_until_a_handler_has_started_windows_are_admitted_as_long_as_there_is_time(left_ms: int) -> None:
    """However long an admission takes: those so far may have been duplicates, and a good message comes after them."""
    invocation = Invocation(60_000)
    assert invocation.pace.may_admit()
    invocation.pace.admission_took(20_000, has_failed=False)

    invocation.clock.sleep_ms(60_000 - left_ms)

    assert invocation.pace.may_admit()


def test_after_an_admission_that_failed_there_must_be_time_for_another_like_it() -> None:
    invocation = Invocation(30_000)
    assert invocation.pace.may_admit()
    invocation.pace.admission_took(10_000, has_failed=True)

    invocation.clock.sleep_ms(20_000)

    assert not invocation.pace.may_admit()


@pytest.mark.parametrize(("left_ms", "expected"), [(6_500, False), (6_501, True)])
def test_a_later_window_is_admitted_only_if_there_is_time_for_the_longest_admission_and_a_run(
    left_ms: int, expected: bool
) -> None:
    invocation = Invocation(60_000)
    assert invocation.pace.may_admit()
    invocation.pace.admission_took(3_000, has_failed=False)
    invocation.pace.admission_took(1_000, has_failed=False)
    invocation.run(2_000)

    invocation.clock.sleep_ms(58_000 - left_ms)

    assert invocation.pace.may_admit() == expected


@pytest.mark.parametrize(("left_ms", "expected"), [(7_500, False), (7_501, True)])
def test_a_later_one_starts_only_if_time_exceeds_the_reserve_and_the_longest_run(left_ms: int, expected: bool) -> None:
    invocation = Invocation(60_000)
    invocation.run(6_000)
    invocation.run(2_000)

    invocation.clock.sleep_ms(52_000 - left_ms)

    assert RESERVE_MS + 6_000 == 7_500
    assert invocation.pace.may_start() == expected


@pytest.mark.parametrize(("remaining_ms", "reserve_ms"), [(0, 0), (500, 100), (3_000, 600), (7_500, 1_500)])
def test_the_reserve_is_at_most_a_fifth_of_the_invocation(remaining_ms: int, reserve_ms: int) -> None:
    invocation = Invocation(remaining_ms)
    invocation.run(0)

    invocation.clock.sleep_ms(remaining_ms - reserve_ms)

    assert not invocation.pace.may_start()
    invocation.clock.sleep_ms(-1)
    assert invocation.pace.may_start()


def test_the_reserve_does_not_grow_with_a_long_invocation() -> None:
    invocation = Invocation(900_000)
    invocation.run(0)

    invocation.clock.sleep_ms(900_000 - RESERVE_MS - 1)

    assert invocation.pace.may_start()


def test_short_runs_do_not_make_the_longest_forgotten() -> None:
    invocation = Invocation(60_000)

    for duration_ms in (10, 4_000, 20):
        invocation.run(duration_ms)

    assert invocation.pace.longest_run_ms == 4_000


# -- How far ahead --------------------------------------------------------------------------------


def test_before_anything_ran_a_whole_window_is_admitted() -> None:
    assert Invocation(1_000).pace.ahead(workers=1, most=25) == 25


@pytest.mark.parametrize(
    ("left_ms", "workers", "expected"),
    [(61_000, 1, 25), (21_500, 1, 10), (21_500, 2, 20), (21_500, 8, 25), (4_999, 1, 1), (2_999, 1, 1), (0, 1, 1)],
)
def test_no_more_is_admitted_than_the_workers_can_start_and_never_less_than_one(
    left_ms: int, workers: int, expected: int
) -> None:
    invocation = Invocation(90_000)
    invocation.run(2_000)

    invocation.clock.sleep_ms(88_000 - left_ms)

    assert invocation.pace.ahead(workers, most=25) == expected
