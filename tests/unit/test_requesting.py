"""How long and how often a request is made, and which answers end it."""

from itertools import pairwise
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    ParamValidationError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from idempotent_consumer.clock import Deadline
from idempotent_consumer.errors import StoreRefusedError, StoreUnavailableError
from idempotent_consumer.requesting import TryAgain, until_answered
from idempotent_consumer.settings import PAUSE_BASE_MS, PAUSE_CAP_MS, STORE_BUDGET_MS
from idempotent_consumer.testing import FakeClock, FakeContext

TRY_MS = 3_000
URL: dict[str, Any] = {"endpoint_url": "https://dynamodb.example", "error": "down", "proxy_url": "p"}


def answer(code: str, status: int = 400) -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        "PutItem",
    )


class World:
    """A clock, and a store that gives the answers it is told, one for each try."""

    def __init__(self, *answers: Exception | str, left_ms: int = 60_000, try_ms: int = 5) -> None:
        self.clock = FakeClock(now_ms=0)
        self.deadline = Deadline(self.clock, FakeContext(left_ms, self.clock))
        self.answers = list(answers)
        self.try_ms = try_ms
        self.started_ms: list[int] = []

    def request(self) -> str:
        self.started_ms.append(self.clock.now_ms())
        self.clock.sleep_ms(self.try_ms)
        result = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(result, Exception):
            raise result
        return result

    def ask(self, share: int = 1) -> str:
        return until_answered(self.request, self.deadline, share=share)


def test_an_answer_ends_the_request() -> None:
    world = World("answer")

    assert world.ask() == "answer"
    assert len(world.started_ms) == 1


PASSING: list[Exception] = [
    TryAgain("in conflict"),
    *(
        answer(code)
        for code in (
            "ThrottlingException",
            "Throttling",
            "ProvisionedThroughputExceededException",
            "RequestLimitExceeded",
            "TransactionConflictException",
            "ReplicatedWriteConflictException",
            "InternalServerError",
        )
    ),
    *(answer("Anything", status) for status in (500, 502, 503, 504)),
    EndpointConnectionError(**URL),
    ConnectTimeoutError(**URL),
    ReadTimeoutError(**URL),
    ConnectionClosedError(**URL),
    ProxyConnectionError(**URL),
    SSLError(**URL),
    HTTPClientError(**URL),
    ResponseParserError("half an answer"),
]


@pytest.mark.parametrize("passing", PASSING, ids=str)
def test_what_may_pass_is_tried_again(passing: Exception) -> None:
    world = World(passing, passing, "answer")

    assert world.ask() == "answer"
    assert len(world.started_ms) == 3


