"""What the environment says, and the inequalities that hold between the package's numbers."""

from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any

import pytest

from idempotent_consumer import settings as numbers
from idempotent_consumer.errors import ConfigurationError
from idempotent_consumer.settings import Settings, current_trace_header


def test_an_empty_environment_gives_the_defaults() -> None:
    assert Settings.from_environment({}) == Settings(
        processed_messages_table=None,
        max_receive_count=5,
        idempotency_disabled=False,
        shortest_retention=timedelta(days=1),
    )


def test_every_variable_is_read() -> None:
    environment = {
        "PROCESSED_MESSAGES_TABLE": "table",
        "DEAD_LETTER_QUEUE_URL": "https://sqs.example/1/orders-dead-letters",
        "QUEUE_URL": "https://sqs.example/1/orders, https://sqs.example/1/orders.fifo,",
        "BACKOFF_BASE_SECONDS": "3",
        "BACKOFF_CAP_SECONDS": "30",
        "MAX_RECEIVE_COUNT": "7",
        "IDEMPOTENCY_DISABLED": "true",
    }

    assert Settings.from_environment(environment) == Settings(
        processed_messages_table="table",
        dead_letter_queue_url="https://sqs.example/1/orders-dead-letters",
        queue_urls=("https://sqs.example/1/orders", "https://sqs.example/1/orders.fifo"),
        backoff_base=timedelta(seconds=3),
        backoff_cap=timedelta(seconds=30),
        max_receive_count=7,
        idempotency_disabled=True,
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DEAD_LETTER_QUEUE_URL", "dead-letters"),
        ("DEAD_LETTER_QUEUE_URL", "arn:aws:sqs:eu-central-1:1:dead-letters"),
        ("DEAD_LETTER_QUEUE_URL", "https://sqs.example/1/a,https://sqs.example/1/b"),
        ("QUEUE_URL", "https://sqs.example/1/a,b"),
    ],
)
def test_a_queue_is_given_by_its_url(name: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Settings.from_environment({name: text})


@pytest.mark.parametrize(
    "name",
    [
        "PROCESSED_MESSAGES_TABLE",
        "DEAD_LETTER_QUEUE_URL",
        "QUEUE_URL",
        "BACKOFF_BASE_SECONDS",
        "MAX_RECEIVE_COUNT",
        "IDEMPOTENCY_DISABLED",
    ],
)
@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_a_blank_variable_is_as_good_as_unset(name: str, blank: str) -> None:
    assert Settings.from_environment({name: blank}) == Settings()


def test_blanks_around_a_value_do_not_count() -> None:
    environment = {"PROCESSED_MESSAGES_TABLE": " table\n", "MAX_RECEIVE_COUNT": " 7 ", "IDEMPOTENCY_DISABLED": " on "}

    assert Settings.from_environment(environment) == Settings(
        processed_messages_table="table", max_receive_count=7, idempotency_disabled=True
    )


def test_the_environment_of_the_process_is_read_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCESSED_MESSAGES_TABLE", "table-of-the-process")

    assert Settings.from_environment().processed_messages_table == "table-of-the-process"


@pytest.mark.parametrize("text", ["0", "-1", "2.5", "many", "1e3", "²", "0x5", "9" * 5_000])
def test_a_receive_count_is_a_whole_number_from_1(text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"MAX_RECEIVE_COUNT is '{text}'"):
        Settings.from_environment({"MAX_RECEIVE_COUNT": text})


@pytest.mark.parametrize(
    ("on", "off"), [("1", "0"), ("true", "false"), ("TRUE", "False"), ("Yes", "NO"), ("on", "off")]
)
def test_a_flag_is_written_in_any_of_the_usual_ways(on: str, off: str) -> None:
    assert Settings.from_environment({"IDEMPOTENCY_DISABLED": on}) == Settings(idempotency_disabled=True)
    assert Settings.from_environment({"IDEMPOTENCY_DISABLED": off}) == Settings(idempotency_disabled=False)


@pytest.mark.parametrize("text", ["2", "maybe", "disabled", "truefalse"])
def test_a_flag_written_in_an_unusual_way_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="IDEMPOTENCY_DISABLED"):
        Settings.from_environment({"IDEMPOTENCY_DISABLED": text})


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(ConfigurationError) as refusal:
        Settings.from_environment({"MAX_RECEIVE_COUNT": "many", "IDEMPOTENCY_DISABLED": "maybe"})

    assert refusal.value.problems == (
        "MAX_RECEIVE_COUNT is 'many': give a whole number from 1",
        "IDEMPOTENCY_DISABLED is 'maybe': give true or false",
    )


def test_settings_cannot_be_changed() -> None:
    settings: Any = Settings()

    with pytest.raises(FrozenInstanceError):
        settings.max_receive_count = 1


