"""Charge each payment once: a claim before the call, and in it a key for what a crash leaves open."""

from __future__ import annotations

import os
from typing import Any

from gateway import gateway_at
from idempotent_consumer import (
    BatchResponse,
    ConfigurationError,
    Eager,
    IdempotentConsumer,
    Message,
    UnitOfWork,
    attribute,
)
from payments import InvalidPayment, Payment, PaymentDeclined

if missing := [name for name in ("PROCESSED_MESSAGES_TABLE", "GATEWAY_URL") if name not in os.environ]:
    raise ConfigurationError(*(f"{name} is not set" for name in missing))

gateway = gateway_at(os.environ["GATEWAY_URL"])  # empty, but not missing: the sandbox is a decision
consumer = IdempotentConsumer(
    "charge-payment",
    mode=Eager(),
    message_id=attribute("message-id"),
    reject_on=(InvalidPayment, PaymentDeclined),
)


@consumer.handler
def charge_payment(message: Message, work: UnitOfWork) -> None:
    """Charge the payment at the gateway."""
    gateway.charge(Payment.from_json(message.body), message.idempotency_key)


def lambda_handler(event: dict[str, Any], context: object) -> BatchResponse:
    """Handle a batch of payments and report those that have to come back."""
    return consumer.consume(event, context)
