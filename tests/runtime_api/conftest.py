"""Functions written for one test, run as Lambda runs them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tools.runtime_api import Function, FunctionProcess


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., FunctionProcess]]:
    """Return a starter of functions: it takes the source of a module that has a `handler`."""
    with ExitStack() as running:

        def start(source: str, *, init_timeout_s: float = 10.0, **settings: Any) -> FunctionProcess:
            folder = tmp_path / "function"
            folder.mkdir(exist_ok=True)
            (folder / "app.py").write_text(dedent(source), encoding="utf-8")
            function = Function(name="sample", handler="app.handler", folder=folder, **settings)
            return running.enter_context(FunctionProcess(function, init_timeout_s=init_timeout_s))

        yield start
