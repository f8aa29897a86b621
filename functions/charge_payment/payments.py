"""Payments as the business sees them, and what it asks of whoever charges them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

_CURRENCY = re.compile(r"[A-Z]{3}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


class InvalidPayment(ValueError):
    """Say why a payment can never be charged as it was sent."""


class PaymentDeclined(Exception):
    """Say that the gateway will not charge the payment, however often it is asked."""


class GatewayUnavailable(Exception):
    """Say that the gateway gave no answer that settles the payment: it may or may not have been charged."""


@dataclass(frozen=True, slots=True)
class Payment:
    """Hold what is to be charged for an order, and who gets the receipt, if anybody does."""

    payment_id: str
    order_id: str
    amount_cents: int
    currency: str
    email: str | None = None

    @classmethod
    def from_json(cls, text: str) -> Payment:
        """
        Read a payment.

        Args:
            text: `{"payment_id": …, "order_id": …, "amount_cents": 1999, "currency": "EUR", "email": …}`; the address
                may be missing.

        Raises:
            InvalidPayment: naming the field that is wrong.
        """
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidPayment(f"a payment is JSON: {error}") from error
        if not isinstance(fields, Mapping):
            raise InvalidPayment("a payment is a JSON object")
        amount, currency = fields.get("amount_cents"), fields.get("currency")
        if isinstance(amount, bool) or not isinstance(amount, int) or amount < 1:
            raise InvalidPayment("amount_cents: a whole number from 1")
        if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
            raise InvalidPayment("currency: three capital letters")
        email = fields.get("email")
        if email is not None and not (isinstance(email, str) and _EMAIL.fullmatch(email)):
            raise InvalidPayment("email: an address, or none")
        return cls(_text(fields, "payment_id"), _text(fields, "order_id"), amount, currency, email)

    @property
    def receipt_id(self) -> str:
        """Return the message id of the receipt: the same however often it is asked for."""
        return f"receipt/{self.payment_id}"

    def receipt(self) -> Mapping[str, Any]:
        """Return what the receipt has to say, as `send_receipt` reads it."""
        return {
            "order_id": self.order_id,
            "email": self.email,
            "amount_cents": self.amount_cents,
            "currency": self.currency,
        }


class Gateway(Protocol):
    """Charge payments; the same idempotency key never charges twice."""

    def charge(self, payment: Payment, idempotency_key: str) -> None:
        """
        Charge a payment, or find that it was charged under this key before.

        Raises:
            PaymentDeclined: it never will be.
            GatewayUnavailable: it is not known whether it was.
        """


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidPayment(f"{name}: a text that is not blank, of printable characters")
    return value
