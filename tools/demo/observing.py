"""Look at the deployed application from outside: its queues, logs, tables, and the topic's subscriber."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from boto3.dynamodb.types import TypeDeserializer

from tools.demo.deliveries import Delivery, read_deliveries
from tools.demo.letters import Letter
from tools.demo.proofs import StoredOrder
from tools.demo.queues import Channel, Queue, channels_of
from tools.local_aws import LocalStack

if TYPE_CHECKING:
    from mypy_boto3_sqs.literals import QueueAttributeNameType

DEPTHS: Sequence[QueueAttributeNameType] = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
PEEK_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Hold what is to be seen of the queues at one moment."""

    deliveries: Mapping[Queue, Sequence[Delivery]]
    depths: Mapping[Queue, int]
    dead_letter_depths: Mapping[Queue, int]


class Observer:
    """
    Read what the application has done.

    Args:
        stack: where it is deployed.
    """

    def __init__(self, stack: LocalStack) -> None:
        self.channels: Mapping[Queue, Channel] = channels_of(stack.outputs)
        self._clients = stack.clients
        self._outputs = stack.outputs
        self._inbox_url = ""
        self._published: list[str] = []

    def subscribe(self) -> None:
        """Let a queue of the demo have every receipt that is published from now on."""
        sqs, sns, topic = self._clients.sqs, self._clients.sns, self._outputs.receipts_topic_arn
        self._inbox_url = sqs.create_queue(QueueName=f"receipts-inbox-{uuid4().hex[:8]}")["QueueUrl"]
        wanted = sqs.get_queue_attributes(QueueUrl=self._inbox_url, AttributeNames=["QueueArn"])
        arn = wanted["Attributes"]["QueueArn"]
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": "sns.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": topic}},
        }
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        sqs.set_queue_attributes(QueueUrl=self._inbox_url, Attributes={"Policy": policy})
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})

    def snapshot(self) -> Snapshot:
        """Look at all queues and logs."""
        return Snapshot(
            # The logs last: what has left a queue by then has been logged.
            depths={queue: self._depth(channel.url) for queue, channel in self.channels.items()},
            dead_letter_depths={
                queue: self._depth(channel.dead_letter_url) for queue, channel in self.channels.items()
            },
            deliveries=self.deliveries(),
        )

    def deliveries(self) -> dict[Queue, list[Delivery]]:
        """Return all deliveries that were logged so far."""
        return {
            queue: read_deliveries(self._clients.logs, channel.log_group_name)
            for queue, channel in self.channels.items()
        }

    def published_receipts(self) -> list[str]:
        """Return the `message-id` of every receipt published so far, as often as it was."""
        for message in self._receive_all(self._inbox_url, visibility_seconds=PEEK_SECONDS):
            self._published.append(message["MessageAttributes"]["message-id"]["StringValue"])
            self._clients.sqs.delete_message(QueueUrl=self._inbox_url, ReceiptHandle=message["ReceiptHandle"])
        return list(self._published)

    def dead_letters(self) -> list[Letter]:
        """Return what is in the dead-letter queues; it is hidden there for a minute."""
        return [
            Letter.of(queue, message)
            for queue, channel in self.channels.items()
            for message in self._receive_all(channel.dead_letter_url, visibility_seconds=PEEK_SECONDS)
        ]

    def orders(self) -> dict[str, StoredOrder]:
        """Return all orders in the orders table."""
        return {
            item["order_id"]: StoredOrder(
                item["status"], {line["sku"]: int(line["quantity"]) for line in item["lines"]}
            )
            for item in self._scan(self._outputs.orders_table_name)
        }

    def stock(self) -> dict[str, int]:
        """Return what is left of each SKU."""
        return {item["sku"]: int(item["quantity"]) for item in self._scan(self._outputs.stock_table_name)}

    def histories(self) -> dict[str, list[str]]:
        """Return the steps that were applied to each shipment, in order."""
        return {item["shipment_id"]: item["history"] for item in self._scan(self._outputs.shipments_table_name)}

    def load_stock(self, stock: Mapping[str, int]) -> None:
        """Put SKUs into the stock table."""
        for sku, quantity in stock.items():
            self._clients.dynamodb.put_item(
                TableName=self._outputs.stock_table_name, Item={"sku": {"S": sku}, "quantity": {"N": str(quantity)}}
            )

    def _depth(self, url: str) -> int:
        answer = self._clients.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=DEPTHS)
        return sum(int(answer["Attributes"][name]) for name in DEPTHS)

    def _receive_all(self, url: str, *, visibility_seconds: int) -> Iterator[Mapping[str, Any]]:
        while True:
            answer = self._clients.sqs.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=10,
                VisibilityTimeout=visibility_seconds,
                MessageAttributeNames=["All"],
            )
            if not answer.get("Messages"):
                return
            yield from answer["Messages"]

    def _scan(self, table_name: str) -> Iterator[dict[str, Any]]:
        read = TypeDeserializer().deserialize
        for page in self._clients.dynamodb.get_paginator("scan").paginate(TableName=table_name, ConsistentRead=True):
            for item in page["Items"]:
                yield {name: read(value) for name, value in item.items()}
