"""An SQS that takes what it is sent, unless it has been told what to do with the next request; and sending to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from idempotent_consumer.clock import Deadline
from idempotent_consumer.sending import Entry, send_entries
from idempotent_consumer.targets import NotTaken, QueueTarget, Taken
from idempotent_consumer.testing import FakeClock, FakeContext

Fields = Mapping[str, Any]
Response = dict[str, list[dict[str, Any]]]

LOST = ReadTimeoutError(endpoint_url="https://sqs.example")
NOBODY_THERE = EndpointConnectionError(endpoint_url="https://sqs.example")


class FakeSqs:
    """
    Stand in for boto3's client of SQS.

    Args:
        script: what becomes of the first requests: an error that is raised before anything arrives, or a function that
            answers.
        for_ever: whether the last of them counts for all requests that follow.
    """

    def __init__(self, *script: Exception | Answering, for_ever: bool = False) -> None:
        self._script = list(script)
        self._for_ever = for_ever
        self.requests: list[list[Fields]] = []
        self.arrived: list[str] = []

    def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[Fields]) -> Response:  # noqa: N803 - boto3's names
        """Take the entries, or do what the script says."""
        self.requests.append(list(Entries))
        if not self._script:
            return self.take(Entries)
        happening = self._script[0] if self._for_ever and len(self._script) == 1 else self._script.pop(0)
        if isinstance(happening, Exception):
            raise happening
        return happening(self, Entries)

    @property
    def asked(self) -> list[list[str]]:
        """Return the bodies of each request."""
        return [[entry["MessageBody"] for entry in request] for request in self.requests]

    def take(self, entries: Sequence[Fields]) -> Response:
        """Take all entries."""
        self.arrived += [entry["MessageBody"] for entry in entries]
        return {"Successful": [{"Id": entry["Id"], "MessageId": f"sqs-{entry['MessageBody']}"} for entry in entries]}


Answering = Callable[[FakeSqs, Sequence[Fields]], Response]


def refusing(*bodies: str, code: str = "InternalError", sender_fault: bool = False) -> Answering:
    """Take all but some bodies, and say so."""

    def answer(sqs: FakeSqs, entries: Sequence[Fields]) -> Response:
        failed = {"SenderFault": sender_fault, "Code": code, "Message": "no"}
        taken = sqs.take([entry for entry in entries if entry["MessageBody"] not in bodies])
        return taken | {"Failed": [{"Id": each["Id"], **failed} for each in entries if each["MessageBody"] in bodies]}

    return answer


def silent_about(*bodies: str) -> Answering:
    """Take all but some bodies, and say nothing of those."""
    return lambda sqs, entries: sqs.take([entry for entry in entries if entry["MessageBody"] not in bodies])


def losing_the_answer(sqs: FakeSqs, entries: Sequence[Fields]) -> Response:
    """Take all entries, and let the answer get lost."""
    sqs.take(entries)
    raise LOST


def failing_with(body: str, error: Exception) -> Answering:
    """Refuse every request as a whole that has one body in it."""

    def answer(sqs: FakeSqs, entries: Sequence[Fields]) -> Response:
        if body in [entry["MessageBody"] for entry in entries]:
            raise error
        return sqs.take(entries)

    return answer


def refusal(code: str, status: int = 400) -> ClientError:
    """Return the error in which a whole request is refused."""
    return ClientError(
        {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        "SendMessageBatch",
    )


def entry(body: str, group: str | None = None) -> Entry:
    """Return a message to be sent."""
    return Entry({"MessageBody": body}, group)


def send(sqs: Any, *entries: Entry | str, left_ms: int = 60_000) -> list[Taken | NotTaken]:
    """Send messages, some of them given by their body only, in an invocation that has some time left."""
    clock = FakeClock()
    deadline = Deadline(clock, FakeContext(left_ms, clock))
    made = [each if isinstance(each, Entry) else entry(each) for each in entries]
    return list(send_entries(QueueTarget(sqs, "queue"), made, deadline))


def taken(*bodies: str) -> list[Taken]:
    """Return the answers to messages that were taken."""
    return [Taken(f"sqs-{body}") for body in bodies]
