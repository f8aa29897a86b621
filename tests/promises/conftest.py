"""The worlds that promises are kept in: on each store, and on DynamoDB with its wire watched."""

from collections.abc import Iterator

import pytest

from idempotent_consumer.dynamodb import DynamoDBStore
from idempotent_consumer.testing import InMemoryStore
from tests.promises.faults import Wire
from tests.promises.world import World


@pytest.fixture(params=["memory", "dynamodb"])
def world(request: pytest.FixtureRequest) -> World:
    """Return a world on each kind of store."""
    return World(InMemoryStore() if request.param == "memory" else request.getfixturevalue("table"))


@pytest.fixture
def wire(table: DynamoDBStore) -> Iterator[Wire]:
    """Return the wire of the store on `table`."""
    wire = Wire(table)
    yield wire
    wire.repair()
