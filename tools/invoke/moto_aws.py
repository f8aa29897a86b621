"""An AWS for one invocation: moto's server in this process, with the resources that a function's settings name."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import boto3
from moto.server import ThreadedMotoServer

from tools.invoke.refusal import RefusalError
from tools.template import Reference, Setting, Template

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_REGION = "us-east-1"
_ACCESS_KEY = _SECRET_KEY = "testing"  # noqa: S105 - moto takes any
_TABLE_SHAPE = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "LocalSecondaryIndexes")


class MotoAws:
    """An AWS that starts empty and is gone when the command ends."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = boto3.Session(_ACCESS_KEY, _SECRET_KEY, region_name=_REGION)

    @property
    def access(self) -> dict[str, str]:
        """The variables that lead a function here."""
        return {
            "AWS_ENDPOINT_URL": self._url,
            "AWS_REGION": _REGION,
            "AWS_ACCESS_KEY_ID": _ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": _SECRET_KEY,
        }

    @property
    def dynamodb(self) -> DynamoDBClient:
        """A client for its DynamoDB."""
        return self._session.client("dynamodb", endpoint_url=self._url)

    def provide(self, settings: Mapping[str, Setting], template: Template) -> dict[str, str]:
        """Make what the settings refer to, and return them as a function's variables.

        Args:
            settings: As the template gives them to the function.
            template: Says what each reference is of.

        Raises:
            RefusalError: A setting needs something that is not made here.
        """
        return {name: self._value(name, setting, template) for name, setting in settings.items()}

    def _value(self, name: str, setting: Setting, template: Template) -> str:
        match setting:
            case str():
                return setting
            case Reference(logical_id):
                resource = template.resources[logical_id]
                match resource["Type"]:
                    case "AWS::DynamoDB::Table":
                        return self._make_table(logical_id, resource["Properties"])
                    case "AWS::SNS::Topic":
                        return self._make_topic(logical_id)
                    case "AWS::SQS::Queue":
                        return self._make_queue(logical_id)
        raise RefusalError(f"{name} is {setting}, which is not made here: add --env {name}=VALUE.")

    def _make_table(self, name: str, properties: Mapping[str, Any]) -> str:
        shape = {part: properties[part] for part in _TABLE_SHAPE if part in properties}
        self.dynamodb.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **shape)
        return name

    def _make_topic(self, name: str) -> str:
        return self._session.client("sns", endpoint_url=self._url).create_topic(Name=name)["TopicArn"]

    def _make_queue(self, name: str) -> str:
        return self._session.client("sqs", endpoint_url=self._url).create_queue(QueueName=name)["QueueUrl"]


@contextmanager
def running_moto() -> Iterator[MotoAws]:
    """Start moto on a free port of this machine, and stop it in the end."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it would log every request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield MotoAws(f"http://{host}:{port}")
    finally:
        server.stop()
