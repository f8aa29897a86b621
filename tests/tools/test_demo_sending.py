"""The planned messages get to SQS whole, in order, and each as a message of its own."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.stub import ANY, Stubber
from moto import mock_aws

from idempotent_consumer.errors import NotSentError
from tools.demo.outgoing import Outgoing
from tools.demo.queues import Channel, Queue
from tools.demo.sending import send

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@pytest.fixture
def sqs() -> "Iterator[SQSClient]":
    with mock_aws():
        yield boto3.client("sqs")


def channel(sqs: "SQSClient", name: str) -> Channel:
    attributes = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
    url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]  # type: ignore[arg-type]
    return Channel(url, dead_letter_url="", log_group_name="")


def received(sqs: "SQSClient", channel: Channel) -> dict[str, str]:
    bodies: dict[str, str] = {}
    while messages := sqs.receive_message(QueueUrl=channel.url, MaxNumberOfMessages=10).get("Messages"):
        bodies.update({message["MessageId"]: message["Body"] for message in messages})
    return bodies


def test_every_message_arrives_and_is_known_by_its_sqs_id(sqs: "SQSClient") -> None:
    channels = {Queue.ORDERS: channel(sqs, "orders"), Queue.PAYMENTS: channel(sqs, "payments")}
    messages = [
        Outgoing(queue=queue, business_id=str(at), body=f"{queue} {at}", message_id=str(at))
        for at in range(23)
        for queue in channels
    ]

    sent = send(sqs, channels, messages)

    assert sorted(each.outgoing.body for each in sent) == sorted(message.body for message in messages)
    arrived = received(sqs, channels[Queue.ORDERS]) | received(sqs, channels[Queue.PAYMENTS])
    assert arrived == {each.sqs_message_id: each.outgoing.body for each in sent}


def test_messages_of_one_queue_are_sent_in_their_order(sqs: "SQSClient") -> None:
    channels = {Queue.SHIPMENTS: channel(sqs, "shipments.fifo")}
    step = Outgoing(queue=Queue.SHIPMENTS, business_id="s-1 packed", body="{}", message_id="s-1/packed", group_id="s-1")

    sent = send(sqs, channels, [step] * 11)

    assert [each.outgoing for each in sent] == [step] * 11
    assert len({each.sqs_message_id for each in sent}) == 11  # SQS has not taken them for one


def test_message_id_goes_along_as_an_attribute_unless_there_is_none(sqs: "SQSClient") -> None:
    channels = {Queue.PAYMENTS: channel(sqs, "payments")}
    nameless = Outgoing(queue=Queue.PAYMENTS, business_id="(no message-id)", body="nameless")
    named = Outgoing(queue=Queue.PAYMENTS, business_id="p-1", body="named", message_id="p-1")

    sent = send(sqs, channels, [nameless, named])

    answer = sqs.receive_message(
        QueueUrl=channels[Queue.PAYMENTS].url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
    )
    attributes = {message["MessageId"]: message.get("MessageAttributes", {}) for message in answer["Messages"]}
    by_message = {each.outgoing: attributes[each.sqs_message_id] for each in sent}
    assert by_message[nameless] == {}
    assert by_message[named]["message-id"]["StringValue"] == "p-1"


def test_refused_message_stops_the_demo_with_the_reason() -> None:
    client = boto3.client("sqs")
    refused = {"Id": "0", "SenderFault": True, "Code": "InvalidMessageContents", "Message": "no such characters"}
    channels = {Queue.ORDERS: Channel("https://sqs.example/orders", "", "")}

    stubber = Stubber(client)
    stubber.add_response(
        "send_message_batch", {"Successful": [], "Failed": [refused]}, {"QueueUrl": ANY, "Entries": ANY}
    )

    with stubber, pytest.raises(NotSentError, match=r"'o-1' \(InvalidMessageContents: no such characters\)"):
        send(client, channels, [Outgoing(queue=Queue.ORDERS, business_id="o-1", body="{}", message_id="o-1")])
