"""Make one request until it is answered, within the time that there is for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NoConnectionError
from botocore.parsers import ResponseParserError

from idempotent_consumer.clock import Deadline
from idempotent_consumer.errors import StoreRefusedError, StoreUnavailableError
from idempotent_consumer.settings import PAUSE_BASE_MS, PAUSE_CAP_MS, STORE_BUDGET_MS

T = TypeVar("T")

PASSING_CODES = frozenset(
    {
        "InternalServerError",
        "ProvisionedThroughputExceeded",  # as a cancellation reason
        "ProvisionedThroughputExceededException",
        "ReplicatedWriteConflictException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "Throttling",
        "ThrottlingError",  # as a cancellation reason
        "ThrottlingException",
        "TransactionConflict",  # as a cancellation reason
        "TransactionConflictException",
    }
)
"""Answers that another try may change. The SDK's retries leave conflicts out, and do not see cancellation reasons."""

_SERVER_ERROR = 500


class TryAgain(Exception):  # noqa: N818 - an instruction to `until_answered`, never seen outside
    """Say that the answer is none yet, such as a conflict with another transaction."""


def until_answered(request: Callable[[], T], deadline: Deadline, *, share: int = 1) -> T:
    """
    Make a request, and again after a random pause while its answer is lost, a throttle or a conflict.

    Every try is made by calling `request` anew, so that it reads the clock afresh; botocore's own retries are off,
    because they know nothing of the time left.

    Args:
        request: makes one try.
        deadline: end of the invocation.
        share: which part of the time left may be used: 3 means a third.

    Returns:
        What the request returned.

    Raises:
        StoreUnavailableError: there was no answer in time; the request may or may not have been carried out.
        StoreRefusedError: the answer is a refusal that another try would meet again.
    """
    budget_ms = min(STORE_BUDGET_MS, deadline.left_ms() // share)
    longest_pause_ms, longest_try_ms = PAUSE_BASE_MS, 0
    while True:
        began_ms = deadline.now_ms()
        try:
            return request()
        except (TryAgain, ClientError, BotoCoreError, ResponseParserError) as error:
            if not _may_pass(error):
                raise StoreRefusedError(f"the store refuses: {error}") from error
            took_ms = max(0, deadline.now_ms() - began_ms)  # the clock may have been set back
            longest_try_ms = max(longest_try_ms, took_ms)
            pause_ms = random.randint(1, longest_pause_ms)
            budget_ms -= took_ms + pause_ms
            # Another try may last as long as the longest so far, and SQS is to be answered after it.
            if budget_ms <= 0 or deadline.spare_ms() <= pause_ms + longest_try_ms:
                raise StoreUnavailableError(f"the store gave no answer in time: {error}") from error
        deadline.pause_ms(pause_ms)
        longest_pause_ms = min(2 * longest_pause_ms, PAUSE_CAP_MS)


def _may_pass(error: Exception) -> bool:
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return status >= _SERVER_ERROR or error.response["Error"]["Code"] in PASSING_CODES
    return isinstance(error, (TryAgain, NoConnectionError, HTTPClientError, ResponseParserError))
