"""Odd records through the deployed functions: what can be read is handled, and the rest is rejected one by one."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.application import Application

EventOf = Callable[[str], dict[str, Any]]


@pytest.fixture
def shop(application: Application) -> Iterator[Application]:
    """Return the application with enough in stock."""
    application.put("StockTable", {"sku": "sku-1", "quantity": 100})
    return application


def deliveries(caplog: pytest.LogCaptureFixture) -> dict[str, tuple[str, str]]:
    """Return outcome and reason of each delivery by its SQS message id."""
    logged = [record.__dict__ for record in caplog.records if record.getMessage() == "delivery"]
    return {one["sqs_message_id"]: (one["outcome"], one["reason"]) for one in logged}


def test_whatever_sdks_and_local_tools_leave_null_or_out_the_order_is_placed(
    shop: Application, event_of: EventOf
) -> None:
    assert shop.invoke("place_order", event_of("orders-odd-records")) == []
    assert sorted(shop.items("OrdersTable")) == [f"o-200{number}" for number in range(1, 8)]


def test_each_record_that_cannot_be_known_again_is_rejected_with_a_reason_of_its_own(
    shop: Application, event_of: EventOf, caplog: pytest.LogCaptureFixture
) -> None:
    event = event_of("orders-unusable-records")
    ids = [record["messageId"] for record in event["Records"]]

    came_back = shop.invoke("place_order", event)

    told = deliveries(caplog)
    reasons = [
        "a pointer to a large message: the content is in S3, in bucket 'large-messages'",
        "the event by which S3 tests a new notification, which envelopes.s3() acknowledges",
        "an SNS envelope, which envelopes.sns() opens",
        "there is nothing at 'order_id'",
        "the id is True (bool)",
        "the id is 42.0 (float)",
        "the id is blank",
        "the id is list: several fields make an id",
        "the id is no valid text: surrogates not allowed",
        "the body is not JSON",
        "the body is missing",
        "the body is int, not text",
        "the form in which ReceiveMessage answers",
    ]
    assert [told[one][0] for one in ids] == ["REJECTED"] * len(reasons)
    assert [reason for one, reason in zip(ids, reasons, strict=True) if reason not in told[one][1]] == []
    assert shop.items("OrdersTable") == shop.items("ProcessedMessagesTable") == {}
    without_body = ids[reasons.index("the body is missing") :]
    assert came_back == without_body  # there is nothing to copy: SQS moves them when their receives are spent
    assert shop.dead_letters_on("OrdersDeadLetterQueue") == {one: told[one][1] for one in ids[: -len(without_body)]}


def test_an_unusable_record_harms_no_neighbour(shop: Application, event_of: EventOf) -> None:
    sound, unusable = event_of("orders-odd-records"), event_of("orders-unusable-records")
    mixed = [record for pair in zip(unusable["Records"], sound["Records"], strict=False) for record in pair]

    shop.invoke("place_order", {"Records": mixed})

    assert len(shop.items("OrdersTable")) == len(sound["Records"])


def test_a_queue_keeps_order_in_every_partition(application: Application, event_of: EventOf) -> None:
    assert application.invoke("track_shipment", event_of("shipments-other-partitions")) == []

    shipments = application.items("ShipmentsTable")
    assert {name: item["history"] for name, item in shipments.items()} == {
        "s-aws-cn": ["packed", "shipped"],
        "s-aws-us-gov": ["packed"],
        "s-aws-eusc": ["packed"],
    }
