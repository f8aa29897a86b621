"""The page about telemetry names every field and every metric that there is, and no other."""

import json
import re
import uuid
from pathlib import Path

import pytest

from idempotent_consumer import Lazy, Message, UnitOfWork
from idempotent_consumer.telemetry import METRICS
from idempotent_consumer.testing import InMemoryStore, sqs_record
from tests.promises.world import World

PAGE = (Path(__file__).parents[2] / "docs" / "telemetry.md").read_text(encoding="utf-8")
OF_POWERTOOLS = {"level", "location", "message", "service", "timestamp", "xray_trace_id"}


def rows(title: str) -> list[list[str]]:
    """Return the cells of a section's table, without its head."""
    [section] = re.findall(rf"\n## {title}\n(.*?)(?:\n## |$)", PAGE, re.DOTALL)
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_metric_is_there_with_its_unit() -> None:
    named = {name.strip("`"): unit for name, unit, _ in rows("Metrics")}

    assert named == {name: unit.value for name, unit in METRICS.items()}


def test_every_field_of_a_deliverys_line_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    def handle(message: Message, work: UnitOfWork) -> None:
        raise ValueError("no")

    worker = World(InMemoryStore()).worker(Lazy(), handle, name=f"consumer-{uuid.uuid4().hex}")
    worker.deliver(sqs_record({"id": "1"}, group_id="g", queue_arn="arn:aws:sqs:eu-central-1:1:orders.fifo"))

    line = json.loads(capsys.readouterr().out.splitlines()[0])
    named = [name for cell, _ in rows("Log lines") for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(set(line) - OF_POWERTOOLS)
