"""What makes a receipt valid, and how it reads."""

import json
from typing import Any

import pytest

from receipts import SUBJECT, InvalidReceipt, Receipt

FIELDS: dict[str, Any] = {
    "order_id": "o-1",
    "email": "ada@example.com",
    "amount_cents": 1999,
    "currency": "EUR",
}


def receipt(**changes: Any) -> Receipt:
    return Receipt.from_json(json.dumps(FIELDS | changes))


@pytest.mark.parametrize(("amount_cents", "reads"), [(1999, "19.99"), (5, "0.05"), (100_000, "1000.00")])
def test_a_receipt_tells_who_paid_what_for_which_order(amount_cents: int, reads: str) -> None:
    text = receipt(amount_cents=amount_cents).text()

    assert "For ada@example.com" in text
    assert f"{reads} EUR for your order o-1" in text


def test_the_subject_is_one_that_sns_takes() -> None:
    assert SUBJECT.isascii()
    assert SUBJECT.isprintable()
    assert len(SUBJECT) < 100


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("order_id", None),
        ("email", None),
        ("email", "nobody"),
        ("email", "two words@example.com"),
        ("amount_cents", 0),
        ("amount_cents", True),
        ("amount_cents", "1999"),
        ("currency", "euro"),
    ],
)
def test_an_invalid_receipt_is_refused_by_the_name_of_its_field(name: str, value: object) -> None:
    with pytest.raises(InvalidReceipt, match=f"^{name}"):
        receipt(**{name: value})


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_what_is_no_json_object_is_no_receipt(text: str) -> None:
    with pytest.raises(InvalidReceipt, match=r"^a receipt is"):
        Receipt.from_json(text)
