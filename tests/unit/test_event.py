"""What Lambda hands over, and what it gets back."""

import json
from typing import Any

import pytest
from aws_lambda_powertools.utilities.data_classes import SQSEvent

from idempotent_consumer.errors import NotAnSQSEventError, UnreportableRecordError
from idempotent_consumer.event import records_of, respond
from idempotent_consumer.testing import sqs_event, sqs_record


def test_the_records_of_an_event_come_as_they_are() -> None:
    first, second = sqs_record("a"), sqs_record("b")

    assert records_of(sqs_event(first, second)) == [first, second]


def test_an_empty_batch_is_a_batch() -> None:
    assert records_of({"Records": []}) == []


def test_a_broken_record_is_left_to_its_own_guard() -> None:
    good = sqs_record("a")

    assert records_of({"Records": [None, good, {"body": 1}]}) == [None, good, {"body": 1}]


def test_a_record_that_names_no_source_is_taken_for_one_of_sqs_by_its_message_id() -> None:
    assert records_of({"Records": [{"messageId": "s-1", "body": "a"}]}) == [{"messageId": "s-1", "body": "a"}]


def test_the_event_may_come_in_the_wrapper_of_powertools() -> None:
    record = sqs_record("a")

    assert records_of(SQSEvent(sqs_event(record))) == [record]


OTHER_EVENTS: list[tuple[object, str]] = [
    ({}, "an object with nothing in it"),
    (None, "NoneType"),
    ("text", "str"),
    (b"{}", "bytes"),
    (42, "int"),
    ([], "a list, as EventBridge Pipes hands over"),
    ([{"messageId": "s-1", "body": "a"}], "EventBridge Pipes"),
    ({"Records": None}, "Records that are NoneType"),
    ({"Records": {"messageId": "s-1"}}, "Records that are dict"),
    ({"Records": "text"}, "Records that are str"),
    ({"order_id": "o-1", "lines": []}, "an object with lines, order_id"),
    ({1: 2, "a": 3}, "an object with 1, a"),
    ([{"eventSource": "aws:sqs", "messageId": "s-1", "body": "a"}], "a list of SQS records, as EventBridge Pipes"),
    ([{"name": "a case", "event": {}}], "a list, as EventBridge Pipes"),
    (sqs_record("a"), "a single SQS record"),
    ({str(number): number for number in range(12)}, "and 2 more"),
    ({"Messages": [{"MessageId": "s-1", "Body": "a"}]}, "ReceiveMessage"),
    ({"batchItemFailures": [{"itemIdentifier": "s-1"}]}, "an answer to SQS"),
    ({"specversion": "1.0", "id": "1", "source": "/shop", "type": "t"}, "a CloudEvent: send it to an SQS queue"),
    ({"eventSource": "SelfManagedKafka", "records": {}}, "a Kafka event"),
    ({"eventSource": "aws:mq", "messages": []}, "ActiveMQ"),
    ({"eventSource": "aws:rmq", "rmqMessagesByQueue": {}}, "RabbitMQ"),
    ({"rmqMessagesByQueue": {}}, "RabbitMQ"),
    ({"version": "0", "detail-type": "Order", "source": "shop", "detail": {}}, "an EventBridge event"),
    ({"requestContext": {}, "body": "a"}, "API Gateway"),
    ({"invocationId": "i", "deliveryStreamArn": "arn", "records": []}, "Firehose"),
    ({"eventSource": "aws:kafka", "records": {"t-0": []}}, "Kafka"),
    ({"awslogs": {"data": ""}}, "CloudWatch Logs"),
    ({"records": [{"messageId": "s-1", "eventSource": "aws:sqs"}]}, "an object with records"),
]


@pytest.mark.parametrize(("event", "appearance"), OTHER_EVENTS)
def test_an_event_that_is_not_of_sqs_is_refused_by_what_it_looks_like(event: object, appearance: str) -> None:
    with pytest.raises(NotAnSQSEventError, match=appearance):
        records_of(event)


OTHER_RECORDS: list[tuple[object, str]] = [
    (
        {"EventSource": "aws:sns", "Sns": {"MessageId": "n-1", "Message": "a"}},
        "records of aws:sns: subscribe an SQS queue",
    ),
    ({"eventSource": "aws:s3", "s3": {}}, "records of aws:s3: let the bucket notify an SQS queue"),
    ({"eventSource": "aws:kinesis", "kinesis": {"data": ""}}, "records of aws:kinesis, a stream"),
    ({"eventSource": "aws:dynamodb", "dynamodb": {}}, "records of aws:dynamodb, a stream"),
    ({"eventSource": "aws:codecommit", "codecommit": {}}, "records of aws:codecommit"),
    ({"MessageId": "s-1", "body": "a"}, "ReceiveMessage"),
    ({"eventSource": ["aws:sqs"]}, "records with eventSource"),
    ({"eventSource": "aws:s3", "messageId": "s-1"}, "records of aws:s3"),
    ({"MessageId": "s-1", "Body": "a", "ReceiptHandle": "r"}, "ReceiveMessage"),
    ({"body": "a"}, "records with body"),
    ({}, "records with nothing in it"),
    (None, "NoneType"),
    ("text", "str"),
    ([], "list"),
]


@pytest.mark.parametrize(("record", "appearance"), OTHER_RECORDS)
def test_records_of_another_service_are_refused_by_its_name(record: object, appearance: str) -> None:
    with pytest.raises(NotAnSQSEventError, match=appearance):
        records_of({"Records": [record, record]})


# -- The answer -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unacknowledged", "expected"),
    [
        ([], '{"batchItemFailures": []}'),
        (["s-1"], '{"batchItemFailures": [{"itemIdentifier": "s-1"}]}'),
        (["b", "a"], '{"batchItemFailures": [{"itemIdentifier": "b"}, {"itemIdentifier": "a"}]}'),
        (["a", "b", "a"], '{"batchItemFailures": [{"itemIdentifier": "a"}, {"itemIdentifier": "b"}]}'),
        ([" é/🐑 "], '{"batchItemFailures": [{"itemIdentifier": " é/🐑 "}]}'),
    ],
)
def test_the_answer_is_byte_for_byte_what_lambda_expects(unacknowledged: list[str], expected: str) -> None:
    assert json.dumps(respond(unacknowledged), ensure_ascii=False) == expected


@pytest.mark.parametrize("unacknowledged", [[""], ["s-1", ""], ["", "s-1"]])
def test_a_failed_record_without_message_id_fails_the_whole_batch_with_a_reason(unacknowledged: list[str]) -> None:
    with pytest.raises(UnreportableRecordError, match="no messageId"):
        respond(unacknowledged)


def test_the_answer_takes_any_iterable_once() -> None:
    ids: Any = iter(["a", "b"])

    assert respond(ids) == {"batchItemFailures": [{"itemIdentifier": "a"}, {"itemIdentifier": "b"}]}
