"""The command as a person runs it, on an AWS in this process."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.loaders import Loader, create_loader
from moto import mock_aws
from typer.testing import CliRunner

from idempotent_consumer.testing import create_processed_messages_table
from idempotent_consumer_operator import queues
from idempotent_consumer_operator.app import app
from tests.operator.fake_queues import explanation

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_sqs.client import SQSClient


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has answered: its exit code, the answer and the words."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Account:
    """An AWS account with what one consumer needs."""

    dynamodb: "DynamoDBClient"
    sqs: "SQSClient"
    table: str
    queue_url: str
    dead_letter_queue_url: str

    def give_up(self, body: str, **said: Any) -> None:
        """Put a letter of ours into the dead-letter queue."""
        attributes = explanation(**said)
        self.sqs.send_message(QueueUrl=self.dead_letter_queue_url, MessageBody=body, MessageAttributes=attributes)

    def visible(self, url: str) -> list[str]:
        """Return the bodies that can be received from a queue, and leave them as they are."""
        answer = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
        return sorted(message["Body"] for message in answer.get("Messages", []))


Command = Callable[..., Answer]


@pytest.fixture(scope="session")
def loader() -> Loader:
    """Return one reader of the descriptions of services for all tests: to read them takes longer than a test."""
    return create_loader()


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, loader: Loader) -> Iterator[Account]:
    """Return what the consumer needs, in an AWS in this process."""
    monkeypatch.delenv("IDEMPOTENT_CONSUMER_STACK", raising=False)
    monkeypatch.setattr("botocore.session.create_loader", lambda _path: loader)
    monkeypatch.setattr(queues, "POLL_S", 0)  # moto answers at once
    with mock_aws():
        dynamodb, sqs = boto3.client("dynamodb"), boto3.client("sqs")
        yield Account(
            dynamodb,
            sqs,
            create_processed_messages_table(dynamodb, "any-table"),
            sqs.create_queue(QueueName="orders")["QueueUrl"],
            sqs.create_queue(QueueName="orders-dead-letters")["QueueUrl"],
        )


@pytest.fixture
def command(aws: Account) -> Command:
    """Return what runs the command, with the names of its table and queues where they are wanted."""

    def run(name: str, *arguments: str, answer: str | None = None) -> Answer:
        options = {
            "status": ["--table", aws.table],
            "stuck": ["--table", aws.table],
            "forget": ["--table", aws.table],
            "dead-letters": ["--dead-letter-queue-url", aws.dead_letter_queue_url],
            "redrive": [
                *("--dead-letter-queue-url", aws.dead_letter_queue_url),
                *("--queue-url", aws.queue_url),
            ],
            "send": ["--queue-url", aws.queue_url],
        }
        result = CliRunner().invoke(app, [name, *options.get(name, []), *arguments], input=answer)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Answer(result.exit_code, result.stdout, result.stderr)

    return run
