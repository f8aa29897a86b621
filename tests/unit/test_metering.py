"""What an invocation asks of AWS is counted, request by request, into its own sum."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from idempotent_consumer.metering import Usage, ask_sqs, ask_store, metered


def answering(units: Any = None) -> Callable[..., Any]:
    return lambda **parameters: {"asked": parameters} | ({"ConsumedCapacity": units} if units is not None else {})


def raising(error: Exception) -> Callable[..., Any]:
    def request(**parameters: Any) -> Any:
        raise error

    return request


def refusal(code: str, *reasons: str) -> ClientError:
    response: Any = {"Error": {"Code": code}, "CancellationReasons": [{"Code": reason} for reason in reasons]}
    return ClientError(response, "PutItem")


def test_a_request_is_made_as_it_is_with_its_capacity_asked_for() -> None:
    answer = ask_store(answering(), TableName="t")

    assert answer["asked"] == {"TableName": "t", "ReturnConsumedCapacity": "TOTAL"}


@pytest.mark.parametrize(
    ("consumed", "units"),
    [
        ({"CapacityUnits": 2.5}, 2.5),
        ([{"CapacityUnits": 2.0}, {"CapacityUnits": 4.0}], 6.0),
        ([], 0.0),
        (None, 0.0),
        ({}, 0.0),
    ],
)
@pytest.mark.parametrize("reads", [True, False])
def test_capacity_is_that_of_all_tables_and_counts_as_read_or_written(consumed: Any, units: float, reads: bool) -> None:
    with metered() as usage:
        ask_store(answering(consumed), reads=reads)

    assert (usage.read_units, usage.write_units) == ((units, 0.0) if reads else (0.0, units))
    assert len(usage.store_times_ms) == 1
    assert usage.store_times_ms[0] >= 0


@pytest.mark.parametrize(
    ("error", "throttles", "errors"),
    [
        (refusal("ProvisionedThroughputExceededException"), 1, 0),
        (refusal("ThrottlingException"), 1, 0),
        (refusal("RequestLimitExceeded"), 1, 0),
        (refusal("TransactionCanceledException", "None", "ThrottlingError"), 1, 0),
        (refusal("TransactionCanceledException", "ConditionalCheckFailed", "None"), 0, 0),
        (refusal("ConditionalCheckFailedException"), 0, 0),
        (refusal("AccessDeniedException"), 0, 1),
        (refusal("InternalServerError"), 0, 1),
        (ReadTimeoutError(endpoint_url="dynamodb"), 0, 1),
    ],
)
def test_what_a_request_raises_comes_out_and_is_counted_for_what_it_is(
    error: Exception, throttles: int, errors: int
) -> None:
    with metered() as usage, pytest.raises(type(error)) as raised:
        ask_store(raising(error))

    assert raised.value is error
    assert (len(usage.store_times_ms), usage.store_throttles, usage.store_errors) == (1, throttles, errors)


@pytest.mark.parametrize(
    "consumed",
    [
        {"CapacityUnits": None},
        {"CapacityUnits": "many"},
        {"CapacityUnits": [1]},
        {"CapacityUnits": float("nan")},
        {"CapacityUnits": float("inf")},
        {"CapacityUnits": Decimal("NaN")},
        {"CapacityUnits": 10**400},
        {"CapacityUnits": {}},
        [None, "x", 7, {"CapacityUnits": None}],
        "2.5",
        7,
    ],
)
def test_capacity_of_odd_form_counts_as_none_and_never_fails_its_request(consumed: Any) -> None:
    with metered() as usage:
        assert ask_store(answering(consumed))["ConsumedCapacity"] is consumed

    assert (usage.read_units, usage.write_units, len(usage.store_times_ms)) == (0.0, 0.0, 1)


@pytest.mark.parametrize("answer", [None, [], "text", 7])
def test_an_answer_of_odd_form_is_the_callers_to_judge(answer: Any) -> None:
    with metered() as usage:
        assert ask_store(lambda **_: answer) is answer

    assert len(usage.store_times_ms) == 1


@pytest.mark.parametrize(
    "response",
    [
        "text",
        7,
        {"Error": None},
        {"Error": "text"},
        {"Error": {"Code": ["a"]}},
        {"Error": {"Code": {}}},
        {"Error": {"Code": "ValidationException"}, "CancellationReasons": [None, "x", {"Code": {}}]},
        {"Error": {"Code": "ValidationException"}, "CancellationReasons": 7},
    ],
)
def test_an_error_of_odd_form_comes_out_as_it_is_and_counts_as_one(response: Any) -> None:
    class OddError(Exception):
        pass

    error = OddError()
    error.response = response  # type: ignore[attr-defined]

    with metered() as usage, pytest.raises(OddError) as raised:
        ask_store(raising(error))

    assert raised.value is error
    assert (len(usage.store_times_ms), usage.store_throttles, usage.store_errors) == (1, 0, 1)


def test_what_is_of_odd_form_beside_a_throttle_does_not_hide_it() -> None:
    error = refusal("TransactionCanceledException", "ThrottlingError")
    error.response["CancellationReasons"].insert(0, None)  # type: ignore[typeddict-item]

    with metered() as usage, pytest.raises(ClientError):
        ask_store(raising(error))

    assert usage.store_throttles == 1


def test_a_request_to_sqs_is_counted_whatever_comes_of_it() -> None:
    with metered() as usage:
        assert ask_sqs(answering(), QueueUrl="q") == {"asked": {"QueueUrl": "q"}}
        with pytest.raises(ClientError):
            ask_sqs(raising(refusal("AccessDenied")))

    assert usage == Usage(sqs_requests=2)


def test_outside_of_an_invocation_requests_are_made_and_not_counted() -> None:
    with metered() as usage:
        pass
    ask_store(answering({"CapacityUnits": 1}))
    ask_sqs(answering())

    assert usage == Usage()


def test_threads_that_run_in_copies_of_the_context_count_into_their_invocation() -> None:
    def work(times: int) -> None:
        for _ in range(times):
            ask_store(answering({"CapacityUnits": 1}))

    with ThreadPoolExecutor(4) as pool:
        usages = []
        for times in (50, 70):
            with metered() as usage:
                usages.append(usage)
                for each in [pool.submit(contextvars.copy_context().run, work, times) for _ in range(4)]:
                    each.result()

    assert [usage.write_units for usage in usages] == [200, 280]
    assert [len(usage.store_times_ms) for usage in usages] == [200, 280]


def test_coroutines_count_into_their_invocation() -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        ask_store(answering({"CapacityUnits": 1}), reads=True)

    async def all_of_it() -> None:
        await asyncio.gather(*(work() for _ in range(5)))

    with metered() as usage:
        asyncio.run(all_of_it())

    assert usage.read_units == 5


def test_an_invocation_inside_another_counts_by_itself() -> None:
    with metered() as outer:
        with metered() as inner:
            ask_sqs(answering())
        ask_sqs(answering())
        ask_sqs(answering())

    assert (outer.sqs_requests, inner.sqs_requests) == (2, 1)
