"""Track shipments: setting a status only if it is newer is idempotent by itself, so nothing is remembered."""

from __future__ import annotations

import os
from typing import Any

from idempotent_consumer import BatchResponse, ConfigurationError, IdempotentConsumer, Message, Natural, UnitOfWork
from shipment_table import ShipmentItem
from shipments import InvalidStep, ShipmentStep

if not os.environ.get("SHIPMENTS_TABLE"):
    raise ConfigurationError("SHIPMENTS_TABLE is not set")

ShipmentItem.Meta.table_name = os.environ["SHIPMENTS_TABLE"]
consumer = IdempotentConsumer("track-shipment", mode=Natural(), reject_on=(InvalidStep,))


@consumer.handler
def track_shipment(message: Message, work: UnitOfWork) -> None:
    """Move the shipment on; a step that is not newer has nothing to do."""
    ShipmentItem.advance(ShipmentStep.from_json(message.body))


def lambda_handler(event: dict[str, Any], context: object) -> BatchResponse:
    """Handle a batch of steps and report those that have to come back."""
    return consumer.consume(event, context)
