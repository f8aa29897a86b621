"""The README says what is so: its code runs, and what it names exists."""

import json
import re
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from idempotent_consumer import Outcome
from idempotent_consumer.settings import Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@dataclass
class Order:
    order_id: str
    sku: str
    quantity: int

    @classmethod
    def from_json(cls, text: str) -> "Order":
        return cls(**json.loads(text))


class OrderItem(Model):
    class Meta:
        table_name = "orders"

    order_id = UnicodeAttribute(hash_key=True)

    @classmethod
    def placed(cls, order: Order) -> "OrderItem":
        return cls(order.order_id)


class StockItem(Model):
    class Meta:
        table_name = "stock"

    sku = UnicodeAttribute(hash_key=True)
    quantity = NumberAttribute()


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for the module that the first example imports."""
    module = types.ModuleType("orders")
    for part in (Order, OrderItem, StockItem):
        setattr(module, part.__name__, part)
    monkeypatch.setitem(sys.modules, "orders", module)
    monkeypatch.setenv("PROCESSED_MESSAGES_TABLE", "processed-messages")


@pytest.mark.usefixtures("orders")
def test_the_python_of_the_readme_runs_from_top_to_bottom() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, Any] = {}

    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102

    assert len(blocks) == 3
    assert names["sent"] == ["m-1"]


def test_the_function_of_the_first_screen_fits_on_it() -> None:
    first = re.search(r"```python\n(.*?)```", README, re.DOTALL)

    assert first is not None
    assert len(first[1].splitlines()) <= 20


def test_every_make_target_that_the_documents_name_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):.*## ", makefile, re.MULTILINE))
    documents = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^make ([a-z]+)|`make ([a-z]+)[`\s]", documents, re.MULTILINE))

    assert {"demo", "test", "check", "invoke", "deploy"} <= {a or b for a, b in named} <= targets


def test_every_outcome_is_explained() -> None:
    assert [outcome for outcome in Outcome if outcome not in README] == []


def test_every_setting_of_the_environment_is_explained() -> None:
    source = Path(sys.modules[Settings.__module__].__file__ or "").read_text(encoding="utf-8")
    variables = set(re.findall(r'"([A-Z][A-Z_]{5,})"', source))

    assert len(variables) >= 3
    assert [variable for variable in variables if f"`{variable}`" not in README] == []


def test_every_link_within_the_repository_leads_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_decision_records_have_numbers_of_their_own() -> None:
    numbers = [path.name[:4] for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]

    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]
