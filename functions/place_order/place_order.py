"""Place each order once: the order, its stock and the processed message are written together, or none is."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from idempotent_consumer import (
    BatchResponse,
    ConditionFailed,
    ConfigurationError,
    IdempotentConsumer,
    Message,
    Transactional,
    UnitOfWork,
    body_field,
)
from order_tables import OrderItem, StockItem, placed_order, stock_left
from orders import InvalidOrder, Order, OrderIdTaken

SETTINGS = ("PROCESSED_MESSAGES_TABLE", "ORDERS_TABLE", "STOCK_TABLE")
if missing := [name for name in SETTINGS if not os.environ.get(name)]:
    raise ConfigurationError(*(f"{name} is not set" for name in missing))

consumer = IdempotentConsumer(
    "place-order",
    mode=Transactional(),
    message_id=body_field("order_id"),
    reject_on=(InvalidOrder, OrderIdTaken),
)
OrderItem.Meta.table_name = os.environ["ORDERS_TABLE"]
StockItem.Meta.table_name = os.environ["STOCK_TABLE"]


@consumer.handler
def place_order(message: Message, work: UnitOfWork) -> None:
    """Save the order and take its stock, on the condition that there is enough of it."""
    order = Order.from_json(message.body)
    work.save(OrderItem.placed(order, datetime.now(UTC)), condition=OrderItem.order_id.does_not_exist())
    for sku, quantity in order.quantities().items():
        work.update(
            StockItem(sku),
            actions=[StockItem.quantity.set(StockItem.quantity - quantity)],
            condition=StockItem.quantity >= quantity,
        )


@consumer.on_condition_failed
def refuse_order(message: Message, work: UnitOfWork, failure: ConditionFailed) -> None:
    """Save why the order is refused, unless it was placed before or only waits for the catalogue."""
    order = Order.from_json(message.body)
    if placed := placed_order(failure):
        order.must_equal(placed)
        return
    refusal = OrderItem.refused(order, datetime.now(UTC), order.why_refused(stock_left(failure)))
    work.save(refusal, condition=OrderItem.order_id.does_not_exist())


def lambda_handler(event: dict[str, Any], context: object) -> BatchResponse:
    """Handle a batch of orders and report those that have to come back."""
    return consumer.consume(event, context)
