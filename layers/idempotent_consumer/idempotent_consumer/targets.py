"""Where messages are sent: queues, topics and event buses, each asked for several messages in one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, NoRegionError

from idempotent_consumer.errors import ConfigurationError
from idempotent_consumer.metering import ask_sqs
from idempotent_consumer.outgoing import LARGEST_MESSAGE_BYTES, size_of
from idempotent_consumer.requesting import PASSING_CODES, may_have_arrived, may_pass
from idempotent_consumer.settings import CONNECT_TIMEOUT_S, MOST_CONCURRENT, READ_TIMEOUT_S

if TYPE_CHECKING:
    from mypy_boto3_events.client import EventBridgeClient
    from mypy_boto3_sns.client import SNSClient
    from mypy_boto3_sqs.client import SQSClient

Fields = Mapping[str, Any]

MOST_ENTRIES = 10
"""What one request takes, of each of the three services."""

LARGEST_PUBLISHED_BYTES = 262_144
"""What SNS and EventBridge take in one request, all of its messages together."""

NO_ANSWER = "NoAnswer"
"""A code of ours, for a message that the answer does not mention."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Say that a service has a message, and how it calls it; empty if it does not say."""

    sqs_message_id: str


@dataclass(frozen=True, slots=True)
class NotTaken:
    """
    Say that a service has refused a message, or is not known to have it.

    Attributes:
        code: the service's error code, or the name of what happened instead of an answer.
        reason: the same for a person.
        may_have_arrived: whether some try may have arrived, because its answer was lost.
        may_pass: whether another try may be answered otherwise.
    """

    code: str
    reason: str
    may_have_arrived: bool = False
    may_pass: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.code}: {self.reason}"


class Target(Protocol):
    """
    Take messages, up to ten in one request.

    Attributes:
        largest_request_bytes: what one request takes, all of its messages together.
    """

    largest_request_bytes: ClassVar[int]

    @staticmethod
    def size_of(fields: Fields) -> int:
        """Return the bytes of a message that count against the largest request."""

    def ask(self, messages: Sequence[Fields]) -> Sequence[Taken | NotTaken]:
        """
        Make one request, and return what it says about each message, in their order.

        Raises:
            Exception: one of `REQUEST_ERRORS`, which says the same about all of them.
        """


class QueueTarget:
    """
    Send to a queue of SQS.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html

    Args:
        client: boto3's client of SQS.
        url: the queue's.
    """

    largest_request_bytes: ClassVar[int] = LARGEST_MESSAGE_BYTES

    def __init__(self, client: SQSClient, url: str) -> None:
        self._client = client
        self._url = url

    @staticmethod
    def size_of(fields: Fields) -> int:
        """Return the bytes of an entry that SQS counts."""
        return size_of(fields)

    def ask(self, messages: Sequence[Fields]) -> Sequence[Taken | NotTaken]:
        """Make one request, and return what it says about each message."""
        entries: list[Any] = _numbered(messages)
        return _by_number(
            ask_sqs(self._client.send_message_batch, QueueUrl=self._url, Entries=entries), "SQS", len(entries)
        )


class TopicTarget:
    """
    Publish to a topic of SNS.

    Source: https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html

    Args:
        client: boto3's client of SNS.
        arn: the topic's.
    """

    largest_request_bytes: ClassVar[int] = LARGEST_PUBLISHED_BYTES

    def __init__(self, client: SNSClient, arn: str) -> None:
        self._client = client
        self._arn = arn

    @staticmethod
    def size_of(fields: Fields) -> int:
        """Return the bytes of an entry that SNS counts: message, subject, and what the attributes hold."""
        counted = {"MessageBody": fields["Message"], "MessageAttributes": fields.get("MessageAttributes", {})}
        return size_of(counted) + len(fields.get("Subject", "").encode())

    def ask(self, messages: Sequence[Fields]) -> Sequence[Taken | NotTaken]:
        """Make one request, and return what it says about each message."""
        entries: list[Any] = _numbered(messages)
        return _by_number(
            self._client.publish_batch(TopicArn=self._arn, PublishBatchRequestEntries=entries), "SNS", len(entries)
        )


