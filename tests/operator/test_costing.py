"""What a million messages cost, against figures that were reckoned by hand."""

import json
from pathlib import Path

import pytest

from idempotent_consumer_operator.costing import ITEM_BYTES, Cost, Load, ModeName, Prices, cost_of_a_million
from tests.operator.conftest import Command

APPROVED = Path(__file__).parents[1] / "approved" / "processed_message.json"


def cost(mode: ModeName, **load: float) -> Cost:
    return cost_of_a_million(Load(mode=mode, **load), Prices())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mode", "writes", "work", "reads"),
    [
        (ModeName.LAZY, 1_000_000, 0, 1_000_000),  # one put; one look-up of what is not there
        (ModeName.EAGER, 2_000_000, 0, 0),  # claim, completion
        (ModeName.TRANSACTIONAL, 2_000_000, 2_000_000, 1_000_000),  # twice the record, twice the write; look-up
        (ModeName.NATURAL, 0, 0, 0),
    ],
)
def test_units_of_messages_that_arrive_once(mode: ModeName, writes: int, work: int, reads: int) -> None:
    result = cost(mode)

    assert (result.write_units, result.work_units, result.read_units) == (writes, work, reads)
    assert result.deliveries == 1_000_000


@pytest.mark.parametrize(
    ("mode", "writes", "reads"),
    [
        (ModeName.LAZY, 1_000_000, 2_000_000),  # the duplicate is looked up
        (ModeName.EAGER, 3_000_000, 0),  # the duplicate's claim fails, and is charged
        (ModeName.TRANSACTIONAL, 2_000_000, 2_000_000),
        (ModeName.NATURAL, 0, 0),
    ],
)
def test_units_when_every_second_delivery_is_a_duplicate(mode: ModeName, writes: int, reads: int) -> None:
    result = cost(mode, duplicate_share=0.5)

    assert (result.deliveries, result.write_units, result.read_units) == (2_000_000, writes, reads)


@pytest.mark.parametrize(("item_bytes", "write", "read"), [(1_024, 1, 1), (1_025, 2, 1), (4_096, 4, 1), (4_097, 5, 2)])
def test_large_items_cost_by_the_kilobyte_to_write_and_by_four_to_read(item_bytes: int, write: int, read: int) -> None:
    eager = cost(ModeName.EAGER, item_bytes=item_bytes, duplicate_share=0.5)
    lazy = cost(ModeName.LAZY, item_bytes=item_bytes, duplicate_share=0.5)

    assert eager.write_units == 3_000_000 * write
    assert lazy.read_units == 1_000_000 + 1_000_000 * read  # what is not there costs one, whatever its size would be


def test_the_handlers_own_writes_count_twice_each() -> None:
    assert cost(ModeName.TRANSACTIONAL, writes=3, write_bytes=2_000).work_units == 12_000_000
    assert cost(ModeName.TRANSACTIONAL, writes=0).work_units == 0


@pytest.mark.parametrize(
    ("load", "requests"),
    [
        ({}, 1_000_000 + 200_000),  # sent one by one, received and deleted by ten
        ({"sent_together": 10}, 300_000),
        ({"batch_size": 1}, 3_000_000),
        ({"batch_size": 100}, 1_200_000),  # a receive takes ten at most
        ({"sent_together": 10, "duplicate_share": 0.5}, 600_000),
    ],
)
def test_requests_to_sqs(load: dict[str, float], requests: int) -> None:
    assert cost(ModeName.NATURAL, **load).sqs_requests == requests


def test_dollars_are_amounts_times_prices() -> None:
    prices = Prices(million_writes=1.0, million_reads=10.0, million_sqs_requests=100.0, gigabyte_month=0.0)

    result = cost_of_a_million(Load(mode=ModeName.LAZY), prices)

    assert result.dollars == {"writes": 1.0, "work": 0.0, "reads": 10.0, "sqs": 120.0, "storage": 0.0, "total": 131.0}


def test_storage_is_what_a_months_messages_take_with_dynamodbs_overhead() -> None:
    result = cost(ModeName.LAZY, item_bytes=973, retention_days=30)  # with 100 bytes more 1,073 bytes each

    assert result.gigabytes == pytest.approx(1_073_000_000 / 1_073_741_824)
    assert cost(ModeName.NATURAL).gigabytes == 0


def test_a_processed_message_is_not_larger_than_is_assumed() -> None:
    item = json.loads(APPROVED.read_text(encoding="utf-8"))["completed"]
    del item["outbox"]  # what a message sends is its own, and is asked for
    longer = len("charge-payment#00000000-0000-0000-0000-000000000000") + 32  # a key and an owner as they are
    size = sum(len(name) + len(next(iter(value.values()))) for name, value in item.items())

    assert ITEM_BYTES / 2 < size < size + longer <= ITEM_BYTES


def test_the_command_shows_amounts_prices_and_what_it_assumes(command: Command) -> None:
    seen = command("cost", "eager", "--duplicates", "0.5")

    assert seen.code == 0
    assert "3,000,000" in seen.out
    assert "us-east-1" in seen.err
    document = command("cost", "eager", "--duplicates", "0.5", "--price-writes", "2", "--json").document
    assert (document["write_units"], document["dollars"]["writes"]) == (3_000_000, 6.0)
    assert document["prices"]["million_writes"] == 2.0


def test_a_share_of_duplicates_that_leaves_no_message_is_refused(command: Command) -> None:
    assert command("cost", "eager", "--duplicates", "1").code == 2
    assert command("cost", "hasty").code == 2
