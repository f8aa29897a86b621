"""A message that the demo sends, and an order as it remembers it to compare it with what was stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tools.demo.queues import Queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """
    Hold one message to be sent.

    Attributes:
        business_id: what makes two messages the same to the business.
        message_id: the id that the producer gives it; None if the producer is one that gives none.
        group_id: the FIFO group.
        poison: whether it can never succeed, so that it belongs into the dead-letter queue.
    """

    queue: Queue
    business_id: str
    body: str
    message_id: str | None = None
    group_id: str | None = None
    poison: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Hold what an order asks for: quantities by SKU."""

    order_id: str
    quantities: Mapping[str, int]
