"""What a producer sends is on the queue, and a consumer does each message's work once, however often it was sent."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ReadTimeoutError
from moto import mock_aws

from idempotent_consumer import IdempotentConsumer, Lazy, Message, UnitOfWork, attribute
from idempotent_consumer.errors import NotSentError
from idempotent_consumer.producer import OutgoingMessage, Producer
from idempotent_consumer.testing import FakeClock, FakeContext, InMemoryStore, sqs_event, sqs_record

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient


@pytest.fixture
def sqs() -> "Iterator[SQSClient]":
    with mock_aws():
        yield boto3.client("sqs")


@pytest.fixture
def queue_url(sqs: "SQSClient") -> str:
    return sqs.create_queue(QueueName="orders")["QueueUrl"]


@pytest.fixture
def fifo_url(sqs: "SQSClient") -> str:
    return sqs.create_queue(QueueName="orders.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]


def received(sqs: "SQSClient", url: str) -> list[Mapping[str, Any]]:
    """Take everything from a queue."""
    found: list[Mapping[str, Any]] = []
    while messages := sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], AttributeNames=["All"]
    ).get("Messages"):
        found += messages
        for message in messages:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return found


def as_delivered(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a received message in the form in which Lambda delivers it."""
    attributes = {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
    return sqs_record(message["Body"], sqs_message_id=message["MessageId"], attributes=attributes)


def order(order_id: str, **options: Any) -> OutgoingMessage:
    return OutgoingMessage(message_id=order_id, body={"order_id": order_id}, **options)


class LossyLine:
    """Lie between a producer and SQS, and lose the first answers."""

    def __init__(self, sqs: "SQSClient", losses: int) -> None:
        self._sqs = sqs
        self._losses = losses

    def send_message_batch(self, **request: Any) -> Any:
        answer = self._sqs.send_message_batch(**request)
        if self._losses:
            self._losses -= 1
            raise ReadTimeoutError(endpoint_url="https://sqs.example")
        return answer


def producer_on(line: LossyLine, url: str) -> Producer:
    return Producer(url, client=line, clock=FakeClock())  # type: ignore[arg-type]


def handled_by_a_consumer(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Deliver messages one by one to a consumer, and return the ids that its handler saw."""
    seen: list[str] = []
    consumer = IdempotentConsumer("orders", mode=Lazy(), message_id=attribute("message-id"), store=InMemoryStore())

    @consumer.handler
    def handle(message: Message, work: UnitOfWork) -> None:
        seen.append(message.id)

    for message in messages:
        response = consumer.consume(sqs_event(as_delivered(message)), FakeContext())
        assert response == {"batchItemFailures": []}
    return seen


def test_a_message_is_on_the_queue_as_it_was_sent(sqs: "SQSClient", queue_url: str) -> None:
    message = order("o-1", attributes={"tenant": "t-1", "attempt": 2, "blob": b"\x00"})

    sent = Producer(queue_url).send(message)

    (found,) = received(sqs, queue_url)
    assert (found["MessageId"], found["Body"]) == (sent.sqs_message_id, '{"order_id": "o-1"}')
    values = {
        name: value.get("StringValue", value.get("BinaryValue")) for name, value in found["MessageAttributes"].items()
    }
    assert values == {"message-id": "o-1", "tenant": "t-1", "attempt": "2", "blob": b"\x00"}


def test_many_messages_are_all_there_once_and_known_by_their_ids(sqs: "SQSClient", queue_url: str) -> None:
    report = Producer(queue_url).send_all(order(f"o-{number}") for number in range(105))

    found = {
        each["MessageId"]: each["MessageAttributes"]["message-id"]["StringValue"] for each in received(sqs, queue_url)
    }
    assert found == {each.sqs_message_id: each.message_id for each in report.sent}
    assert sorted(found.values()) == sorted(f"o-{number}" for number in range(105))
    report.raise_for_unsent()


def test_a_message_whose_answer_was_lost_is_sent_again_and_its_work_done_once(sqs: "SQSClient", queue_url: str) -> None:
    producer_on(LossyLine(sqs, losses=1), queue_url).send(order("o-1"))

    messages = received(sqs, queue_url)
    assert len({message["MessageId"] for message in messages}) == 2
    assert handled_by_a_consumer(messages) == ["o-1"]


def test_a_message_whose_fate_stayed_unknown_may_be_sent_again_and_its_work_is_done_once(
    sqs: "SQSClient", queue_url: str
) -> None:
    with pytest.raises(NotSentError) as raised:
        producer_on(LossyLine(sqs, losses=1_000), queue_url).send(order("o-1"))

    (unsent,) = raised.value.unsent
    assert unsent.may_have_arrived
    Producer(queue_url).send(unsent.message)
    assert handled_by_a_consumer(received(sqs, queue_url)) == ["o-1"]


def test_a_fifo_queue_keeps_a_groups_order_and_folds_what_is_sent_again(sqs: "SQSClient", fifo_url: str) -> None:
    messages = [order(f"{group}{step}", group_id=group) for step in range(12) for group in "ab"]

    producer_on(LossyLine(sqs, losses=2), fifo_url).send_all(messages).raise_for_unsent()

    found = [each["MessageAttributes"]["message-id"]["StringValue"] for each in received(sqs, fifo_url)]
    assert len(found) == 24
    for group in "ab":
        assert [each for each in found if each[0] == group] == [f"{group}{step}" for step in range(12)]


def test_a_fifo_message_has_its_group_and_what_it_is_folded_by(sqs: "SQSClient", fifo_url: str) -> None:
    Producer(fifo_url).send(order("o-1", group_id="c-17"))

    (found,) = received(sqs, fifo_url)
    assert found["Attributes"]["MessageGroupId"] == "c-17"
    assert found["Attributes"]["MessageDeduplicationId"] == hashlib.sha256(b"o-1").hexdigest()


def test_a_queue_that_is_not_there_is_named_in_the_error(sqs: "SQSClient", queue_url: str) -> None:
    sqs.delete_queue(QueueUrl=queue_url)

    with pytest.raises(NotSentError, match="NonExistentQueue"):
        Producer(queue_url).send(order("o-1"))


def test_a_queue_that_takes_less_than_others_refuses_what_is_too_large_for_it(sqs: "SQSClient") -> None:
    url = sqs.create_queue(QueueName="small", Attributes={"MaximumMessageSize": "1024"})["QueueUrl"]

    report = Producer(url).send_all([order("o-1"), OutgoingMessage(message_id="o-2", body="x" * 2_000), order("o-3")])

    assert [each.message_id for each in report.sent] == ["o-1", "o-3"]
    assert [(each.message_id, each.may_have_arrived) for each in report.unsent] == [("o-2", False)]
