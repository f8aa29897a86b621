"""Publish each receipt: looked up before, remembered after; only a crash in between sends it twice."""

from __future__ import annotations

import os
from typing import Any

import boto3
from botocore.config import Config

from idempotent_consumer import (
    BatchResponse,
    ConfigurationError,
    IdempotentConsumer,
    Lazy,
    Message,
    UnitOfWork,
    attribute,
)
from receipts import SUBJECT, InvalidReceipt, Receipt

SETTINGS = ("PROCESSED_MESSAGES_TABLE", "RECEIPTS_TOPIC_ARN")
if missing := [name for name in SETTINGS if not os.environ.get(name)]:
    raise ConfigurationError(*(f"{name} is not set" for name in missing))

TOPIC_ARN = os.environ["RECEIPTS_TOPIC_ARN"]
sns = boto3.client("sns", config=Config(connect_timeout=1, read_timeout=3, retries={"total_max_attempts": 2}))
consumer = IdempotentConsumer(
    "send-receipt", mode=Lazy(), message_id=attribute("message-id"), reject_on=(InvalidReceipt,)
)


@consumer.handler
def send_receipt(message: Message, work: UnitOfWork) -> None:
    """Publish the receipt under the message's id, by which its readers can know it again."""
    sns.publish(
        TopicArn=TOPIC_ARN,
        Subject=SUBJECT,
        Message=Receipt.from_json(message.body).text(),
        MessageAttributes={"message-id": {"DataType": "String", "StringValue": message.id}},
    )


def lambda_handler(event: dict[str, Any], context: object) -> BatchResponse:
    """Handle a batch of receipts and report those that have to come back."""
    return consumer.consume(event, context)
