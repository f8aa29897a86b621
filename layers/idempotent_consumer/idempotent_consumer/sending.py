"""Send in batches: each message is answered for by itself, and what may pass is tried again."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from botocore.exceptions import ClientError, ParamValidationError

from idempotent_consumer import targets
from idempotent_consumer.clock import Deadline
from idempotent_consumer.requesting import PASSING_CODES, REQUEST_ERRORS, Patience
from idempotent_consumer.settings import (
    CONNECT_TIMEOUT_S,
    LONGEST_TRY_MS,
    MOST_SENDING_TRIES,
    READ_TIMEOUT_S,
)
from idempotent_consumer.targets import MOST_ENTRIES, Fields, NotTaken, Taken, Target, answer_to

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

UNSENDABLE, GROUP_ENDED = "Unsendable", "EarlierMessageNotSent"
"""Codes of ours, for what was not even tried."""

_EVERYONES_CODES = re.compile(
    r"(AWS\.SimpleQueueService\.NonExistentQueue|QueueDoesNotExist|AccessDenied|AuthorizationError|ExpiredToken"
    r"|InvalidAddress|InvalidClientTokenId|InvalidSecurity|KMS|Kms|NotFound|ResourceNotFound|SignatureDoesNotMatch"
    r"|UnrecognizedClient)"
)
"""Refusals that concern the target or the sender, by how they begin: every message would meet them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """
    Hold one message to be sent.

    Attributes:
        fields: of an entry of the request that sends it, all but its `Id`.
        group: FIFO group in which it has its place; None where there is no order to keep.
        refusal: why it must not be sent; empty if it may. It is here all the same, because it ends its group.
    """

    fields: Fields
    group: str | None = None
    refusal: str = ""


def make_client(connect_timeout_s: float = CONNECT_TIMEOUT_S, read_timeout_s: float = READ_TIMEOUT_S) -> SQSClient:
    """
    Make boto3's client of SQS, with timeouts of seconds and without retries of its own: they are made here.

    Args:
        connect_timeout_s: seconds that SQS has to take a connection.
        read_timeout_s: seconds that it has to answer.

    Raises:
        ConfigurationError: there is no AWS region.
    """
    return cast("SQSClient", targets.make_client("sqs", connect_timeout_s, read_timeout_s))


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


def send_entries(target: Target, entries: Iterable[Entry], deadline: Deadline) -> Iterator[Taken | NotTaken]:
    """
    Send messages in as few requests as their order allows, one request after the other.

    A request holds one message of a FIFO group, because a second could overtake the first where the request succeeds
    in part; and once a message of a group could not be sent, the later ones are not sent, either.

    Args:
        target: where to.
        entries: the messages; they are asked for as they are needed.
        deadline: end of the invocation.

    Yields:
        The answer to each entry, in their order.
    """
    ended: set[str | None] = set()
    for request in requests_of(entries, target):
        held = [_held_back(entry, ended) for entry in request]
        going = [entry.fields for entry, answer in zip(request, held, strict=True) if answer is None]
        given = iter(_Exchange(target, going, deadline).answers())
        for entry, refusal in zip(request, held, strict=True):
            answer = refusal or next(given)
            if entry.group is not None and isinstance(answer, NotTaken):
                ended.add(entry.group)
            yield answer


def requests_of(entries: Iterable[Entry], target: Target | type[Target]) -> Iterator[list[Entry]]:
    """Split entries into requests that a target takes, in their order, and with no group twice in one request."""
    request: list[Entry] = []
    groups: set[str | None] = set()
    size = 0
    for entry in entries:
        added = 0 if entry.refusal else target.size_of(entry.fields)
        if request and (size + added > target.largest_request_bytes or entry.group in groups):
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
        return NotTaken(GROUP_ENDED, f"an earlier message of the group {entry.group} was not sent", may_pass=True)
    return None


class _Exchange:
    """Ask a target to take some messages, until another try would change none of its answers or time is over."""

    def __init__(self, target: Target, messages: Sequence[Fields], deadline: Deadline) -> None:
        self._target = target
        self._messages = messages
        self._deadline = deadline
        self._patience = Patience(deadline)
        self._tries = 0
        self._failure: Exception | None = None
        self._answers: dict[int, Taken | NotTaken] = {}

    def answers(self) -> list[Taken | NotTaken]:
        """Send, and return the answer to each message."""
        if self._messages:
            self._send(range(len(self._messages)))
        return [self._answers[each] for each in range(len(self._messages))]

    def _send(self, places: Sequence[int]) -> None:
        asked, waiting = places, self._try(places)
        while waiting and self._tries < MOST_SENDING_TRIES and self._patience.lasts():
            asked, waiting = waiting, self._try(waiting)
        if len(asked) > 1 and _may_be_one_entrys_fault(self._failure):
            for each in asked:  # each by itself, so that its neighbours do not share its fate
                if self._deadline.spare_ms() > LONGEST_TRY_MS:
                    self._send([each])

    def _try(self, places: Sequence[int]) -> Sequence[int]:
        """Make one try, write down what it says about each message, and return those of which another may say more."""
        self._tries += 1
        self._failure = None
        try:
            answers = self._target.ask([self._messages[each] for each in places])
        except REQUEST_ERRORS as error:
            self._failure = error
            answers = [answer_to(error)] * len(places)
        for each, answer in zip(places, answers, strict=True):
            self._write_down(each, answer)
        return [
            each
            for each, answer in zip(places, answers, strict=True)
            if isinstance(answer, NotTaken) and answer.may_pass
        ]

    def _write_down(self, each: int, answer: Taken | NotTaken) -> None:
        before = self._answers.get(each)
        if isinstance(answer, NotTaken) and isinstance(before, NotTaken) and before.may_have_arrived:
            answer = replace(answer, may_have_arrived=True)  # a refusal says nothing of the try before it
        self._answers[each] = answer


def _may_be_one_entrys_fault(failure: Exception | None) -> bool:
    """Tell whether a request failed as a whole and yet could succeed in part, had it been made without some entry."""
    if isinstance(failure, ClientError):
        code = failure.response["Error"]["Code"]
        return code not in PASSING_CODES and not _EVERYONES_CODES.match(code)
    return isinstance(failure, ParamValidationError)
