"""What `place_order` does to orders and stock, delivery by delivery."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.application import Application

EventOf = Callable[[str], dict[str, Any]]
Outcomes = Callable[[], list[str]]


@pytest.fixture
def shop(application: Application) -> Application:
    """Return the application with ten of each SKU in stock."""
    for sku in ("sku-1", "sku-2"):
        application.put("StockTable", {"sku": sku, "quantity": 10})
    return application


def stock_of(shop: Application) -> dict[str, int]:
    return {sku: int(item["quantity"]) for sku, item in shop.items("StockTable").items()}


def id_of(event: dict[str, Any], position: int = 0) -> str:
    identity: str = event["Records"][position]["messageId"]
    return identity


@pytest.mark.parametrize("event", ["orders-single", "orders-redelivered"])
def test_an_order_takes_its_stock_and_is_remembered(shop: Application, event_of: EventOf, event: str) -> None:
    assert shop.invoke("place_order", event_of(event)) == []

    order = shop.items("OrdersTable")["o-1001"]
    assert order.keys() == {"order_id", "customer_id", "status", "lines", "placed_at"}
    assert (order["customer_id"], order["status"]) == ("c-17", "PLACED")
    assert order["lines"] == [{"sku": "sku-1", "quantity": 2}, {"sku": "sku-2", "quantity": 1}]
    assert stock_of(shop) == {"sku-1": 8, "sku-2": 9}
    assert shop.items("ProcessedMessagesTable")["place-order#o-1001"]["status"] == "COMPLETED"


def test_an_order_that_is_delivered_again_takes_nothing_more(
    shop: Application, event_of: EventOf, outcomes: Outcomes
) -> None:
    shop.invoke("place_order", event_of("orders-single"))
    before = shop.items("OrdersTable")

    assert shop.invoke("place_order", event_of("orders-redelivered")) == []

    assert outcomes() == ["PROCESSED", "DUPLICATE"]
    assert shop.items("OrdersTable") == before
    assert stock_of(shop) == {"sku-1": 8, "sku-2": 9}


def test_an_order_that_is_sent_twice_in_one_batch_is_placed_once(shop: Application, event_of: EventOf) -> None:
    assert shop.invoke("place_order", event_of("orders-duplicates-in-batch")) == []

    assert shop.items("OrdersTable").keys() == {"o-1001", "o-1002"}
    assert stock_of(shop) == {"sku-1": 7, "sku-2": 9}


def test_an_order_without_lines_is_rejected_and_its_neighbours_are_placed(
    shop: Application, event_of: EventOf, outcomes: Outcomes
) -> None:
    event = event_of("orders-poison-in-batch")

    assert shop.invoke("place_order", event) == []

    assert sorted(outcomes()) == ["PROCESSED", "PROCESSED", "REJECTED"]
    assert shop.dead_letters_on("OrdersDeadLetterQueue").keys() == {id_of(event, 1)}
    assert shop.items("OrdersTable").keys() == {"o-1001", "o-1002"}
    assert shop.items("ProcessedMessagesTable").keys() == {"place-order#o-1001", "place-order#o-1002"}


def test_an_order_that_stock_cannot_fill_is_refused_once_and_takes_nothing(
    shop: Application, event_of: EventOf, outcomes: Outcomes
) -> None:
    shop.put("StockTable", {"sku": "sku-1", "quantity": 1})

    assert shop.invoke("place_order", event_of("orders-single")) == []
    shop.put("StockTable", {"sku": "sku-1", "quantity": 10})
    assert shop.invoke("place_order", event_of("orders-redelivered")) == []

    order = shop.items("OrdersTable")["o-1001"]
    assert (order["status"], order["reason"]) == ("REFUSED", "out of stock: sku-1 (1 left, 2 ordered)")
    assert stock_of(shop) == {"sku-1": 10, "sku-2": 10}
    assert outcomes() == ["PROCESSED", "DUPLICATE"]


def test_an_order_of_an_sku_that_is_not_known_yet_comes_back_until_it_is(
    application: Application, event_of: EventOf, outcomes: Outcomes
) -> None:
    event = event_of("orders-single")
    application.put("StockTable", {"sku": "sku-1", "quantity": 10})

    assert application.invoke("place_order", event) == [id_of(event)]
    assert application.items("OrdersTable") == {}
    assert application.items("ProcessedMessagesTable") == {}
    application.put("StockTable", {"sku": "sku-2", "quantity": 10})
    assert application.invoke("place_order", event) == []

    assert outcomes() == ["FAILED", "PROCESSED"]
    assert stock_of(application) == {"sku-1": 8, "sku-2": 9}


def test_an_order_that_is_short_of_one_sku_does_not_wait_for_another(
    application: Application, event_of: EventOf
) -> None:
    application.put("StockTable", {"sku": "sku-1", "quantity": 0})

    assert application.invoke("place_order", event_of("orders-single")) == []

    assert application.items("OrdersTable")["o-1001"]["status"] == "REFUSED"


@pytest.mark.parametrize(("in_stock", "status"), [(10, "PLACED"), (1, "REFUSED")])
def test_an_order_outlives_the_memory_of_its_message(
    shop: Application, event_of: EventOf, outcomes: Outcomes, in_stock: int, status: str
) -> None:
    """When its retention has passed, the message is handled again, and meets what it did the first time."""
    shop.put("StockTable", {"sku": "sku-1", "quantity": in_stock})
    shop.invoke("place_order", event_of("orders-single"))
    orders, stock = shop.items("OrdersTable"), stock_of(shop)
    shop.forget_processed_messages()

    assert shop.invoke("place_order", event_of("orders-redelivered")) == []

    assert outcomes() == ["PROCESSED", "PROCESSED"]
    assert orders["o-1001"]["status"] == status
    assert (shop.items("OrdersTable"), stock_of(shop)) == (orders, stock)


def test_another_order_under_a_taken_id_is_rejected_and_overwrites_nothing(
    shop: Application, event_of: EventOf, outcomes: Outcomes
) -> None:
    event = event_of("orders-single")
    shop.put(
        "OrdersTable",
        {"order_id": "o-1001", "customer_id": "c-99", "status": "PLACED", "lines": [{"sku": "sku-9", "quantity": 1}]},
    )
    orders = shop.items("OrdersTable")

    assert shop.invoke("place_order", event) == []

    assert outcomes() == ["REJECTED"]
    assert shop.dead_letters_on("OrdersDeadLetterQueue").keys() == {id_of(event)}
    assert shop.items("OrdersTable") == orders
    assert stock_of(shop) == {"sku-1": 10, "sku-2": 10}
