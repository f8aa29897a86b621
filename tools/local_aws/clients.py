"""One boto3 client for each service that the tools use, made for one local AWS."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from tools.local_aws.ministack import ACCESS_KEY, REGION, SECRET_KEY, LocalAws

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """The AWS clients of the tools and of the end-to-end tests; `close` them in the end."""

    cloudformation: CloudFormationClient
    dynamodb: DynamoDBClient
    functions: LambdaClient
    iam: IAMClient
    logs: CloudWatchLogsClient
    sns: SNSClient
    sqs: SQSClient

    def close(self) -> None:
        """Close all connections."""
        for field in fields(self):
            getattr(self, field.name).close()


def connect(aws: LocalAws) -> Clients:
    """Make clients that can reach this local AWS only, whatever the environment holds."""
    session = boto3.Session(ACCESS_KEY, SECRET_KEY, region_name=REGION)
    endpoint, trust = aws.endpoint, str(aws.ca_bundle)
    # No proxy for loopback. An invocation may wait long for its process on a busy machine, and is not to be repeated.
    config = Config(proxies={}, connect_timeout=5, read_timeout=120, retries={"total_max_attempts": 1})
    return Clients(
        cloudformation=session.client("cloudformation", endpoint_url=endpoint, verify=trust, config=config),
        dynamodb=session.client("dynamodb", endpoint_url=endpoint, verify=trust, config=config),
        functions=session.client("lambda", endpoint_url=endpoint, verify=trust, config=config),
        iam=session.client("iam", endpoint_url=endpoint, verify=trust, config=config),
        logs=session.client("logs", endpoint_url=endpoint, verify=trust, config=config),
        sns=session.client("sns", endpoint_url=endpoint, verify=trust, config=config),
        sqs=session.client("sqs", endpoint_url=endpoint, verify=trust, config=config),
    )
