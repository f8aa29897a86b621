"""Waits double up to a cap, and chance takes up to half of each away."""

import random
from datetime import timedelta
from typing import Any

import pytest

from idempotent_consumer import Backoff, ConfigurationError

SECOND = timedelta(seconds=1)
TEN_MINUTES_OF_SECONDS = Backoff(base=10 * SECOND, cap=600 * SECOND)


def test_the_longest_wait_doubles_with_each_receive_up_to_the_cap() -> None:
    longest_s = [TEN_MINUTES_OF_SECONDS.longest_ms(count) / 1_000 for count in range(1, 10)]

    assert longest_s == [10, 20, 40, 80, 160, 320, 600, 600, 600]


@pytest.mark.parametrize("receive_count", [1, 3, 7, 1_000, 10**9])
def test_a_wait_is_half_of_the_longest_at_least_and_takes_all_values_up_to_it(receive_count: int) -> None:
    random.seed(receive_count)
    longest_ms = TEN_MINUTES_OF_SECONDS.longest_ms(receive_count)
    waits = [TEN_MINUTES_OF_SECONDS.wait_ms(receive_count) for _ in range(2_000)]

    assert longest_ms / 2 <= min(waits) < longest_ms * 0.51
    assert longest_ms * 0.99 < max(waits) <= longest_ms
    assert abs(sum(waits) / len(waits) - longest_ms * 0.75) < longest_ms * 0.02


def test_the_default_gives_a_message_minutes_until_its_last_try() -> None:
    longest_s = sum(Backoff().longest_ms(count) for count in range(1, 5)) / 1_000

    assert longest_s == 20 + 40 + 80 + 160


@pytest.mark.parametrize(
    "wrong",
    [
        {"base": timedelta(0)},
        {"base": timedelta(milliseconds=999)},
        {"base": -SECOND},
        {"base": 10},
        {"cap": None},
        {"base": 10 * SECOND, "cap": 9 * SECOND},
        {"cap": timedelta(hours=11, minutes=30) + SECOND},
    ],
)
def test_a_backoff_that_sqs_would_not_keep_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="Backoff"):
        Backoff(**wrong)


def test_the_longest_base_stays_within_the_cap_whatever_the_receive_count() -> None:
    longest = Backoff(base=timedelta(hours=11), cap=timedelta(hours=11, minutes=30))

    assert longest.longest_ms(10**9) == timedelta(hours=11, minutes=30) // timedelta(milliseconds=1)
