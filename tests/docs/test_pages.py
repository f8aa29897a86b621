"""The pages of docs/ say what is so: their code runs, and nothing of what they are about is left out."""

import re
from pathlib import Path
from typing import Any

import pytest

from idempotent_consumer.envelopes import OPENER_FACTORIES
from idempotent_consumer.strategies import STRATEGY_FACTORIES

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path) -> None:
    names: dict[str, Any] = {}

    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, page.name, "exec"), names)  # noqa: S102


@pytest.mark.parametrize("factory", [*STRATEGY_FACTORIES, *OPENER_FACTORIES])
def test_every_strategy_and_every_opener_is_explained_on_the_page_of_identities(factory: Any) -> None:
    page = (DOCS / "identity.md").read_text(encoding="utf-8")

    assert re.search(rf"`(envelopes\.)?{factory.__name__}\(", page)
