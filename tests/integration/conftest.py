"""What every integration test may ask for."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from moto import mock_aws

from tests.integration.application import REGION, ROOT, Application
from tools.payment_gateway import PaymentGateway


@pytest.fixture
def application(monkeypatch: pytest.MonkeyPatch) -> Iterator[Application]:
    """Return the application, freshly deployed."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        yield Application(monkeypatch.setenv)


@pytest.fixture
def gateway() -> Iterator[PaymentGateway]:
    """Return a payment gateway that runs."""
    with PaymentGateway() as gateway:
        yield gateway


@pytest.fixture
def event_of() -> Callable[[str], dict[str, Any]]:
    """Return a reader of the sample events."""

    def read(name: str) -> dict[str, Any]:
        event: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text(encoding="utf-8"))
        return event

    return read


@pytest.fixture
def outcomes(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return a reader of the outcomes that were logged since it was last called, one for each delivery."""

    def read() -> list[str]:
        logged = [record.__dict__ for record in caplog.records if record.getMessage() == "delivery"]
        caplog.clear()
        return [delivery["outcome"] for delivery in logged]

    return read
