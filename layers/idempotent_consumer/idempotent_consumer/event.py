"""The edge to Lambda: the records of an SQS event, and the answer that names those to deliver again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from idempotent_consumer.errors import NotAnSQSEventError, UnreportableRecordError

_MOST_NAMED = 10


class BatchItemFailure(TypedDict):
    """Name one delivery that is not acknowledged."""

    itemIdentifier: str


class BatchResponse(TypedDict):
    """
    Tell SQS which deliveries are not acknowledged; it deletes all others.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
    """

    batchItemFailures: list[BatchItemFailure]


def records_of(event: object) -> Sequence[object]:
    """
    Return the records of an SQS event; an empty batch is a batch.

    Args:
        event: what Lambda handed to the function.

    Returns:
        The records. Single ones may still be broken; that is for their own guard to find.

    Raises:
        NotAnSQSEventError: the event is something else; the error says what it looks like.
    """
    records = event.get("Records") if isinstance(event, Mapping) else None
    if not isinstance(records, list):
        raise NotAnSQSEventError(f"expected an SQS event with a list of Records, got {_appearance(event)}")
    if records and not any(_is_sqs_record(record) for record in records):
        raise NotAnSQSEventError(f"expected SQS records, got {_record_appearance(records[0])}")
    return records


def respond(unacknowledged: Iterable[str]) -> BatchResponse:
    """
    Answer SQS.

    Args:
        unacknowledged: the SQS message ids of the deliveries that are to come back, in the order of the event.

    Raises:
        UnreportableRecordError: one of them has no SQS message id. Lambda takes an answer with an empty id for a
            failure of the whole batch, too; an error says why.
    """
    identifiers = list(dict.fromkeys(unacknowledged))
    if not all(identifiers):
        raise UnreportableRecordError(
            "a record that was not processed has no messageId to be reported by: the whole batch comes back"
        )
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}


def _looks_received(record: object) -> bool:
    """Tell whether a record has the form in which ReceiveMessage answers, which Lambda's events never have."""
    return isinstance(record, Mapping) and "messageId" not in record and "MessageId" in record


def _is_sqs_record(record: object) -> bool:
    if not isinstance(record, Mapping):
        return False
    source = record.get("eventSource")
    return source == "aws:sqs" or (source is None and "messageId" in record)


_RECEIVED = "the form in which SQS ReceiveMessage answers (MessageId, Body): pass Lambda's own event (messageId, body)"
_PUT_A_QUEUE_BETWEEN = "send it to an SQS queue, and let the queue invoke this function"

_EVENTS = (
    ("Messages", f"an answer in {_RECEIVED}"),
    ("batchItemFailures", "an answer to SQS, not an event of it"),
    ("detail-type", f"an EventBridge event: {_PUT_A_QUEUE_BETWEEN}"),
    ("specversion", f"a CloudEvent: {_PUT_A_QUEUE_BETWEEN}"),
    ("requestContext", "a request from API Gateway, a load balancer or a function URL"),
    ("deliveryStreamArn", "a Firehose event"),
    ("rmqMessagesByQueue", "an Amazon MQ event (RabbitMQ)"),
    ("awslogs", "a CloudWatch Logs subscription"),
)
"""By a member that no event of SQS has: what an event is, and what to do."""
_SOURCES = {
    "aws:kafka": "a Kafka event",
    "SelfManagedKafka": "a Kafka event",
    "aws:mq": "an Amazon MQ event (ActiveMQ)",
    "aws:rmq": "an Amazon MQ event (RabbitMQ)",
}
_SERVICES = {
    "aws:sns": "records of aws:sns: subscribe an SQS queue to the topic, and let the queue invoke this function",
    "aws:s3": "records of aws:s3: let the bucket notify an SQS queue, and let the queue invoke this function",
    "aws:kinesis": "records of aws:kinesis, a stream: its batches are answered otherwise than those of a queue",
    "aws:dynamodb": "records of aws:dynamodb, a stream: its batches are answered otherwise than those of a queue",
}


def _appearance(event: object) -> str:
    if isinstance(event, list):
        of_what = "a list of SQS records" if any(map(_is_sqs_record, event)) else "a list"
        return f"{of_what}, as EventBridge Pipes hands over: let the pipe's target be an SQS queue"
    if not isinstance(event, Mapping):
        return f"{type(event).__name__}"
    if "Records" in event:
        return f"Records that are {type(event['Records']).__name__}"
    source = event.get("eventSource")
    if isinstance(source, str) and source in _SOURCES:
        return _SOURCES[source]
    for member, appearance in _EVENTS:
        if member in event:
            return appearance
    if "messageId" in event and "body" in event:
        return 'a single SQS record: an event holds a list of them, {"Records": [record]}'
    return f"an object with {_named(event)}"


def _record_appearance(record: object) -> str:
    if not isinstance(record, Mapping):
        return f"{type(record).__name__}"
    if _looks_received(record):
        return f"records in {_RECEIVED}"
    source = record.get("eventSource") or record.get("EventSource")
    if isinstance(source, str):
        return _SERVICES.get(source, f"records of {source}")
    return f"records with {_named(record)}"


def _named(members: Mapping[Any, object]) -> str:
    names = sorted(map(str, members))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return (", ".join(names[:_MOST_NAMED]) + more) or "nothing in it"
