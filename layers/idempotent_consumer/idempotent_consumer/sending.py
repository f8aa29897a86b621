"""Send to SQS in batches: each message is answered for by itself, and what may pass is tried again."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, NoRegionError, ParamValidationError

from idempotent_consumer.clock import Deadline
from idempotent_consumer.errors import ConfigurationError
from idempotent_consumer.metering import ask_sqs
from idempotent_consumer.outgoing import LARGEST_MESSAGE_BYTES, size_of
from idempotent_consumer.requesting import PASSING_CODES, REQUEST_ERRORS, Patience, may_have_arrived, may_pass
from idempotent_consumer.settings import (
    CONNECT_TIMEOUT_S,
    LONGEST_TRY_MS,
    MOST_CONCURRENT,
    MOST_SENDING_TRIES,
    READ_TIMEOUT_S,
)

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient
    from mypy_boto3_sqs.type_defs import BatchResultErrorEntryTypeDef

MOST_ENTRIES = 10
LARGEST_REQUEST_BYTES = LARGEST_MESSAGE_BYTES
"""What one request takes: the second is for all of its messages together, and as much as one message may have."""

UNSENDABLE, GROUP_ENDED, NO_ANSWER = "Unsendable", "EarlierMessageNotSent", "NoAnswer"
"""Codes of ours, where SQS has none to give."""

_EVERYONES_CODES = re.compile(
    r"(AWS\.SimpleQueueService\.NonExistentQueue|QueueDoesNotExist|AccessDenied|ExpiredToken|InvalidAddress"
    r"|InvalidClientTokenId|InvalidSecurity|SignatureDoesNotMatch|UnrecognizedClient|KMS|Kms)"
)
"""Refusals that concern the queue or the sender, by how they begin: every message would meet them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """
    Hold one message to be sent.

    Attributes:
        fields: of an entry of SendMessageBatch, all but its `Id`.
        group: FIFO group in which it has its place; None where there is no order to keep.
        refusal: why it must not be sent; empty if it may. It is here all the same, because it ends its group.
    """

    fields: Mapping[str, Any]
    group: str | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """Say that SQS has a message, and how SQS calls it."""

    sqs_message_id: str


@dataclass(frozen=True, slots=True)
class NotTaken:
    """
    Say that SQS has refused a message, or is not known to have it.

    Attributes:
        code: SQS's error code, or the name of what happened instead of an answer.
        reason: the same for a person.
        may_have_arrived: whether some try may have reached SQS, because its answer was lost.
    """

    code: str
    reason: str
    may_have_arrived: bool = False

    def __str__(self) -> str:
        return f"{self.code}: {self.reason}"


def make_client(connect_timeout_s: float = CONNECT_TIMEOUT_S, read_timeout_s: float = READ_TIMEOUT_S) -> SQSClient:
    """
    Make boto3's client of SQS, with timeouts of seconds and without retries of its own: they are made here.

    Args:
        connect_timeout_s: seconds that SQS has to take a connection.
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
        return boto3.client("sqs", config=config)
    except NoRegionError as error:
        raise ConfigurationError("there is no AWS region: set AWS_DEFAULT_REGION") from error


class SQSAccess:
    """
    Have the client of SQS made when it is first needed: most invocations need none.

    Args:
        client: boto3's client of SQS, instead of one that is made.
        make: makes one.
    """

    def __init__(self, client: SQSClient | None = None, *, make: Callable[[], SQSClient] = make_client) -> None:
        self._client = client
        self._make = make
        self._lock = threading.Lock()  # clients are not made safely by several threads

    def client(self) -> SQSClient:
        """Return the client."""
        with self._lock:
            self._client = self._client or self._make()
            return self._client


def keeps_order(queue_url: str) -> bool:
    """Tell whether a queue is FIFO: only the end of its name says so."""
    return queue_url.endswith(".fifo")


def send_entries(
    client: SQSClient, queue_url: str, entries: Iterable[Entry], deadline: Deadline
) -> Iterator[Taken | NotTaken]:
    """
    Send messages in as few requests as their order allows, one request after the other.

    A request holds one message of a FIFO group, because a second could overtake the first where the request succeeds
    in part; and once a message of a group could not be sent, the later ones are not sent, either.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html

    Args:
        client: boto3's client of SQS.
        queue_url: the queue.
        entries: the messages; they are asked for as they are needed.
        deadline: end of the invocation.

    Yields:
        The answer to each entry, in their order.
    """
    ended: set[str | None] = set()
    for request in requests_of(entries):
        held = [_held_back(entry, ended) for entry in request]
        going = [entry.fields for entry, answer in zip(request, held, strict=True) if answer is None]
        given = iter(_Exchange(client, queue_url, going, deadline).answers())
        for entry, refusal in zip(request, held, strict=True):
            answer = refusal or next(given)
            if entry.group is not None and isinstance(answer, NotTaken):
                ended.add(entry.group)
            yield answer


def requests_of(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Split entries into requests that SQS takes, in their order, and with no group twice in one request."""
    request: list[Entry] = []
    groups: set[str | None] = set()
    size = 0
    for entry in entries:
        added = size_of(entry.fields)
        if request and (size + added > LARGEST_REQUEST_BYTES or entry.group in groups):
            yield request
            request, groups, size = [], set(), 0
        request.append(entry)
        groups |= {entry.group} - {None}
        size += added
        if len(request) == MOST_ENTRIES:  # at once, because the next entry may be long in coming
            yield request
            request, groups, size = [], set(), 0
    if request:
        yield request


