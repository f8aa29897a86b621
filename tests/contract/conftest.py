"""The stores that are held to the contract."""

import pytest

from idempotent_consumer.store import Store
from idempotent_consumer.testing import FakeClock, InMemoryStore


@pytest.fixture
def clock() -> FakeClock:
    """Return a clock that stands still."""
    return FakeClock()


@pytest.fixture(params=["memory", "dynamodb"])
def store(request: pytest.FixtureRequest) -> Store:
    """Return a store, empty, of each kind."""
    if request.param == "memory":
        return InMemoryStore()
    store: Store = request.getfixturevalue("table")
    return store
