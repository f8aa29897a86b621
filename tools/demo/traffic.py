"""The messages for each queue: plain ones, duplicates, some that fail at first, and poison."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tools.demo.outgoing import Order, Outgoing
from tools.demo.queues import Queue

DUPLICATE_SHARE = 0.3
STEPS = ("packed", "shipped", "delivered")
COMMON_SKUS = ("sku-apple", "sku-bread", "sku-cheese", "sku-date", "sku-egg")
SCARCE_SKU = "sku-scarce"
LATE_SKU = "sku-late"
CURRENCY = "EUR"


@dataclass(frozen=True, slots=True)
class Orders:
    """Hold the orders to send."""

    messages: list[Outgoing]
    distinct: dict[str, Order]


def make_orders(random: Random, count: int) -> Orders:
    """Make orders, among them some for an SKU that is scarce and some for one that arrives late."""
    poison = [
        Outgoing(
            queue=Queue.ORDERS,
            business_id="(broken JSON)",
            body='{"order_id": "o-broken", ',
            message_id="o-broken",
            poison=True,
        ),
        Outgoing(
            queue=Queue.ORDERS,
            business_id="o-empty",
            body=json.dumps({"order_id": "o-empty", "customer_id": "c-1", "lines": []}),
            message_id="o-empty",
            poison=True,
        ),
    ]
    duplicates = _duplicates_among(count)
    orders = [_order(random, at) for at in range(1, count - len(poison) - duplicates + 1)]
    messages = [
        Outgoing(
            queue=Queue.ORDERS,
            business_id=order.order_id,
            body=json.dumps(
                {
                    "order_id": order.order_id,
                    "customer_id": f"c-{random.randint(1, 20)}",
                    "lines": [{"sku": sku, "quantity": quantity} for sku, quantity in order.quantities.items()],
                }
            ),
            message_id=order.order_id,
        )
        for order in orders
    ]
    return Orders(
        [*messages, *random.choices(messages, k=duplicates), *poison], {order.order_id: order for order in orders}
    )


def _order(random: Random, at: int) -> Order:
    skus = random.sample(COMMON_SKUS, k=random.randint(1, 3))
    if at % 10 == 1:  # more of them than there is stock: some get it, the others are refused
        skus.append(SCARCE_SKU)
    elif at % 10 == 2:  # not in the catalogue yet: fails until it is
        skus.append(LATE_SKU)
    return Order(order_id=f"o-{at:04}", quantities={sku: random.randint(1, 2) for sku in skus})


@dataclass(frozen=True, slots=True)
class Payments:
    """Hold the payments to send."""

    messages: list[Outgoing]
    distinct: dict[str, int]
    declined: frozenset[str]
    unavailable_first: dict[str, int]


def make_payments(random: Random, count: int) -> Payments:
    """Make payments, among them some that the gateway does not take at first, and one that it declines."""
    anonymous = Outgoing(
        queue=Queue.PAYMENTS, business_id="(no message-id)", body=_payment("p-anonymous", 100), poison=True
    )
    declined = Outgoing(
        queue=Queue.PAYMENTS,
        business_id="p-declined",
        body=_payment("p-declined", 100),
        message_id="p-declined",
        poison=True,
    )
    duplicates = _duplicates_among(count)
    amounts = {f"p-{at:04}": random.randint(100, 99_999) for at in range(1, count - duplicates - 2 + 1)}
    messages = [
        Outgoing(queue=Queue.PAYMENTS, business_id=each, body=_payment(each, amount), message_id=each)
        for each, amount in amounts.items()
    ]
    failing = random.sample(list(amounts), k=max(2, len(amounts) // 10))
    return Payments(
        [*messages, *random.choices(messages, k=duplicates), anonymous, declined],
        amounts,
        frozenset({declined.business_id}),
        {payment_id: random.randint(1, 2) for payment_id in failing},
    )


def _payment(payment_id: str, amount_cents: int) -> str:
    fields: dict[str, Any] = {"payment_id": payment_id, "order_id": payment_id.replace("p-", "o-")}
    email = f"customer-of-{payment_id}@example.com"  # asks for a receipt
    return json.dumps({**fields, "amount_cents": amount_cents, "currency": CURRENCY, "email": email})


@dataclass(frozen=True, slots=True)
class Receipts:
    """Hold the receipts to send; `again` only after the others have been handled."""

    messages: list[Outgoing]
    again: list[Outgoing]
    distinct: frozenset[str]


def make_receipts(random: Random, count: int) -> Receipts:
    """Make receipts."""
    broken = Outgoing(
        queue=Queue.RECEIPTS, business_id="r-broken", body="no JSON at all", message_id="r-broken", poison=True
    )
    duplicates = _duplicates_among(count)
    messages = [
        Outgoing(
            queue=Queue.RECEIPTS,
            business_id=f"r-{at:04}",
            body=json.dumps(
                {
                    "order_id": f"o-{at:04}",
                    "email": f"customer-{at}@example.com",
                    "amount_cents": random.randint(100, 99_999),
                    "currency": CURRENCY,
                }
            ),
            message_id=f"r-{at:04}",
        )
        for at in range(1, count - duplicates - 1 + 1)
    ]
    again = random.choices(messages, k=duplicates)
    return Receipts([*messages, broken], again, frozenset(message.business_id for message in messages))


@dataclass(frozen=True, slots=True)
class Steps:
    """Hold the shipment steps to send, each shipment's in its order."""

    messages: list[Outgoing]
    distinct: dict[str, Sequence[str]]


def make_steps(random: Random, count: int) -> Steps:
    """Make the steps of shipments, some of them repeated at once or too late."""
    # The unknown step stands between two others of its group, which goes on when it is in the dead-letter queue.
    before, after = (_step("s-poisoned", step) for step in STEPS[:2])
    poisoned = [before, _step("s-poisoned", "teleported", poison=True), after]
    duplicates = _duplicates_among(count)
    whole, rest = divmod(count - duplicates - len(poisoned), len(STEPS))
    sizes = [len(STEPS)] * whole + ([rest] if rest else [])
    distinct = {f"s-{at:04}": STEPS[:size] for at, size in enumerate(sizes, start=1)}
    groups = [[_step(shipment_id, step) for step in steps] for shipment_id, steps in distinct.items()]
    for group in random.choices(groups, k=duplicates):
        at = random.randrange(len(group))
        group.insert(random.randint(at + 1, len(group)), group[at])  # a step comes again: at once, or too late
    return Steps(_interleaved(random, [*groups, poisoned]), {**distinct, "s-poisoned": STEPS[:2]})


def _step(shipment_id: str, step: str, *, poison: bool = False) -> Outgoing:
    return Outgoing(
        queue=Queue.SHIPMENTS,
        business_id=f"{shipment_id} {step}",
        body=json.dumps({"shipment_id": shipment_id, "step": step, "at": "2026-01-31T12:00:00+00:00"}),
        message_id=f"{shipment_id}/{step}",
        group_id=shipment_id,
        poison=poison,
    )


def _interleaved(random: Random, groups: list[list[Outgoing]]) -> list[Outgoing]:
    turns = [at for at, group in enumerate(groups) for _ in group]
    random.shuffle(turns)
    waiting = [iter(group) for group in groups]
    return [next(waiting[at]) for at in turns]


def _duplicates_among(count: int) -> int:
    return round(count * DUPLICATE_SHARE)
