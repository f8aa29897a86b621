"""How the package sees time."""

from datetime import UTC, datetime, timedelta

import pytest

from idempotent_consumer.clock import Deadline, SystemClock
from idempotent_consumer.settings import DEFAULT_TIME_LEFT_MS
from idempotent_consumer.testing import FakeClock, FakeContext


def test_the_system_clock_tells_whole_milliseconds_since_1970() -> None:
    now_ms = SystemClock().now_ms()

    assert isinstance(now_ms, int)
    assert 2026 <= datetime.fromtimestamp(now_ms / 1000, tz=UTC).year < 2100


def test_the_time_left_is_read_from_the_context_at_every_call() -> None:
    clock = FakeClock()
    deadline = Deadline(clock, FakeContext(3_000, clock))

    readings = [deadline.left_ms()]
    for _ in range(3):
        clock.sleep_ms(1_200)
        readings.append(deadline.left_ms())

    assert readings == [3_000, 1_800, 600, 0]


@pytest.mark.parametrize("remaining_ms", [0, -1, -60_000])
def test_no_time_left_is_0_and_not_the_default(remaining_ms: int) -> None:
    assert Deadline(FakeClock(), FakeContext(remaining_ms)).left_ms() == 0


class StandIn:
    """A stand-in for the context, as mocking libraries make it."""

    def get_remaining_time_in_millis(self) -> object:
        return object()


@pytest.mark.parametrize("context", [None, object(), {}, StandIn()])
def test_without_a_context_an_invocation_has_as_long_as_lambda_lets_any_run(context: object) -> None:
    clock = FakeClock()
    deadline = Deadline(clock, context)

    clock.advance(timedelta(minutes=5))

    assert timedelta(milliseconds=DEFAULT_TIME_LEFT_MS) == timedelta(minutes=15)
    assert timedelta(milliseconds=deadline.left_ms()) == timedelta(minutes=10)


@pytest.mark.parametrize(
    ("remaining_ms", "reserve_ms"), [(-5, 0), (0, 0), (3, 0), (3_000, 600), (7_500, 1_500), (900_000, 1_500)]
)
def test_what_is_kept_back_for_the_answer_is_a_second_and_a_half_or_a_fifth_if_that_is_less(
    remaining_ms: int, reserve_ms: int
) -> None:
    deadline = Deadline(FakeClock(), FakeContext(remaining_ms))

    assert deadline.reserve_ms == reserve_ms
    assert deadline.spare_ms() == max(0, remaining_ms) - reserve_ms


def test_what_is_kept_back_stays_the_same_while_time_passes() -> None:
    clock = FakeClock()
    deadline = Deadline(clock, FakeContext(10_000, clock))

    clock.sleep_ms(9_400)

    assert (deadline.total_ms, deadline.reserve_ms, deadline.spare_ms()) == (10_000, 1_500, -900)


def test_a_pause_takes_time_from_what_is_left() -> None:
    clock = FakeClock(now_ms=1_000)
    deadline = Deadline(clock, FakeContext(500, clock))

    deadline.pause_ms(200)

    assert (deadline.now_ms(), deadline.left_ms()) == (1_200, 300)