def _held_back(entry: Entry, ended: Set[str | None]) -> NotTaken | None:
    if entry.refusal:
        return NotTaken(UNSENDABLE, entry.refusal)
    if entry.group in ended:
        return NotTaken(GROUP_ENDED, f"an earlier message of the group {entry.group} was not sent")
    return None


class _Exchange:
    """Ask SQS to take some messages, until each has an answer that another try would not change or time is over."""

    def __init__(
        self, client: SQSClient, queue_url: str, entries: Sequence[Mapping[str, Any]], deadline: Deadline
    ) -> None:
        self._client = client
        self._queue_url = queue_url
        self._entries = {str(at): entry for at, entry in enumerate(entries)}
        self._deadline = deadline
        self._patience = Patience(deadline)
        self._tries = 0
        self._failure: Exception | None = None
        self._answers: dict[str, Taken | NotTaken] = {}

    def answers(self) -> list[Taken | NotTaken]:
        """Send, and return the answer to each entry."""
        if self._entries:
            self._send(list(self._entries))
        return [self._answers[each] for each in self._entries]

    def _send(self, ids: Sequence[str]) -> None:
        asked, waiting = ids, self._try(ids)
        while waiting and self._tries < MOST_SENDING_TRIES and self._patience.lasts():
            asked, waiting = waiting, self._try(waiting)
        if len(asked) > 1 and _may_be_one_entrys_fault(self._failure):
            for each in asked:  # each by itself, so that its neighbours do not share its fate
                if self._deadline.spare_ms() > LONGEST_TRY_MS:
                    self._send([each])

    def _try(self, ids: Sequence[str]) -> Sequence[str]:
        """Make one try, write down what it says about each entry, and return those of which another may say more."""
        self._tries += 1
        self._failure = None
        try:
            response = ask_sqs(
                self._client.send_message_batch,
                QueueUrl=self._queue_url,
                Entries=[{"Id": each, **self._entries[each]} for each in ids],
            )
        except REQUEST_ERRORS as error:
            self._failure = error
            for each in ids:
                self._write_down(each, answer_to(error))
            return ids if may_pass(error) else []
        taken = {each["Id"]: each["MessageId"] for each in response.get("Successful", [])}
        failed = {each["Id"]: each for each in response.get("Failed", [])}
        for each in ids:
            self._write_down(each, Taken(taken[each]) if each in taken else answer_in(failed.get(each)))
        return [each for each in ids if each not in taken and _may_pass(failed.get(each))]

    def _write_down(self, each: str, answer: Taken | NotTaken) -> None:
        before = self._answers.get(each)
        if isinstance(answer, NotTaken) and isinstance(before, NotTaken) and before.may_have_arrived:
            answer = replace(answer, may_have_arrived=True)  # a refusal says nothing of the try before it
        self._answers[each] = answer


def answer_to(error: Exception) -> NotTaken:
    """Return what an error in the place of an answer says."""
    if isinstance(error, ClientError):
        answered = error.response["Error"]
        return NotTaken(answered["Code"], answered.get("Message", ""), may_have_arrived(error))
    return NotTaken(type(error).__name__, str(error), may_have_arrived(error))


def answer_in(failed: BatchResultErrorEntryTypeDef | None) -> NotTaken:
    """Return what a failed entry of an answer says; None for an entry that the answer does not mention."""
    if failed is None:
        return NotTaken(NO_ANSWER, "SQS answered the request and did not mention the message", may_have_arrived=True)
    return NotTaken(failed["Code"], failed.get("Message", ""))


def _may_pass(failed: BatchResultErrorEntryTypeDef | None) -> bool:
    return failed is None or not failed["SenderFault"] or failed["Code"] in PASSING_CODES


def _may_be_one_entrys_fault(failure: Exception | None) -> bool:
    """Tell whether a request failed as a whole and yet could succeed in part, had it been made without some entry."""
    if isinstance(failure, ClientError):
        code = failure.response["Error"]["Code"]
        return code not in PASSING_CODES and not _EVERYONES_CODES.match(code)
    return isinstance(failure, ParamValidationError)
