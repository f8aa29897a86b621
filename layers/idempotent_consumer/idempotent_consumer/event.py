"""The edge to Lambda: the records of an SQS event, and the answer that names those to deliver again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from idempotent_consumer.errors import NotAnSQSEventError, UnreportableRecordError


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


def _is_sqs_record(record: object) -> bool:
    if not isinstance(record, Mapping):
        return False
    source = record.get("eventSource")
    return source == "aws:sqs" or (source is None and "messageId" in record)


_APPEARANCES = (
    ("Messages", "the answer of SQS ReceiveMessage: pass Lambda's event instead"),
    ("detail-type", "an EventBridge event: put a queue between its rule and this function"),
    ("requestContext", "a request from API Gateway, a load balancer or a function URL"),
    ("records", "a Firehose or Kafka event"),
    ("awslogs", "a CloudWatch Logs subscription"),
)


def _appearance(event: object) -> str:
    if isinstance(event, list):
        return "a list, as EventBridge Pipes hands over: let the pipe's target be an SQS queue"
    if not isinstance(event, Mapping):
        return f"{type(event).__name__}"
    if "Records" in event:
        return f"Records that are {type(event['Records']).__name__}"
    for member, appearance in _APPEARANCES:
        if member in event:
            return appearance
    return f"an object with {', '.join(sorted(map(str, event))) or 'nothing in it'}"


def _record_appearance(record: object) -> str:
    if not isinstance(record, Mapping):
        return f"{type(record).__name__}"
    if "MessageId" in record:
        return "records in the form of SQS ReceiveMessage (MessageId, Body): Lambda writes messageId and body"
    source = record.get("eventSource") or record.get("EventSource")
    return (
        f"records of {source}" if source else f"records with {', '.join(sorted(map(str, record))) or 'nothing in them'}"
    )
