"""Make one request until it is answered, with pauses between its tries, within the time that there is for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, SSLError
from botocore.exceptions import ConnectionError as NoConnectionError
from botocore.parsers import ResponseParserError

from idempotent_consumer.clock import Deadline
from idempotent_consumer.errors import StoreRefusedError, StoreUnavailableError
from idempotent_consumer.settings import PAUSE_BASE_MS, PAUSE_CAP_MS, STORE_BUDGET_MS

T = TypeVar("T")

PASSING_CODES = frozenset(
    {
        "InternalServerError",
        "KMS.ThrottlingException",  # of a queue's key
        "KmsThrottled",
        "ProvisionedThroughputExceeded",  # as a cancellation reason
        "ProvisionedThroughputExceededException",
        "ReplicatedWriteConflictException",
        "RequestLimitExceeded",
        "RequestThrottled",
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

REQUEST_ERRORS = (ClientError, BotoCoreError, ResponseParserError)
"""What a request raises that was not answered well."""

_SERVER_ERROR = 500


class TryAgain(Exception):  # noqa: N818 - an instruction to `until_answered`, never seen outside
    """Say that the answer is none yet, such as a conflict with another transaction."""


class Patience:
    """
    Know whether there is time for one more try of a request, and let a random pause pass before it.

    Args:
        deadline: end of the invocation.
        share: which part of the time left may be used: 3 means a third.
    """

    __slots__ = ("_began_ms", "_budget_ms", "_deadline", "_longest_pause_ms", "_longest_try_ms")

    def __init__(self, deadline: Deadline, *, share: int = 1) -> None:
        self._deadline = deadline
        self._budget_ms = min(STORE_BUDGET_MS, deadline.left_ms() // share)
        self._longest_pause_ms, self._longest_try_ms = PAUSE_BASE_MS, 0
        self._began_ms = deadline.now_ms()

    def lasts(self) -> bool:
        """Return True after a pause if there is time for another try, False at once if there is not."""
        took_ms = max(0, self._deadline.now_ms() - self._began_ms)  # the clock may have been set back
        self._longest_try_ms = max(self._longest_try_ms, took_ms)
        pause_ms = random.randint(1, self._longest_pause_ms)
        self._budget_ms -= took_ms + pause_ms
        # Another try may last as long as the longest so far, and SQS is to be answered after it.
        if self._budget_ms <= 0 or self._deadline.spare_ms() <= pause_ms + self._longest_try_ms:
            return False
        self._deadline.pause_ms(pause_ms)
        self._longest_pause_ms = min(2 * self._longest_pause_ms, PAUSE_CAP_MS)
        self._began_ms = self._deadline.now_ms()
        return True


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
    patience = Patience(deadline, share=share)
    while True:
        try:
            return request()
        except (TryAgain, *REQUEST_ERRORS) as error:
            if not may_pass(error):
                raise StoreRefusedError(f"the store refuses: {error}") from error
            if not patience.lasts():
                raise StoreUnavailableError(f"the store gave no answer in time: {error}") from error


def may_pass(error: Exception) -> bool:
    """Tell whether another try of the same request may be answered otherwise."""
    if isinstance(error, ClientError):
        return _is_servers_fault(error) or error.response["Error"]["Code"] in PASSING_CODES
    return isinstance(error, (TryAgain, NoConnectionError, HTTPClientError, ResponseParserError))


def may_have_arrived(error: Exception) -> bool:
    """Tell whether a request that raised may have been carried out all the same, because its answer was lost."""
    return _is_servers_fault(error) or isinstance(error, (HTTPClientError, SSLError, ResponseParserError))


def _is_servers_fault(error: Exception) -> bool:
    if not isinstance(error, ClientError):
        return False
    return error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= _SERVER_ERROR
