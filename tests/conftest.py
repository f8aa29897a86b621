"""What every test may ask for: an account that is nobody's, and no network where none is needed."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from moto import mock_aws
from pynamodb.connection import Connection
from pytest_socket import disable_socket, enable_socket

from idempotent_consumer import DynamoDBStore
from idempotent_consumer.testing import create_processed_messages_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

OFFLINE = ("unit", "contract", "promises", "functions", "template", "operator")

SETTINGS = ("PROCESSED_MESSAGES_TABLE", "DEAD_LETTER_QUEUE_URL", "QUEUE_URL", "_X_AMZN_TRACE_ID")
"""What would have consumers talk to somebody's queues, or be traced."""


def set_account(environment: pytest.MonkeyPatch) -> None:
    """Let no test reach an account of the person who runs it."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        environment.setenv(name, "test")
    environment.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_SESSION_TOKEN", *SETTINGS):
        environment.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test an account that is nobody's."""
    set_account(monkeypatch)


@pytest.fixture(autouse=True)
def network(request: pytest.FixtureRequest) -> Iterator[None]:
    """Close the network to tests that must do without."""
    kind = Path(request.node.path).relative_to(Path(__file__).parent).parts[0]
    if kind not in OFFLINE:
        yield
        return
    disable_socket(allow_unix_socket=True)  # event loops wake themselves through one
    yield
    enable_socket()


@pytest.fixture(scope="session")
def clients() -> Iterator[tuple["DynamoDBClient", Connection]]:
    """Return clients of DynamoDB as boto3 and the store make them; making one takes longer than most tests."""
    with pytest.MonkeyPatch.context() as environment:
        set_account(environment)
        yield boto3.client("dynamodb"), DynamoDBStore("any")._connection


@pytest.fixture
def dynamodb(clients: tuple["DynamoDBClient", Connection]) -> "Iterator[DynamoDBClient]":
    """Return a client of an empty DynamoDB in this process."""
    with mock_aws():
        yield clients[0]


@pytest.fixture
def table(dynamodb: "DynamoDBClient", clients: tuple["DynamoDBClient", Connection]) -> DynamoDBStore:
    """Return a store on a new table."""
    return DynamoDBStore(create_processed_messages_table(dynamodb, "any-name-at-all"), connection=clients[1])
