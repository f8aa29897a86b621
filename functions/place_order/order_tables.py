"""Orders and stock as DynamoDB has them. The function sets their tables' names from its environment."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from pynamodb.attributes import ListAttribute, NumberAttribute, UnicodeAttribute, UTCDateTimeAttribute
from pynamodb.models import Model

from idempotent_consumer import ConditionFailed
from orders import Order


class OrderItem(Model):
    """Map an order, placed or refused."""

    class Meta:
        """Name the table, once it is known."""

        table_name: str

    order_id = UnicodeAttribute(hash_key=True)
    customer_id = UnicodeAttribute()
    status = UnicodeAttribute()
    lines = ListAttribute[dict[str, object]]()
    placed_at = UTCDateTimeAttribute()
    reason = UnicodeAttribute(null=True)

    @classmethod
    def placed(cls, order: Order, at: datetime) -> OrderItem:
        """Return the item of an order whose stock was taken."""
        return cls(
            order_id=order.order_id,
            customer_id=order.customer_id,
            status="PLACED",
            lines=[asdict(line) for line in order.lines],
            placed_at=at,
        )

    @classmethod
    def refused(cls, order: Order, at: datetime, reason: str) -> OrderItem:
        """Return the item of an order that could not be filled."""
        item = cls.placed(order, at)
        item.status, item.reason = "REFUSED", reason
        return item


class StockItem(Model):
    """Map what is left of one SKU."""

    class Meta:
        """Name the table, once it is known."""

        table_name: str

    sku = UnicodeAttribute(hash_key=True)
    quantity = NumberAttribute()


def placed_order(failure: ConditionFailed) -> Order | None:
    """Return the order that a new one has met under its id, if it was that which failed."""
    for found in failure.failures:
        if found.table_name == OrderItem.Meta.table_name and found.item:
            lines = [{"sku": line["sku"], "quantity": int(line["quantity"])} for line in found.item["lines"]]
            return Order.from_fields({**found.item, "lines": lines})
    return None


def stock_left(failure: ConditionFailed) -> dict[str, int | None]:
    """Return what is left of each SKU that could not be taken; None of one that has no stock item."""
    return {
        found.key["sku"]: int(found.item["quantity"]) if found.item else None
        for found in failure.failures
        if found.table_name == StockItem.Meta.table_name and found.key
    }
