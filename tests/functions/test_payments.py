"""What makes a payment valid."""

import json
from typing import Any

import pytest

from payments import InvalidPayment, Payment
from receipts import Receipt

FIELDS: dict[str, Any] = {"payment_id": "p-1", "order_id": "o-1", "amount_cents": 1999, "currency": "EUR"}


def payment(**changes: Any) -> Payment:
    return Payment.from_json(json.dumps(FIELDS | changes))


def test_a_payment_is_read_as_it_was_sent() -> None:
    assert payment() == Payment("p-1", "o-1", 1999, "EUR")


def test_a_payment_may_name_who_gets_the_receipt_or_nobody() -> None:
    assert payment(email="ada@example.com").email == "ada@example.com"
    assert payment(email=None) == payment()


def test_a_receipt_says_what_was_paid_under_an_id_that_only_the_payment_decides() -> None:
    paid = payment(email="ada@example.com")

    assert paid.receipt_id == payment(order_id="o-2").receipt_id == "receipt/p-1"
    assert paid.receipt() == {
        "order_id": "o-1",
        "email": "ada@example.com",
        "amount_cents": 1999,
        "currency": "EUR",
    }


def test_a_receipt_reads_as_the_function_that_sends_it_expects() -> None:
    receipt = Receipt.from_json(json.dumps(payment(email="ada@example.com").receipt()))

    assert receipt == Receipt("o-1", "ada@example.com", 1999, "EUR")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("payment_id", None),
        ("payment_id", ""),
        ("payment_id", "p\u0007"),  # could be no part of a receipt's id
        ("order_id", 7),
        ("amount_cents", None),
        ("amount_cents", 0),
        ("amount_cents", -1),
        ("amount_cents", 19.99),
        ("amount_cents", True),
        ("amount_cents", "1999"),
        ("currency", None),
        ("currency", "eur"),
        ("currency", "EURO"),
        ("email", ""),
        ("email", "nobody"),
        ("email", 7),
    ],
)
def test_an_invalid_payment_is_refused_by_the_name_of_its_field(name: str, value: object) -> None:
    with pytest.raises(InvalidPayment, match=f"^{name}"):
        payment(**{name: value})


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_what_is_no_json_object_is_no_payment(text: str) -> None:
    with pytest.raises(InvalidPayment, match=r"^a payment is"):
        Payment.from_json(text)
