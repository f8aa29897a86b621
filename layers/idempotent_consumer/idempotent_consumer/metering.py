"""What an invocation asks of AWS: requests, their time, and the capacity that they consume."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, TypeVar

R = TypeVar("R")

_THROTTLES = frozenset(
    {
        "LimitExceededException",
        "ProvisionedThroughputExceeded",  # as a cancellation reason
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingError",  # as a cancellation reason
        "ThrottlingException",
    }
)
_ANSWERS = frozenset({"ConditionalCheckFailedException", "TransactionCanceledException"})
"""Errors that are what was asked about: whether a condition holds."""


@dataclass
class Usage:
    """
    Count what one invocation asks of AWS; its threads share it.

    Attributes:
        store_times_ms: how long each request to the store took, tries counted one by one.
        store_throttles: requests that were turned away for being too many.
        store_errors: requests without an answer, or with another refusal than a condition's.
        read_units: read capacity that DynamoDB says was consumed; failed conditions, which it bills too, are not told.
        write_units: write capacity, likewise.
        sqs_requests: requests to SQS for dead letters, redelivery and what a handler sends with a `Producer`.
    """

    store_times_ms: list[float] = field(default_factory=list)
    store_throttles: int = 0
    store_errors: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    sqs_requests: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def count_request(self, took_ms: float, *, reads: bool, answer: Any) -> None:
        """Count a request to the store that was answered."""
        units = _units(answer)
        with self._lock:
            self.store_times_ms.append(took_ms)
            if reads:
                self.read_units += units
            else:
                self.write_units += units

    def count_failure(self, took_ms: float, error: Exception) -> None:
        """Count a request to the store that raised."""
        codes = _codes(error)
        with self._lock:
            self.store_times_ms.append(took_ms)
            self.store_throttles += bool(codes & _THROTTLES)
            self.store_errors += not codes & (_THROTTLES | _ANSWERS)

    def count_sqs_request(self) -> None:
        """Count a request to SQS."""
        with self._lock:
            self.sqs_requests += 1


_usage: ContextVar[Usage | None] = ContextVar("idempotent_consumer_usage", default=None)


@contextmanager
def metered() -> Iterator[Usage]:
    """Count what is asked of AWS in this context, and in threads that run in copies of it."""
    usage = Usage()
    token = _usage.set(usage)
    try:
        yield usage
    finally:
        _usage.reset(token)


def ask_store(request: Callable[..., R], *, reads: bool = False, **parameters: Any) -> R:
    """
    Make one request to DynamoDB, and count it; what it raises comes out of here.

    Args:
        request: method of a client.
        reads: whether it reads; it writes otherwise.
        parameters: its parameters.

    Returns:
        Its answer.
    """
    usage = _usage.get()
    began_ns = perf_counter_ns()
    try:
        answer = request(**parameters, ReturnConsumedCapacity="TOTAL")
    except Exception as error:
        if usage is not None:
            usage.count_failure(_ms_since(began_ns), error)
        raise
    if usage is not None:
        usage.count_request(_ms_since(began_ns), reads=reads, answer=answer)
    return answer


def ask_sqs(request: Callable[..., R], **parameters: Any) -> R:
    """Make one request to SQS, and count it, whatever comes of it."""
    usage = _usage.get()
    if usage is not None:
        usage.count_sqs_request()
    return request(**parameters)


def _ms_since(began_ns: int) -> float:
    return (perf_counter_ns() - began_ns) / 1_000_000


def _units(answer: Any) -> float:
    """Return the units of a request: one table's, or those of all tables that it concerned."""
    consumed = answer.get("ConsumedCapacity") if isinstance(answer, Mapping) else None
    tables = consumed if isinstance(consumed, list) else [consumed]
    return sum(_number(table.get("CapacityUnits")) for table in tables if isinstance(table, Mapping))


def _number(value: Any) -> float:
    """Return a finite number, or 0: whatever an answer holds, metering fails no request, nor its metrics."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if math.isfinite(number) else 0.0


def _codes(error: Exception) -> set[str]:
    response = getattr(error, "response", None)
    if not isinstance(response, Mapping):
        return {""}
    reasons = response.get("CancellationReasons")
    return {_code(response.get("Error")), *map(_code, reasons if isinstance(reasons, list) else ())}


def _code(said: Any) -> str:
    code = said.get("Code") if isinstance(said, Mapping) else None
    return code if isinstance(code, str) else ""
