"""Receipts as the business sees them, and how they read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SUBJECT = "Your receipt"
"""Free of anything a customer could put in: a subject takes few characters, and no line breaks."""

_CURRENCY = re.compile(r"[A-Z]{3}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


class InvalidReceipt(ValueError):
    """Say why a receipt can never be sent as it was asked for."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Hold what was paid, and who is told."""

    order_id: str
    email: str
    amount_cents: int
    currency: str

    @classmethod
    def from_json(cls, text: str) -> Receipt:
        """
        Read a receipt.

        Args:
            text: `{"order_id": …, "email": …, "amount_cents": 1999, "currency": "EUR"}`.

        Raises:
            InvalidReceipt: naming the field that is wrong.
        """
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidReceipt(f"a receipt is JSON: {error}") from error
        if not isinstance(fields, Mapping):
            raise InvalidReceipt("a receipt is a JSON object")
        amount = fields.get("amount_cents")
        if isinstance(amount, bool) or not isinstance(amount, int) or amount < 1:
            raise InvalidReceipt("amount_cents: a whole number from 1")
        return cls(
            order_id=_text(fields, "order_id"),
            email=_matching(fields, "email", _EMAIL, "an address"),
            amount_cents=amount,
            currency=_matching(fields, "currency", _CURRENCY, "three capital letters"),
        )

    def text(self) -> str:
        """Return the receipt as its reader gets it."""
        units, cents = divmod(self.amount_cents, 100)
        return (
            f"For {self.email}\n\n"
            f"We received {units}.{cents:02} {self.currency} for your order {self.order_id}. Thank you.\n"
        )


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidReceipt(f"{name}: a text that is not blank")
    return value


def _matching(fields: Mapping[str, Any], name: str, pattern: re.Pattern[str], what: str) -> str:
    value = _text(fields, name)
    if not pattern.fullmatch(value):
        raise InvalidReceipt(f"{name}: {what}")
    return value
