"""Create the table of processed messages in a test's DynamoDB, such as moto's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


def create_processed_messages_table(client: DynamoDBClient, table_name: str = "processed-messages") -> str:
    """
    Create the table as the template does.

    Args:
        client: boto3's client for DynamoDB.
        table_name: its name.

    Returns:
        The name, for `PROCESSED_MESSAGES_TABLE` or `DynamoDBStore`.
    """
    client.create_table(
        TableName=table_name,
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )
    client.update_time_to_live(
        TableName=table_name, TimeToLiveSpecification={"AttributeName": "expires_at", "Enabled": True}
    )
    return table_name
