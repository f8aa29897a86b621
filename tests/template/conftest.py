"""The template as data, its dashboard, and what the code that it deploys really writes."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tools.template import Template

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def template() -> Mapping[str, Any]:
    """Return the template with its short tags written out."""
    return Template.read(ROOT / "template.yaml").body


@pytest.fixture(scope="session")
def widgets(template: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the dashboard's widgets, with each reference to a resource replaced by `<its name>`."""
    body = template["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
    found: list[dict[str, Any]] = json.loads(re.sub(r"\$\{([^}]+)\}", r"<\1>", body))["widgets"]
    return found


@pytest.fixture(scope="session")
def consumers() -> Mapping[str, str]:
    """Return the mode of each consumer by its name, as the functions' sources say."""
    sources = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("functions/*/*.py"))]
    found = [
        re.search(r'IdempotentConsumer\(\s*"([^"]+)",\s*mode=(\w+)\(', source)
        for source in sources
        if "IdempotentConsumer(" in source
    ]
    return {each[1]: each[2] for each in found if each}
