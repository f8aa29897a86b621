"""The template as data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tools.template import Template


@pytest.fixture(scope="session")
def template() -> Mapping[str, Any]:
    """Return the template with its short tags written out."""
    return Template.read(Path(__file__).resolve().parents[2] / "template.yaml").body
