"""Options of the long run; `tools/fuzz` gives them."""

from pathlib import Path

import pytest

import tests.fuzz.profile  # noqa: F401 - registers the profiles before `--hypothesis-profile` asks for them
from tests.fuzz.tally import TALLY


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the place for what was counted."""
    parser.addoption("--fuzz-tally", type=Path, help="file for how many records were generated, and their outcomes")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write down what was counted."""
    if path := session.config.getoption("--fuzz-tally", default=None):
        TALLY.write(path)
