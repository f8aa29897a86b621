"""What makes a step of a shipment valid, and which one is newer."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from shipments import STEPS, InvalidStep, ShipmentStep

FIELDS: dict[str, Any] = {"shipment_id": "s-1", "step": "packed", "at": "2026-01-05T10:00:00+01:00"}


def step(**changes: Any) -> ShipmentStep:
    return ShipmentStep.from_json(json.dumps(FIELDS | changes))


def test_a_step_is_read_as_it_was_sent_with_its_time_in_utc() -> None:
    assert step() == ShipmentStep("s-1", "packed", datetime(2026, 1, 5, 9, 0, tzinfo=UTC))


def test_each_step_of_the_way_is_newer_than_the_one_before() -> None:
    assert [step(step=name).number for name in STEPS] == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shipment_id", None),
        ("shipment_id", 7),
        ("step", None),
        ("step", "teleported"),
        ("step", "Packed"),
        ("at", None),
        ("at", "yesterday"),
        ("at", 1_767_603_600),
        ("at", "2026-01-05T10:00:00"),
    ],
)
def test_an_invalid_step_is_refused_by_the_name_of_its_field(name: str, value: object) -> None:
    with pytest.raises(InvalidStep, match=f"^{name}"):
        step(**{name: value})


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_what_is_no_json_object_is_no_step(text: str) -> None:
    with pytest.raises(InvalidStep, match=r"^a step is"):
        ShipmentStep.from_json(text)
