"""Charge each payment once, and ask for its receipt: a claim before, and keys for what a crash leaves open."""

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
from idempotent_consumer.producer import OutgoingMessage, Producer
from payments import InvalidPayment, Payment, PaymentDeclined

if missing := [name for name in ("PROCESSED_MESSAGES_TABLE", "GATEWAY_URL") if name not in os.environ]:
    raise ConfigurationError(*(f"{name} is not set" for name in missing))

gateway = gateway_at(os.environ["GATEWAY_URL"])  # empty, but not missing: the sandbox is a decision
receipts_url = os.environ.get("RECEIPTS_QUEUE_URL")
receipts = Producer(receipts_url) if receipts_url else None  # without the queue nobody gets a receipt
consumer = IdempotentConsumer(
    "charge-payment",
    mode=Eager(),
    message_id=attribute("message-id"),
    reject_on=(InvalidPayment, PaymentDeclined),
)


@consumer.handler
def charge_payment(message: Message, work: UnitOfWork) -> None:
    """
    Charge the payment at the gateway, then ask for its receipt if it names who gets it.

    A crash before the completion repeats both after the lease, and a request that was not sent brings the message back:
    the gateway knows the repetition by the idempotency key, `send_receipt` by the receipt's message id.
    """
    payment = Payment.from_json(message.body)
    gateway.charge(payment, message.idempotency_key)
    if receipts and payment.email:
        receipts.send(OutgoingMessage(message_id=payment.receipt_id, body=payment.receipt()))


def lambda_handler(event: dict[str, Any], context: object) -> BatchResponse:
    """Handle a batch of payments and report those that have to come back."""
    return consumer.consume(event, context)
