"""Clients of AWS, or of what stands at AWS_ENDPOINT_URL, made when they are first needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from idempotent_consumer_operator.errors import UsageError, translated

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sts import STSClient

_TIMEOUTS = {"connect_timeout": 5, "read_timeout": 30}  # seconds; a receive waits for one of them
_RETRYING = Config(retries={"mode": "standard", "total_max_attempts": 3}, **_TIMEOUTS)  # type: ignore[arg-type]
_ONCE = Config(retries={"total_max_attempts": 1}, **_TIMEOUTS)  # type: ignore[arg-type]


class Aws:
    """
    Give out clients.

    Args:
        region: AWS region; that of the environment or the profile if None.
        profile: name of a profile in the files of the AWS command line; the default one if None.
    """

    def __init__(self, region: str | None = None, profile: str | None = None) -> None:
        with translated():
            self._session = boto3.Session(region_name=region, profile_name=profile)

    @cached_property
    def sqs(self) -> SQSClient:
        """Return the client of SQS for all but sending."""
        with _made():
            return self._session.client("sqs", config=_RETRYING)

    @cached_property
    def sending_sqs(self) -> SQSClient:
        """Return the client of SQS for sending, which `send_entries` tries again by itself."""
        with _made():
            return self._session.client("sqs", config=_ONCE)

    @cached_property
    def dynamodb(self) -> DynamoDBClient:
        """Return the client of DynamoDB."""
        with _made():
            return self._session.client("dynamodb", config=_RETRYING)

    @cached_property
    def cloudformation(self) -> CloudFormationClient:
        """Return the client of CloudFormation."""
        with _made():
            return self._session.client("cloudformation", config=_RETRYING)

    @cached_property
    def sts(self) -> STSClient:
        """Return the client of STS, which knows who asks."""
        with _made():
            return self._session.client("sts", config=_RETRYING)


@contextmanager
def _made() -> Iterator[None]:
    try:
        with translated():
            yield
    except ValueError as error:  # that is what botocore raises for an endpoint that is no URL
        raise UsageError(f"the client cannot be made: {error}: look at AWS_ENDPOINT_URL") from error
