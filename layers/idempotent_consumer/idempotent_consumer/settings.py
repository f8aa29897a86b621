"""What the environment says, read in one place, and the package's numbers with the inequalities between them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from idempotent_consumer.errors import ConfigurationError

# -- Numbers. tests/unit/test_settings.py holds the inequalities that the comments state. ----------

CLOCK_MARGIN_MS = 5_000
"""How far the clocks of two workers may differ: a lease counts as ended only this long after its end."""

RESERVE_MS = 1_500
"""Time kept back for answering SQS, and for telling it when hundreds of deliveries are to come back; at most
RESERVE_SHARE of the invocation, so that short functions work too."""
RESERVE_SHARE = 0.2

DEFAULT_TIME_LEFT_MS = 15 * 60 * 1000
"""Time that an invocation is taken to have when no context tells: the longest that Lambda lets a function run."""

CONNECT_TIMEOUT_S = 1.0
READ_TIMEOUT_S = 2.0
LONGEST_TRY_MS = int(1_000 * (CONNECT_TIMEOUT_S + READ_TIMEOUT_S))
"""One try of a request ends after LONGEST_TRY_MS; the defaults of botocore outlast a function."""

STORE_BUDGET_MS = 10_000
STORE_SHARE = 3
"""No try of a request starts later than STORE_BUDGET_MS after the first or, before the handler has run, than a third of
the time left: its neighbours get their turn even if the store never answers. The budget holds at least three tries."""

MOST_CONCURRENT = 100
"""Handlers that may run side by side; each thread has its connection to the store."""

LOOK_UP_HOLDS_MS = 1_000
"""A lazy handler that starts later than this after its look-up is looked up again: what another worker has stored in
between is not handled again."""

LONGEST_LEASE = timedelta(hours=12)
"""As long as SQS can keep a delivery from coming back."""

PAUSE_BASE_MS = 25
PAUSE_CAP_MS = 1_000
"""A try that met a throttle or a conflict is followed by a random pause; its upper bound doubles from base to cap."""

WINDOW = 25
"""Deliveries that are admitted together, at most: what one BatchExecuteStatement takes."""

MOST_SENDING_TRIES = 8
"""Tries of one request to SQS, within the budget above: what a throttle of a second needs, pauses included."""

SHAPING_CONNECT_TIMEOUT_S = 0.25
SHAPING_READ_TIMEOUT_S = 0.5
LONGEST_SHAPING_MS = int(1_000 * (SHAPING_CONNECT_TIMEOUT_S + SHAPING_READ_TIMEOUT_S)) + 200
"""SQS is told of waits at the very end of an invocation, in the time that is kept back. No request is made that might
not fit in, with a fifth of a second for the answer after it; what the reserve has beyond that is for the requests
before the last, of ten deliveries and some 15 ms each. In a function of less than LONGEST_SHAPING_MS / RESERVE_SHARE,
that is 4.75 seconds, what ran out of time comes back after its queue's visibility timeout."""

LONGEST_WAIT = timedelta(hours=11, minutes=30)
"""SQS keeps a delivery from coming back for 12 hours after its receive at most, and refuses a request that would pass
them. Before it, the invocation may have waited for its batch for 5 minutes, and lasted 15."""

BACKOFF_BASE = timedelta(seconds=20)
BACKOFF_CAP = timedelta(minutes=15)
"""A message whose handler raises has its DEFAULT_MAX_RECEIVE_COUNT tries within minutes: longer than a deploy or a
failover of what it calls, and shorter than anybody waits."""

OUTAGE_BACKOFF_BASE = timedelta(minutes=2)
OUTAGE_BACKOFF_CAP = timedelta(minutes=30)
"""With these a message outlasts hours without a store before its queue's own receives are spent."""

LARGEST_DECODED_BYTES = 10 * 1024 * 1024
"""What a compressed or encoded body may hold, unless its consumer allows more: ten times the largest body of SQS. A
megabyte of gzip can hold a gigabyte, and a function of 128 MB is killed with the whole batch long before."""

LARGEST_OUTBOX_BYTES = 65_536
"""Outgoing messages of one unit of work, as they are stored: an item takes 400 KB, and each KB of it a write unit."""

RELAY_PATIENCE_MS = 15 * 60 * 1000
"""A target that has had no answer for so long no longer holds up what goes elsewhere: its messages are parked."""

DEFAULT_MAX_RECEIVE_COUNT = 5

DEFAULT_RETENTION = timedelta(days=29)
"""A message can come back for 4 days in its queue, 14 in the dead-letter queue and, after a redrive, 4 more; the rest
is slack for queues that keep messages longer."""
SHORTEST_RETENTION = timedelta(days=1)