class BusTarget:
    """
    Put events on the buses that they name, of EventBridge.

    Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html

    Args:
        client: boto3's client of EventBridge.
    """

    largest_request_bytes: ClassVar[int] = LARGEST_PUBLISHED_BYTES

    def __init__(self, client: EventBridgeClient) -> None:
        self._client = client

    @staticmethod
    def size_of(fields: Fields) -> int:
        """
        Return the bytes of an entry that EventBridge counts; its time counts as 14.

        Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
        """
        texts = [fields["Source"], fields["DetailType"], fields["Detail"], *fields.get("Resources", ())]
        return 14 + sum(len(text.encode()) for text in texts)

    def ask(self, messages: Sequence[Fields]) -> Sequence[Taken | NotTaken]:
        """Make one request, and return what it says about each event: its answers have no ids, only their order."""
        entries: list[Any] = list(messages)
        answers = self._client.put_events(Entries=entries).get("Entries", [])
        told: list[Any] = [*answers, *([None] * (len(entries) - len(answers)))]
        return [_of_event(answer) for answer in told]


def make_client(
    service: str, connect_timeout_s: float = CONNECT_TIMEOUT_S, read_timeout_s: float = READ_TIMEOUT_S
) -> Any:
    """
    Make boto3's client of a service, with timeouts of seconds and without retries of its own: they are made here.

    Args:
        service: `sqs`, `sns` or `events`.
        connect_timeout_s: seconds that the service has to take a connection.
        read_timeout_s: seconds that it has to answer.

    Raises:
        ConfigurationError: there is no AWS region.
    """
    config = Config(
        connect_timeout=connect_timeout_s,
        read_timeout=read_timeout_s,
        retries={"total_max_attempts": 1},
        max_pool_connections=MOST_CONCURRENT,
    )
    try:
        return boto3.client(service, config=config)  # type: ignore[call-overload]
    except NoRegionError as error:
        raise ConfigurationError("there is no AWS region: set AWS_DEFAULT_REGION") from error


def answer_to(error: Exception) -> NotTaken:
    """Return what an error in the place of an answer says."""
    if isinstance(error, ClientError):
        answered = error.response["Error"]
        code, reason = answered["Code"], answered.get("Message", "")
    else:
        code, reason = type(error).__name__, str(error)
    return NotTaken(code, reason, may_have_arrived(error), may_pass(error))


def answer_in(failed: Mapping[str, Any] | None, service: str = "SQS") -> NotTaken:
    """Return what a failed entry of an answer says; None for an entry that the answer does not mention."""
    if failed is None:
        return NotTaken(
            NO_ANSWER,
            f"{service} answered the request and did not mention the message",
            may_have_arrived=True,
            may_pass=True,
        )
    code = failed["Code"]
    return NotTaken(code, failed.get("Message", ""), may_pass=not failed["SenderFault"] or code in PASSING_CODES)


def _numbered(messages: Sequence[Fields]) -> list[dict[str, Any]]:
    return [{"Id": str(number), **fields} for number, fields in enumerate(messages)]


def _by_number(response: Mapping[str, Any], service: str, count: int) -> Sequence[Taken | NotTaken]:
    taken = {each["Id"]: Taken(each.get("MessageId") or "") for each in response.get("Successful", ())}
    failed = {each["Id"]: each for each in response.get("Failed", ())}
    return [taken.get(each) or answer_in(failed.get(each), service) for each in map(str, range(count))]


def _of_event(answer: Mapping[str, Any] | None) -> Taken | NotTaken:
    if answer is None:
        return answer_in(None, "EventBridge")
    if code := answer.get("ErrorCode"):
        return NotTaken(code, answer.get("ErrorMessage", ""), may_pass=code in PASSING_CODES)
    return Taken(answer.get("EventId", ""))