REFUSALS: list[Exception] = [
    *(
        answer(code)
        for code in (
            "AccessDeniedException",
            "ResourceNotFoundException",
            "ValidationException",
            "UnrecognizedClientException",
            "ExpiredTokenException",
            "ItemCollectionSizeLimitExceededException",
            "IdempotentParameterMismatchException",
            "ConditionalCheckFailedException",
            "TransactionCanceledException",
        )
    ),
    NoCredentialsError(),
    ParamValidationError(report="no"),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
def test_what_another_try_would_meet_again_is_refused_at_once(refusal: Exception) -> None:
    world = World(refusal)

    with pytest.raises(StoreRefusedError) as raised:
        world.ask()

    assert raised.value.__cause__ is refusal
    assert len(world.started_ms) == 1


@pytest.mark.parametrize("error", [ValueError("a bug"), KeyError("a bug"), StoreRefusedError("no")])
def test_an_error_that_is_no_answer_comes_out_as_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        World(error).ask()

    assert raised.value is error


# -- How long -------------------------------------------------------------------------------------


def give_up(world: World, share: int = 1) -> list[int]:
    """Ask until it gives up, and return when each try was started."""
    with pytest.raises(StoreUnavailableError):
        world.ask(share)
    return world.started_ms


@pytest.mark.parametrize("try_ms", [0, 5, 400, TRY_MS])
def test_it_gives_up_within_the_budget(try_ms: int) -> None:
    world = World(answer("ThrottlingException"), left_ms=600_000, try_ms=try_ms)

    started_ms = give_up(world)

    assert len(started_ms) >= 3
    assert started_ms[-1] < STORE_BUDGET_MS


@pytest.mark.parametrize(("left_ms", "share", "end_ms"), [(6_000, 1, 5_000), (6_000, 3, 2_000), (29_000, 3, 9_666)])
def test_it_gives_up_within_its_share_of_the_time_left(left_ms: int, share: int, end_ms: int) -> None:
    world = World(answer("ThrottlingException"), left_ms=left_ms)

    started_ms = give_up(world, share)

    assert end_ms - PAUSE_CAP_MS - 2 * world.try_ms <= started_ms[-1] < end_ms


def test_no_try_starts_when_the_time_is_over() -> None:
    for _ in range(100):
        assert give_up(World(TryAgain("in conflict"), left_ms=4, try_ms=0))[-1] < 4


@pytest.mark.parametrize("left_ms", [0, 1])
def test_it_tries_once_even_with_no_time_left(left_ms: int) -> None:
    assert len(give_up(World(answer("ThrottlingException"), left_ms=left_ms))) == 1


def test_it_says_that_the_outcome_is_unknown_and_why() -> None:
    lost = ReadTimeoutError(**URL)

    with pytest.raises(StoreUnavailableError, match="no answer in time") as raised:
        World(lost, left_ms=100).ask()

    assert raised.value.__cause__ is lost


def test_another_try_is_made_only_if_it_leaves_the_reserve_for_the_answer() -> None:
    world = World(answer("ThrottlingException"), left_ms=9_000, try_ms=4_000)

    give_up(world)

    assert world.deadline.spare_ms() > 0


def test_a_clock_that_steps_back_does_not_make_it_try_for_ever() -> None:
    world = World(answer("ThrottlingException"), left_ms=600_000, try_ms=-1_000_000)

    assert len(give_up(world)) <= 100


def test_an_unreachable_store_spends_no_time_after_its_last_try() -> None:
    world = World(EndpointConnectionError(**URL), left_ms=5_000, try_ms=7)

    started_ms = give_up(world)

    assert world.clock.now_ms() == started_ms[-1] + 7


# -- Pauses ---------------------------------------------------------------------------------------


def pauses_of(world: World) -> list[int]:
    started_ms = give_up(world)
    return [later - earlier for earlier, later in pairwise(started_ms)]


def test_pauses_are_random_within_a_bound_that_doubles_up_to_the_cap() -> None:
    runs = [pauses_of(World(TryAgain("in conflict"), try_ms=0)) for _ in range(30)]

    for pauses in runs:
        for number, pause_ms in enumerate(pauses):
            assert 1 <= pause_ms <= min(PAUSE_BASE_MS * 2**number, PAUSE_CAP_MS)
    assert len({tuple(pauses) for pauses in runs}) > 1
    assert max(map(max, runs)) > PAUSE_BASE_MS


def test_every_try_is_made_anew_so_that_it_reads_the_clock() -> None:
    world = World(TryAgain("in conflict"), TryAgain("in conflict"), "answer")
    seen: list[int] = []

    def request() -> str:
        seen.append(world.deadline.now_ms())
        return world.request()

    assert until_answered(request, world.deadline) == "answer"
    assert len(set(seen)) == 3


def test_time_that_passes_meanwhile_counts() -> None:
    world = World(TryAgain("in conflict"), left_ms=14_000)

    def slow() -> str:
        world.clock.sleep_ms(4_000)
        return world.request()

    with pytest.raises(StoreUnavailableError):
        until_answered(slow, world.deadline)

    assert len(world.started_ms) == 3
