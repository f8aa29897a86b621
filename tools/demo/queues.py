"""The four queues of the application, and where each one's messages can be seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tools.local_aws import StackOutputs


class Queue(StrEnum):
    """Name a queue as the application does."""

    ORDERS = "orders"
    PAYMENTS = "payments"
    RECEIPTS = "receipts"
    SHIPMENTS = "shipments"


@dataclass(frozen=True, slots=True)
class Channel:
    """Hold the addresses that belong to one queue."""

    url: str
    dead_letter_url: str
    log_group_name: str


def channels_of(outputs: StackOutputs) -> Mapping[Queue, Channel]:
    """Return the addresses of each queue of a deployed stack."""
    return {
        Queue.ORDERS: Channel(
            outputs.orders_queue_url, outputs.orders_dead_letter_queue_url, outputs.place_order_log_group_name
        ),
        Queue.PAYMENTS: Channel(
            outputs.payments_queue_url, outputs.payments_dead_letter_queue_url, outputs.charge_payment_log_group_name
        ),
        Queue.RECEIPTS: Channel(
            outputs.receipts_queue_url, outputs.receipts_dead_letter_queue_url, outputs.send_receipt_log_group_name
        ),
        Queue.SHIPMENTS: Channel(
            outputs.shipments_queue_url, outputs.shipments_dead_letter_queue_url, outputs.track_shipment_log_group_name
        ),
    }