@pytest.mark.parametrize(
    ("environment", "header"),
    [({"_X_AMZN_TRACE_ID": "Root=1-a;Sampled=1"}, "Root=1-a;Sampled=1"), ({"_X_AMZN_TRACE_ID": " "}, None), ({}, None)],
)
def test_the_trace_is_that_of_the_invocation_if_there_is_one(environment: dict[str, str], header: str | None) -> None:
    assert current_trace_header(environment) == header


# -- Numbers --------------------------------------------------------------------------------------

TRY_MS = 1_000 * (numbers.CONNECT_TIMEOUT_S + numbers.READ_TIMEOUT_S)
BOTOCORE_DEFAULT_MS = 60_000
QUEUE, DEAD_LETTER_QUEUE = timedelta(days=4), timedelta(days=14)


def test_the_budget_of_a_request_holds_three_tries_and_the_pauses_between_them() -> None:
    longest_pauses = numbers.PAUSE_BASE_MS + 2 * numbers.PAUSE_BASE_MS

    assert 3 * TRY_MS + longest_pauses <= numbers.STORE_BUDGET_MS


def test_one_try_ends_long_before_botocore_would_end_it() -> None:
    assert TRY_MS <= BOTOCORE_DEFAULT_MS / 10


def test_pauses_grow_and_stay_small_beside_the_budget() -> None:
    assert 0 < numbers.PAUSE_BASE_MS < numbers.PAUSE_CAP_MS <= numbers.STORE_BUDGET_MS / 10


def test_the_pauses_between_the_tries_of_sending_outlast_a_second_and_fit_into_the_budget() -> None:
    bounds = [
        min(numbers.PAUSE_BASE_MS * 2**number, numbers.PAUSE_CAP_MS) for number in range(numbers.MOST_SENDING_TRIES - 1)
    ]

    assert 1_000 < sum(bounds) / 2 < numbers.STORE_BUDGET_MS / 2


def test_a_share_of_the_time_left_leaves_the_neighbours_more_than_half() -> None:
    assert numbers.STORE_SHARE > 2


def test_the_reserve_is_a_fifth_at_most_and_reaches_its_size_in_a_function_of_seconds() -> None:
    assert 0 < numbers.RESERVE_SHARE <= 1 / 5
    assert numbers.RESERVE_MS / numbers.RESERVE_SHARE <= 10_000


def test_a_window_fits_into_one_batch_of_statements() -> None:
    assert 1 <= numbers.WINDOW <= 25


def test_clocks_may_differ_by_more_than_a_try_takes() -> None:
    assert numbers.CLOCK_MARGIN_MS >= TRY_MS


def test_a_message_is_remembered_for_longer_than_it_can_come_back() -> None:
    assert numbers.DEFAULT_RETENTION > QUEUE + DEAD_LETTER_QUEUE + QUEUE
    assert numbers.DEFAULT_RETENTION > numbers.SHORTEST_RETENTION == timedelta(days=1)


def test_a_look_up_holds_for_less_than_clocks_may_differ() -> None:
    assert 0 < numbers.LOOK_UP_HOLDS_MS < numbers.CLOCK_MARGIN_MS


def test_a_lease_can_outlast_an_invocation_but_not_the_retention() -> None:
    assert timedelta(milliseconds=numbers.DEFAULT_TIME_LEFT_MS) < numbers.LONGEST_LEASE < numbers.SHORTEST_RETENTION


def test_a_wait_and_all_that_may_precede_it_fit_into_what_sqs_allows() -> None:
    batch_window, sqs_allows = timedelta(minutes=5), timedelta(hours=12)

    assert (
        batch_window + timedelta(milliseconds=numbers.DEFAULT_TIME_LEFT_MS) + numbers.LONGEST_WAIT
        < sqs_allows
        == numbers.LONGEST_LEASE
    )


def test_sqs_is_told_of_waits_within_the_reserve() -> None:
    assert numbers.LONGEST_SHAPING_MS < numbers.RESERVE_MS


def test_within_the_reserve_sqs_is_told_of_the_waits_of_hundreds() -> None:
    request_ms, entries = 15, 10

    assert (numbers.RESERVE_MS - numbers.LONGEST_SHAPING_MS) // request_ms * entries >= 300


def test_the_shortest_function_of_the_template_has_time_left_to_tell_sqs_of_waits() -> None:
    shortest_ms = 5_000

    assert numbers.RESERVE_SHARE * shortest_ms > numbers.LONGEST_SHAPING_MS


def test_the_backoff_of_an_outage_is_longer_than_that_of_a_failing_message() -> None:
    assert numbers.BACKOFF_BASE < numbers.OUTAGE_BACKOFF_BASE < numbers.BACKOFF_CAP < numbers.OUTAGE_BACKOFF_CAP
    assert timedelta(minutes=1) <= numbers.OUTAGE_BACKOFF_BASE
    assert numbers.OUTAGE_BACKOFF_CAP <= numbers.LONGEST_WAIT


def test_a_failing_message_is_tried_more_than_once() -> None:
    assert numbers.DEFAULT_MAX_RECEIVE_COUNT > 1
