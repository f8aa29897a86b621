"""The application on moto: its tables, topic and queues as the template has them, its functions freshly imported."""

import importlib
import json
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from idempotent_consumer.testing import FakeContext
from tools.template import FunctionResource, Reference, Template

ROOT = Path(__file__).resolve().parents[2]
REGION = "us-east-1"

_SESSION = boto3.Session(region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test")
"""One for all tests: a session reads the descriptions of the services once, and that takes longer than a test."""


class Application:
    """
    Deploy the template's tables, topic and queues, and call its functions as Lambda does.

    A function is imported at its first call, with the environment that the template gives it, and stays warm.
    """

    def __init__(self, environment: Callable[[str, str], None]) -> None:
        self._template = Template.read(ROOT / "template.yaml")
        self._set_environment = environment
        self._warm: dict[str, ModuleType] = {}
        self._dynamodb = self.client("dynamodb")
        self._made = {name: self._make(name, body) for name, body in self._template.resources.items()}

    def client(self, service: str) -> Any:
        """Return boto3's client for a service."""
        return _SESSION.client(service)  # type: ignore[call-overload]

    def function(self, name: str) -> FunctionResource:
        """Return a function of the template by the name of its folder."""
        return next(found for found in self._template.functions() if found.code_folder.name == name)

    def environment_of(self, name: str) -> dict[str, str]:
        """Return the variables that a function gets from the template."""
        return {variable: self._resolve(value) for variable, value in self.function(name).environment.items()}

    def start(self, name: str, *, without: Collection[str] = (), **environment: str) -> ModuleType:
        """Import a function anew; keyword arguments override what the template says, and `without` leaves it out."""
        for variable, value in {**self.environment_of(name), **environment}.items():
            if variable not in without:
                self._set_environment(variable, value)
        for file in self.function(name).code_folder.glob("*.py"):
            sys.modules.pop(file.stem, None)
        self._warm[name] = importlib.import_module(name)
        return self._warm[name]

    def invoke(self, name: str, event: Mapping[str, Any]) -> list[str]:
        """Call a function with an event, and return the SQS message ids that come back."""
        module = self._warm.get(name) or self.start(name)
        response = module.lambda_handler(event, FakeContext(remaining_ms=30_000))
        assert set(response) == {"batchItemFailures"}
        return [failure["itemIdentifier"] for failure in response["batchItemFailures"]]

    def items(self, table: str) -> dict[str, dict[str, Any]]:
        """Return a table's items by their keys, as plain values."""
        deserialize = TypeDeserializer().deserialize
        key = self._template.resources[table]["Properties"]["KeySchema"][0]["AttributeName"]
        found = [
            {name: deserialize(value) for name, value in item.items()}
            for item in self._dynamodb.scan(TableName=table)["Items"]
        ]
        return {item[key]: item for item in found}

    def put(self, table: str, item: Mapping[str, Any]) -> None:
        """Put an item, given as plain values."""
        serialize = TypeSerializer().serialize
        self._dynamodb.put_item(TableName=table, Item={name: serialize(value) for name, value in item.items()})

    def forget_processed_messages(self) -> None:
        """Let the retention of everything pass."""
        for key in self.items("ProcessedMessagesTable"):
            self._dynamodb.delete_item(TableName="ProcessedMessagesTable", Key={"id": {"S": key}})

    def messages_on(self, queue: str) -> list[dict[str, Any]]:
        """Return what is on a queue, and take it from there."""
        answer = self.client("sqs").receive_message(
            QueueUrl=self._made[queue], MaxNumberOfMessages=10, MessageAttributeNames=["All"], VisibilityTimeout=600
        )
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        return messages

    def dead_letters_on(self, queue: str) -> dict[str, str]:
        """Return the reasons of a dead-letter queue's messages by their first SQS message ids, and take them out."""
        found: dict[str, str] = {}
        while messages := self.messages_on(queue):
            letters = [json.loads(each["MessageAttributes"]["dead-letter"]["StringValue"]) for each in messages]
            found |= {letter["sqs_message_id"]: letter["reason"] for letter in letters}
        return found

    def delete_queue(self, queue: str) -> None:
        """Let a queue be gone."""
        self.client("sqs").delete_queue(QueueUrl=self._made[queue])

    def restore_queue(self, queue: str) -> None:
        """Make a queue anew, at its old address."""
        self._made[queue] = self._make(queue, self._template.resources[queue])

    def arn_of(self, topic: str) -> str:
        """Return the ARN of a topic."""
        arn = self._made[topic]
        assert arn is not None
        return arn

    def _make(self, name: str, resource: Mapping[str, Any]) -> str | None:
        if resource["Type"] == "AWS::DynamoDB::Table":
            given = ("KeySchema", "AttributeDefinitions", "BillingMode")
            self._dynamodb.create_table(TableName=name, **{part: resource["Properties"][part] for part in given})
            return name
        if resource["Type"] == "AWS::SNS::Topic":
            arn: str = self.client("sns").create_topic(Name=name)["TopicArn"]
            return arn
        if resource["Type"] == "AWS::SQS::Queue":
            is_fifo = resource["Properties"].get("FifoQueue", False)
            kind = {"Attributes": {"FifoQueue": "true"}} if is_fifo else {}
            url: str = self.client("sqs").create_queue(QueueName=f"{name}.fifo" if is_fifo else name, **kind)[
                "QueueUrl"
            ]
            return url
        return None

    def _resolve(self, value: object) -> str:
        if isinstance(value, Reference):
            return self._made[value.logical_id] or value.logical_id
        assert isinstance(value, str)
        return value
