"""What makes an order valid, and when it is refused."""

import json
from typing import Any

import pytest

from orders import MOST_SKUS, InvalidOrder, Order, OrderIdTaken, OrderLine, UnknownSku

FIELDS: dict[str, Any] = {
    "order_id": "o-1",
    "customer_id": "c-1",
    "lines": [{"sku": "sku-1", "quantity": 2}, {"sku": "sku-2", "quantity": 1}],
}


def order(**changes: Any) -> Order:
    return Order.from_json(json.dumps(FIELDS | changes))


def test_an_order_is_read_as_it_was_sent() -> None:
    assert order() == Order("o-1", "c-1", (OrderLine("sku-1", 2), OrderLine("sku-2", 1)))


def test_members_that_a_producer_adds_are_left_alone() -> None:
    assert order(campaign="spring") == order()


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"order_id": None}, "order_id"),
        ({"order_id": 42}, "order_id"),
        ({"customer_id": " "}, "customer_id"),
        ({"lines": None}, "lines"),
        ({"lines": []}, "lines"),
        ({"lines": {"sku": "sku-1", "quantity": 1}}, "lines"),
        ({"lines": ["sku-1"]}, "a line"),
        ({"lines": [{"quantity": 1}]}, "sku"),
        ({"lines": [{"sku": "sku-1"}]}, "quantity"),
        ({"lines": [{"sku": "sku-1", "quantity": 0}]}, "quantity"),
        ({"lines": [{"sku": "sku-1", "quantity": -1}]}, "quantity"),
        ({"lines": [{"sku": "sku-1", "quantity": 1.5}]}, "quantity"),
        ({"lines": [{"sku": "sku-1", "quantity": True}]}, "quantity"),
        ({"lines": [{"sku": "sku-1", "quantity": "2"}]}, "quantity"),
    ],
)
def test_an_invalid_order_is_refused_by_the_name_of_its_field(changes: dict[str, Any], names: str) -> None:
    with pytest.raises(InvalidOrder, match=f"^{names}"):
        order(**changes)


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "null", '"o-1"'])
def test_what_is_no_json_object_is_no_order(text: str) -> None:
    with pytest.raises(InvalidOrder, match=r"^an order is"):
        Order.from_json(text)


def test_lines_of_one_sku_are_taken_together() -> None:
    lines = [{"sku": "a", "quantity": 2}, {"sku": "b", "quantity": 1}, {"sku": "a", "quantity": 3}]

    assert order(lines=lines).quantities() == {"a": 5, "b": 1}


def test_an_order_that_one_transaction_cannot_hold_is_invalid() -> None:
    lines = [{"sku": f"sku-{number}", "quantity": 1} for number in range(MOST_SKUS)]
    one_more = [*lines, {"sku": "sku-more", "quantity": 1}]

    assert len(order(lines=lines).quantities()) == MOST_SKUS
    with pytest.raises(InvalidOrder, match="at most 98"):
        order(lines=one_more)


def test_an_order_meets_itself_under_its_id() -> None:
    order().must_equal(order())


@pytest.mark.parametrize("changes", [{"customer_id": "c-2"}, {"lines": [{"sku": "sku-1", "quantity": 3}]}])
def test_another_order_under_the_same_id_is_told_apart(changes: dict[str, Any]) -> None:
    with pytest.raises(OrderIdTaken, match="o-1"):
        order(**changes).must_equal(order())


def test_a_refusal_names_what_is_short() -> None:
    assert order().why_refused({"sku-1": 1}) == "out of stock: sku-1 (1 left, 2 ordered)"


def test_an_order_of_which_nothing_is_short_waits_for_the_catalogue() -> None:
    with pytest.raises(UnknownSku, match="does not know sku-1, sku-2 yet"):
        order().why_refused({"sku-1": None, "sku-2": None})
