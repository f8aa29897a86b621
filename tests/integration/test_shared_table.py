"""Consumers share one table of processed messages, and not their messages."""

from collections.abc import Callable
from typing import Any

from idempotent_consumer import (
    DynamoDBStore,
    Eager,
    IdempotentConsumer,
    Message,
    Transactional,
    UnitOfWork,
    body_field,
)
from tests.integration.application import Application

EventOf = Callable[[str], dict[str, Any]]


def test_nested_consumers_of_one_message_keep_separate_records_and_both_complete(
    application: Application, event_of: EventOf
) -> None:
    event = event_of("orders-single")
    store = DynamoDBStore("ProcessedMessagesTable")
    bill = IdempotentConsumer("bill-order", mode=Transactional(), message_id=body_field("order_id"), store=store)
    pack = IdempotentConsumer("pack-order", mode=Eager(), message_id=body_field("order_id"), store=store)
    handled: list[str] = []

    @bill.handler
    def bill_order(message: Message, work: UnitOfWork) -> None:
        handled.append(message.key)

    @pack.handler
    def pack_order(message: Message, work: UnitOfWork) -> None:
        handled.append(message.key)
        assert bill.consume(event) == {"batchItemFailures": []}

    for _ in range(2):
        assert pack.consume(event) == {"batchItemFailures": []}

    assert handled == ["pack-order#o-1001", "bill-order#o-1001"]
    records = application.items("ProcessedMessagesTable")
    assert {key: record["status"] for key, record in records.items()} == {
        "bill-order#o-1001": "COMPLETED",
        "pack-order#o-1001": "COMPLETED",
    }
    assert len({record["owner"] for record in records.values()}) == 2
