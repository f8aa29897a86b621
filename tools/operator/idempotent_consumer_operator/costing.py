"""
What a million messages cost in requests, capacity and money; arithmetic, and nothing else.

The rules are DynamoDB's and SQS's own: a write takes a unit for each kilobyte of its item, twice that in a transaction;
a consistent read takes one for each 4 kilobytes, and one for an item that is not there; a conditional write that fails
is charged for the item that it met.

Sources: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html,
https://aws.amazon.com/dynamodb/pricing/on-demand/, https://aws.amazon.com/sqs/pricing/
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MILLION = 1_000_000
PRICES_OF = "us-east-1, on demand, as published since November 2024"
ITEM_BYTES = 400
"""About what a processed message takes with its id, ARN and fingerprint; tests hold the stored item to it."""

_WRITE_UNIT_BYTES = 1_024
_READ_UNIT_BYTES = 4_096
_TRANSACTION = 2  # a transaction prepares and commits
_LARGEST_RECEIVE = 10  # a function's batch of more is received in several requests
_ITEM_OVERHEAD_BYTES = 100  # that DynamoDB adds to each stored item when it bills storage
_DAYS_A_MONTH = 30
_GIGABYTE = 2**30


class ModeName(StrEnum):
    """Name the modes as the command takes them."""

    LAZY = "lazy"
    EAGER = "eager"
    TRANSACTIONAL = "transactional"
    NATURAL = "natural"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """
    Hold prices in US dollars.

    Attributes:
        million_writes: of a million write request units.
        million_reads: of a million read request units.
        million_sqs_requests: of a million requests to a standard queue; FIFO queues cost 0.50.
        gigabyte_month: of storage.
    """

    million_writes: float = 0.625
    million_reads: float = 0.125
    million_sqs_requests: float = 0.40
    gigabyte_month: float = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """
    Describe what a consumer does.

    Attributes:
        mode: how it records messages.
        item_bytes: size of a processed message in the table.
        duplicate_share: which part of the deliveries are duplicates of processed messages, from 0 up to 1, which is not
            in it.
        batch_size: messages in a batch.
        sent_together: messages that a producer sends in one request.
        writes: the handler's own writes in a transaction, for each message.
        write_bytes: size of the item of each.
        retention_days: how long processed messages are remembered.
    """

    mode: ModeName
    item_bytes: int = ITEM_BYTES
    duplicate_share: float = 0.0
    batch_size: int = 10
    sent_together: int = 1
    writes: int = 1
    write_bytes: int = _WRITE_UNIT_BYTES
    retention_days: int = 29


@dataclass(frozen=True, slots=True)
class Cost:
    """
    Hold what a million messages take.

    Attributes:
        deliveries: how often they arrive, duplicates included.
        write_units: consumed for processed messages.
        work_units: write units consumed for the handler's own writes in transactions.
        read_units: consumed by look-ups.
        sqs_requests: to send, receive and delete.
        gigabytes: of processed messages that are stored at a time, if a million arrive in each month.
        dollars: of each of them, and `total`.
    """

    deliveries: float
    write_units: float
    work_units: float
    read_units: float
    sqs_requests: float
    gigabytes: float
    dollars: dict[str, float]


def cost_of_a_million(load: Load, prices: Prices) -> Cost:
    """Return what a million messages cost, each of which is processed once."""
    deliveries = MILLION / (1 - load.duplicate_share)
    duplicates = deliveries - MILLION
    first, again = _UNITS[load.mode](load)
    write_units = MILLION * first.writes + duplicates * again.writes
    read_units = MILLION * first.reads + duplicates * again.reads
    work_units = MILLION * first.work
    received_together = min(load.batch_size, _LARGEST_RECEIVE)
    # Duplicates are counted as sent again; those that SQS itself delivers twice cost no request to send.
    sqs_requests = deliveries / load.sent_together + 2 * deliveries / received_together
    gigabytes = 0.0
    if load.mode is not ModeName.NATURAL:
        stored_bytes = MILLION * (load.item_bytes + _ITEM_OVERHEAD_BYTES)
        gigabytes = stored_bytes / _GIGABYTE * load.retention_days / _DAYS_A_MONTH
    dollars = {
        "writes": write_units * prices.million_writes / MILLION,
        "work": work_units * prices.million_writes / MILLION,
        "reads": read_units * prices.million_reads / MILLION,
        "sqs": sqs_requests * prices.million_sqs_requests / MILLION,
        "storage": gigabytes * prices.gigabyte_month,
    }
    dollars["total"] = sum(dollars.values())
    return Cost(deliveries, write_units, work_units, read_units, sqs_requests, gigabytes, dollars)


@dataclass(frozen=True, slots=True)
class _Units:
    """Hold the units that one delivery consumes."""

    writes: int = 0
    work: int = 0
    reads: int = 0


def _write(size: int) -> int:
    return max(1, -(-size // _WRITE_UNIT_BYTES))


def _read(size: int) -> int:
    return max(1, -(-size // _READ_UNIT_BYTES))


def _lazy(load: Load) -> tuple[_Units, _Units]:
    """Return the units of a message's first delivery, and those of a duplicate."""
    return _Units(reads=1, writes=_write(load.item_bytes)), _Units(reads=_read(load.item_bytes))


def _eager(load: Load) -> tuple[_Units, _Units]:
    write = _write(load.item_bytes)
    return _Units(writes=2 * write), _Units(writes=write)  # claim and completion; a claim that fails


def _transactional(load: Load) -> tuple[_Units, _Units]:
    record = _TRANSACTION * _write(load.item_bytes)
    work = _TRANSACTION * load.writes * _write(load.write_bytes)
    return _Units(reads=1, writes=record, work=work), _Units(reads=_read(load.item_bytes))


def _natural(_load: Load) -> tuple[_Units, _Units]:
    return _Units(), _Units()


_UNITS = {
    ModeName.LAZY: _lazy,
    ModeName.EAGER: _eager,
    ModeName.TRANSACTIONAL: _transactional,
    ModeName.NATURAL: _natural,
}
