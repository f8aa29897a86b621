"""The page of the dashboard shows the dashboard that the template makes."""

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from idempotent_consumer.telemetry import METRICS_NAMESPACE
from tools.template import Template

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "dashboard.md").read_text(encoding="utf-8")
HEADER = 2
"""Lines of a table before its first row."""


def widgets() -> list[dict[str, Any]]:
    """Return the widgets of the template's dashboard, with references to resources left as they are."""
    body = Template.read(ROOT / "template.yaml").resources["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
    found: list[dict[str, Any]] = json.loads(body)["widgets"]
    return found


def series_of(widget: Mapping[str, Any]) -> list[tuple[list[str], dict[str, Any]]]:
    """Return the metrics of a widget, each with its options; an expression has no parts."""
    return [
        ([part for part in each if isinstance(part, str)], each[-1] if isinstance(each[-1], dict) else {})
        for each in widget["properties"]["metrics"]
    ]


def consumers() -> list[str]:
    outputs = Template.read(ROOT / "template.yaml").body["Outputs"]
    return [each["Value"] for name, each in outputs.items() if name.endswith("ConsumerName")]


def once_each(parts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(parts))


def row_of(widget: Mapping[str, Any]) -> str:
    """Return a widget as the page has it."""
    properties = widget["properties"]
    metrics = [(parts, options) for parts, options in series_of(widget) if parts]
    names = once_each(
        f"`{name}`" if namespace == METRICS_NAMESPACE else f"`{namespace}` `{name}`"
        for (namespace, name, *_), _ in metrics
    )
    statistics = once_each(options.get("stat", properties["stat"]) for _, options in metrics)
    shown = once_each(
        parts[3] if parts[0] == METRICS_NAMESPACE else options["label"].split()[0] for parts, options in metrics
    )
    expressions = once_each(
        re.sub(r"\b([a-z]+)\d+\b", r"\1", options["expression"])
        for _, options in series_of(widget)
        if "expression" in options
    )
    of = f"{', '.join(statistics)} of {', '.join(names)}"
    return (
        f"| {properties['title']} | {''.join(f'`{each}` with ' for each in expressions)}{of} | "
        f"{'all' if shown == consumers() else ', '.join(shown)} |"
    )


def test_page_shows_every_picture_row_by_row_with_its_metrics() -> None:
    rows = [
        [row_of(widget) for widget in sorted(row, key=lambda each: each["x"])]
        for _, row in itertools.groupby(sorted(widgets(), key=lambda each: each["y"]), key=lambda each: each["y"])
    ]

    sections = [
        [line for line in section.splitlines() if line.startswith("|")][HEADER:] for section in PAGE.split("\n## ")[1:]
    ]
    assert sections == rows


def test_every_section_says_how_to_read_its_pictures() -> None:
    for section in PAGE.split("\n## ")[1:]:
        prose = [line for line in section.splitlines()[1:] if line and not line.startswith("|")]

        assert prose, section
