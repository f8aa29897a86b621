"""What `track_shipment` makes of a shipment, delivery by delivery."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.application import Application

EventOf = Callable[[str], dict[str, Any]]
Outcomes = Callable[[], list[str]]


def histories(application: Application) -> dict[str, list[str]]:
    return {shipment: item["history"] for shipment, item in application.items("ShipmentsTable").items()}


@pytest.mark.parametrize("event", ["shipments-single", "shipments-redelivered"])
def test_a_step_is_tracked_and_nothing_else_is_stored(application: Application, event_of: EventOf, event: str) -> None:
    assert application.invoke("track_shipment", event_of(event)) == []

    assert application.items("ShipmentsTable")["s-1001"] == {
        "shipment_id": "s-1001",
        "status": "packed",
        "step_number": 1,
        "history": ["packed"],
        "updated_at": "2026-01-05T09:00:00.000000+0000",
    }
    assert application.items("ProcessedMessagesTable") == {}


def test_a_step_that_is_sent_twice_is_taken_once(application: Application, event_of: EventOf) -> None:
    assert application.invoke("track_shipment", event_of("shipments-duplicates-in-batch")) == []

    assert histories(application) == {"s-1001": ["packed"], "s-1002": ["packed"]}


def test_interleaved_shipments_go_their_ways_in_order(application: Application, event_of: EventOf) -> None:
    assert application.invoke("track_shipment", event_of("shipments-fifo-groups")) == []

    assert histories(application) == {
        "s-1001": ["packed", "shipped", "delivered"],
        "s-1002": ["packed", "shipped"],
    }


def test_a_poison_step_of_its_own_shipment_is_rejected_alone(
    application: Application, event_of: EventOf, outcomes: Outcomes
) -> None:
    event = event_of("shipments-poison-in-batch")

    assert application.invoke("track_shipment", event) == []

    assert sorted(outcomes()) == ["PROCESSED", "PROCESSED", "REJECTED"]
    assert application.dead_letters_on("ShipmentsDeadLetterQueue").keys() == {event["Records"][1]["messageId"]}
    assert histories(application) == {"s-1001": ["packed"], "s-1002": ["packed"]}


def test_a_poison_step_is_dead_lettered_and_the_later_steps_of_its_shipment_go_on(
    application: Application, event_of: EventOf, outcomes: Outcomes
) -> None:
    event = event_of("shipments-fifo-poison-group")
    poison = event["Records"][2]["messageId"]

    assert application.invoke("track_shipment", event) == []

    assert sorted(outcomes()) == ["PROCESSED"] * 4 + ["REJECTED"]
    assert application.dead_letters_on("ShipmentsDeadLetterQueue").keys() == {poison}
    assert histories(application) == {"s-1001": ["packed", "delivered"], "s-1002": ["packed", "shipped"]}


def test_a_step_whose_deletion_was_lost_does_not_take_the_shipment_back(
    application: Application, event_of: EventOf, outcomes: Outcomes
) -> None:
    event = event_of("shipments-fifo-groups")
    application.invoke("track_shipment", event)
    before = application.items("ShipmentsTable")
    outcomes()
    shipped = event["Records"][2]

    assert application.invoke("track_shipment", {"Records": [shipped]}) == []

    assert outcomes() == ["PROCESSED"]
    assert application.items("ShipmentsTable") == before
    assert before["s-1001"]["status"] == "delivered"
