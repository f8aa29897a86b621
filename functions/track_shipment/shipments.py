"""The way of a shipment: its steps, and which of them is newer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

STEPS = ("packed", "shipped", "delivered")


class InvalidStep(ValueError):
    """Say why a step can never be tracked as it was sent."""


@dataclass(frozen=True, slots=True)
class ShipmentStep:
    """Hold one step of a shipment and when it was taken."""

    shipment_id: str
    step: str
    at: datetime

    @property
    def number(self) -> int:
        """Return the place of the step on the way, from 1: the newer of two steps has the higher number."""
        return STEPS.index(self.step) + 1

    @classmethod
    def from_json(cls, text: str) -> ShipmentStep:
        """
        Read a step.

        Args:
            text: `{"shipment_id": …, "step": "packed", "at": "2026-01-31T12:00:00Z"}`.

        Raises:
            InvalidStep: naming the field that is wrong.
        """
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidStep(f"a step is JSON: {error}") from error
        if not isinstance(fields, Mapping):
            raise InvalidStep("a step is a JSON object")
        step = _text(fields, "step")
        if step not in STEPS:
            raise InvalidStep(f"step: one of {', '.join(STEPS)}")
        return cls(_text(fields, "shipment_id"), step, _instant(_text(fields, "at")))


def _instant(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidStep("at: an ISO time") from error
    if at.tzinfo is None:
        raise InvalidStep("at: a time with its offset from UTC")
    return at.astimezone(UTC)


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidStep(f"{name}: a text that is not blank")
    return value