_MOST_DIGITS = 6
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """
    Hold what the deployment decides.

    Attributes:
        processed_messages_table: name of the table of processed messages (`PROCESSED_MESSAGES_TABLE`); None if unset.
        dead_letter_queue_url: where messages go that are given up (`DEAD_LETTER_QUEUE_URL`); None if unset: none is.
        queue_urls: of the queues that feed the function (`QUEUE_URL`, separated by commas), whose redelivery is shaped.
        backoff_base: the longest wait after a message's first receive (`BACKOFF_BASE_SECONDS`).
        backoff_cap: the longest wait of all (`BACKOFF_CAP_SECONDS`).
        max_receive_count: receives at which a message is given up whose handler raises (`MAX_RECEIVE_COUNT`; 5).
        outbox_relay: what sends the outgoing messages (`OUTBOX_RELAY`), such as the ARN of the table's stream that
            triggers it; None if unset: then there are none. Only its presence counts.
        outbox_dead_letter_queue_url: where the relay parks what its target will not have
            (`OUTBOX_DEAD_LETTER_QUEUE_URL`); only the relay needs it.
        idempotency_disabled: for development only: every delivery is handled, nothing is recognised
            (`IDEMPOTENCY_DISABLED`).
        shortest_retention: what a consumer's retention may not be under; only tests set it, and no variable does.
    """

    processed_messages_table: str | None = None
    dead_letter_queue_url: str | None = None
    queue_urls: tuple[str, ...] = ()
    backoff_base: timedelta = BACKOFF_BASE
    backoff_cap: timedelta = BACKOFF_CAP
    max_receive_count: int = DEFAULT_MAX_RECEIVE_COUNT
    outbox_relay: str | None = None
    outbox_dead_letter_queue_url: str | None = None
    idempotency_disabled: bool = False
    shortest_retention: timedelta = SHORTEST_RETENTION

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """
        Read the settings from environment variables.

        Args:
            environment: the variables; the process's own if None.

        Returns:
            The settings. Required ones may still be missing: the consumer knows which it needs.

        Raises:
            ConfigurationError: naming every variable whose value cannot be used.
        """
        settings, problems = read_settings(environment)
        if problems:
            raise ConfigurationError(*problems)
        return settings


def current_trace_header(environment: Mapping[str, str] | None = None) -> str | None:
    """
    Return the X-Ray header of the invocation under way, which Lambda renews in the environment; None outside of one.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
    """
    environment = os.environ if environment is None else environment
    return environment.get("_X_AMZN_TRACE_ID", "").strip() or None


def is_traced(environment: Mapping[str, str] | None = None) -> bool:
    """Tell whether Lambda has X-Ray trace the invocation under way, and POWERTOOLS_TRACE_DISABLED is not set."""
    environment = os.environ if environment is None else environment
    is_forbidden = environment.get("POWERTOOLS_TRACE_DISABLED", "").strip().lower() in _TRUE
    is_sampled = "Sampled=1" in (current_trace_header(environment) or "")
    return is_sampled and not is_forbidden and "LAMBDA_TASK_ROOT" in environment


def read_settings(environment: Mapping[str, str] | None = None) -> tuple[Settings, list[str]]:
    """Return the settings as far as they can be read, and every problem with the rest."""
    environment = os.environ if environment is None else environment
    problems: list[str] = []
    settings = Settings(
        processed_messages_table=environment.get("PROCESSED_MESSAGES_TABLE", "").strip() or None,
        dead_letter_queue_url=next(iter(_urls(environment, "DEAD_LETTER_QUEUE_URL", problems, most=1)), None),
        queue_urls=_urls(environment, "QUEUE_URL", problems),
        backoff_base=_seconds(environment, "BACKOFF_BASE_SECONDS", BACKOFF_BASE, problems),
        backoff_cap=_seconds(environment, "BACKOFF_CAP_SECONDS", BACKOFF_CAP, problems),
        max_receive_count=_count(environment, "MAX_RECEIVE_COUNT", DEFAULT_MAX_RECEIVE_COUNT, problems),
        outbox_relay=environment.get("OUTBOX_RELAY", "").strip() or None,
        outbox_dead_letter_queue_url=next(
            iter(_urls(environment, "OUTBOX_DEAD_LETTER_QUEUE_URL", problems, most=1)), None
        ),
        idempotency_disabled=_flag(environment, "IDEMPOTENCY_DISABLED", problems),
    )
    return settings, problems


def _urls(environment: Mapping[str, str], name: str, problems: list[str], most: int | None = None) -> tuple[str, ...]:
    urls = tuple(filter(None, map(str.strip, environment.get(name, "").split(","))))
    if any("://" not in url for url in urls) or (most is not None and len(urls) > most):
        problems.append(
            f"{name} is {environment[name]!r}: give the URL of {'a queue' if most else 'queues, with commas'}"
        )
        return ()
    return urls


def _seconds(environment: Mapping[str, str], name: str, default: timedelta, problems: list[str]) -> timedelta:
    return timedelta(seconds=_count(environment, name, default // timedelta(seconds=1), problems))


def _count(environment: Mapping[str, str], name: str, default: int, problems: list[str]) -> int:
    text = environment.get(name, "").strip()
    if not text:
        return default
    if text.isdecimal() and len(text) <= _MOST_DIGITS and int(text) >= 1:
        return int(text)
    problems.append(f"{name} is {text!r}: give a whole number from 1")
    return default


def _flag(environment: Mapping[str, str], name: str, problems: list[str]) -> bool:
    text = environment.get(name, "").strip().lower()
    if text not in _TRUE | _FALSE:
        problems.append(f"{name} is {text!r}: give true or false")
    return text in _TRUE
