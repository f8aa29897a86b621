"""What the demo sends: made from a seed, so that a run can be had again.

Among plain messages there are duplicates (the same business id in another SQS message), messages that fail at first,
and poison, which can never succeed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tools.demo.outgoing import Order, Outgoing
from tools.demo.queues import Queue
from tools.demo.traffic import (
    COMMON_SKUS,
    LATE_SKU,
    SCARCE_SKU,
    make_orders,
    make_payments,
    make_receipts,
    make_steps,
)

SHARES = {Queue.ORDERS: 0.35, Queue.PAYMENTS: 0.25, Queue.RECEIPTS: 0.2, Queue.SHIPMENTS: 0.2}
FEWEST_MESSAGES = 40
PLENTY = 10_000
SCARCE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    Hold all that is going to happen.

    Attributes:
        first_wave: messages sent at once; within a FIFO group in this order.
        second_wave: receipts sent again after the first have been handled. The lazy mode promises nothing for two
            deliveries that are handled at the same moment.
        stock: what the stock table holds from the start, by SKU.
        late_stock: what gets into the stock table only after orders for it have failed.
        orders: the distinct orders that can be handled, by id.
        payments: the amounts of the distinct payments that can be charged, by id.
        receipts: the message ids of the distinct receipts.
        shipments: the distinct steps of each shipment, in order.
        declined: payments that the gateway refuses for good.
        unavailable_first: how many first attempts of a payment the gateway answers 503.
    """

    first_wave: Sequence[Outgoing]
    second_wave: Sequence[Outgoing]
    stock: Mapping[str, int]
    late_stock: Mapping[str, int]
    orders: Mapping[str, Order]
    payments: Mapping[str, int]
    receipts: frozenset[str]
    shipments: Mapping[str, Sequence[str]]
    declined: frozenset[str]
    unavailable_first: Mapping[str, int]

    @property
    def messages(self) -> Sequence[Outgoing]:
        """Return all messages, of both waves."""
        return [*self.first_wave, *self.second_wave]


def make_plan(messages: int, seed: int) -> Plan:
    """
    Make a plan.

    Args:
        messages: how many SQS messages to send, in all.
        seed: the same seed makes the same plan.

    Raises:
        ValueError: there are too few messages to show anything.
    """
    if messages < FEWEST_MESSAGES:
        raise ValueError(f"at least {FEWEST_MESSAGES} messages are needed for all that is shown, not {messages}")
    random = Random(seed)
    counts = {queue: round(messages * share) for queue, share in SHARES.items()}
    counts[Queue.ORDERS] += messages - sum(counts.values())
    orders = make_orders(random, counts[Queue.ORDERS])
    payments = make_payments(random, counts[Queue.PAYMENTS])
    receipts = make_receipts(random, counts[Queue.RECEIPTS])
    steps = make_steps(random, counts[Queue.SHIPMENTS])
    unordered = [*orders.messages, *payments.messages, *receipts.messages]
    random.shuffle(unordered)
    return Plan(
        first_wave=[*unordered, *steps.messages],
        second_wave=receipts.again,
        stock={**dict.fromkeys(COMMON_SKUS, PLENTY), SCARCE_SKU: SCARCE},
        late_stock={LATE_SKU: PLENTY},
        orders=orders.distinct,
        payments=payments.distinct,
        receipts=receipts.distinct,
        shipments=steps.distinct,
        declined=payments.declined,
        unavailable_first=payments.unavailable_first,
    )
