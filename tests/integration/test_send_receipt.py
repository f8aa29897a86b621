"""What `send_receipt` publishes, delivery by delivery."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.application import Application

EventOf = Callable[[str], dict[str, Any]]
Outcomes = Callable[[], list[str]]


class Mailbox:
    """Subscribe to the topic, and read what arrives."""

    def __init__(self, application: Application) -> None:
        self._sqs = application.client("sqs")
        self._url = self._sqs.create_queue(QueueName="mailbox")["QueueUrl"]
        attributes = self._sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"])
        application.client("sns").subscribe(
            TopicArn=application.arn_of("ReceiptsTopic"),
            Protocol="sqs",
            Endpoint=attributes["Attributes"]["QueueArn"],
        )

    def notifications(self) -> list[dict[str, Any]]:
        """Return what has arrived since the last call, as SNS wraps it."""
        received = self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=10).get("Messages", [])
        return [json.loads(message["Body"]) for message in received]

    def ids(self) -> list[str]:
        """Return the message ids of what has arrived since the last call, sorted."""
        return sorted(notification["MessageAttributes"]["message-id"]["Value"] for notification in self.notifications())


@pytest.fixture
def mailbox(application: Application) -> Mailbox:
    """Return a reader of the receipts."""
    return Mailbox(application)


@pytest.mark.parametrize("event", ["receipts-single", "receipts-redelivered"])
def test_a_receipt_is_published_under_its_message_id_and_remembered(
    application: Application, mailbox: Mailbox, event_of: EventOf, event: str
) -> None:
    assert application.invoke("send_receipt", event_of(event)) == []

    (notification,) = mailbox.notifications()
    assert notification["Subject"] == "Your receipt"
    assert "19.99 EUR for your order o-1001" in notification["Message"]
    assert notification["MessageAttributes"]["message-id"]["Value"] == "o-1001/receipt"
    (record,) = application.items("ProcessedMessagesTable").values()
    assert (record["id"], record["status"]) == ("send-receipt#o-1001/receipt", "COMPLETED")


def test_a_receipt_that_is_delivered_again_is_not_published_again(
    application: Application, mailbox: Mailbox, event_of: EventOf, outcomes: Outcomes
) -> None:
    application.invoke("send_receipt", event_of("receipts-single"))

    assert application.invoke("send_receipt", event_of("receipts-redelivered")) == []

    assert outcomes() == ["PROCESSED", "DUPLICATE"]
    assert mailbox.ids() == ["o-1001/receipt"]


def test_a_receipt_that_is_asked_for_twice_in_one_batch_is_published_once(
    application: Application, mailbox: Mailbox, event_of: EventOf
) -> None:
    assert application.invoke("send_receipt", event_of("receipts-duplicates-in-batch")) == []

    assert mailbox.ids() == ["o-1001/receipt", "o-1002/receipt"]


def test_a_receipt_for_nobody_is_rejected_and_its_neighbours_are_published(
    application: Application, mailbox: Mailbox, event_of: EventOf, outcomes: Outcomes
) -> None:
    event = event_of("receipts-poison-in-batch")

    assert application.invoke("send_receipt", event) == []

    assert sorted(outcomes()) == ["PROCESSED", "PROCESSED", "REJECTED"]
    assert application.dead_letters_on("ReceiptsDeadLetterQueue").keys() == {event["Records"][1]["messageId"]}
    assert mailbox.ids() == ["o-1001/receipt", "o-1002/receipt"]


def test_a_receipt_whose_topic_is_gone_comes_back_and_is_not_remembered(
    application: Application, event_of: EventOf, outcomes: Outcomes
) -> None:
    event = event_of("receipts-single")
    application.client("sns").delete_topic(TopicArn=application.arn_of("ReceiptsTopic"))

    assert application.invoke("send_receipt", event) == [event["Records"][0]["messageId"]]

    assert outcomes() == ["FAILED"]
    assert application.items("ProcessedMessagesTable") == {}
