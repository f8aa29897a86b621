"""Orders as the business sees them: what makes one valid, and when it has to be refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_SKUS = 98
"""An order is one transaction of 100 writes; the order and the processed message take two of them."""


class InvalidOrder(ValueError):
    """Say why an order can never be placed as it was sent."""


class OrderIdTaken(ValueError):
    """Say that another order was placed under the same id; a redelivery cannot change that."""


class UnknownSku(LookupError):
    """Say that the catalogue does not know an SKU; it may come later, so the order is tried again."""


@dataclass(frozen=True, slots=True)
class OrderLine:
    """Hold how many of one SKU are ordered."""

    sku: str
    quantity: int


@dataclass(frozen=True, slots=True)
class Order:
    """Hold what a customer ordered."""

    order_id: str
    customer_id: str
    lines: tuple[OrderLine, ...]

    @classmethod
    def from_json(cls, text: str) -> Order:
        """
        Read an order.

        Args:
            text: `{"order_id": …, "customer_id": …, "lines": [{"sku": …, "quantity": …}, …]}`.

        Raises:
            InvalidOrder: naming the field that is wrong.
        """
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidOrder(f"an order is JSON: {error}") from error
        return cls.from_fields(_object(fields, "an order"))

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Order:
        """Read an order's fields; raise InvalidOrder naming the one that is wrong."""
        lines = fields.get("lines")
        if not isinstance(lines, list) or not lines:
            raise InvalidOrder("lines: an order has at least one")
        order = cls(
            order_id=_text(fields, "order_id"),
            customer_id=_text(fields, "customer_id"),
            lines=tuple(_line(_object(line, "a line")) for line in lines),
        )
        if len(order.quantities()) > MOST_SKUS:
            raise InvalidOrder(f"lines: an order has at most {MOST_SKUS} different SKUs")
        return order

    def quantities(self) -> dict[str, int]:
        """Return how many of each SKU are ordered, all lines together."""
        ordered: Counter[str] = Counter()
        for line in self.lines:
            ordered[line.sku] += line.quantity
        return dict(ordered)

    def must_equal(self, placed: Order) -> None:
        """
        Make sure that this very order is the one that was placed under its id.

        Orders outlive the memory of their messages: one that comes back much later still meets its order.

        Raises:
            OrderIdTaken: it is another order.
        """
        if placed != self:
            raise OrderIdTaken(f"order {self.order_id} was placed before, with other content")

    def why_refused(self, left: Mapping[str, int | None]) -> str:
        """
        Return why the order cannot be filled.

        Args:
            left: what is left of each SKU that could not be taken; None of one that the catalogue does not know.

        Raises:
            UnknownSku: none is short, so the order only waits for the catalogue.
        """
        ordered = self.quantities()
        short = {sku: quantity for sku, quantity in sorted(left.items()) if quantity is not None}
        if not short:
            raise UnknownSku(f"the catalogue does not know {', '.join(sorted(left))} yet")
        missing = ", ".join(f"{sku} ({quantity} left, {ordered[sku]} ordered)" for sku, quantity in short.items())
        return f"out of stock: {missing}"


def _line(fields: Mapping[str, Any]) -> OrderLine:
    quantity = fields.get("quantity")
    if isinstance(quantity, bool) or not isinstance(quantity, int) or quantity < 1:
        raise InvalidOrder("quantity: a whole number from 1")
    return OrderLine(sku=_text(fields, "sku"), quantity=quantity)


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidOrder(f"{what} is a JSON object")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidOrder(f"{name}: a text that is not blank")
    return value
