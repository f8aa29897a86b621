"""One queue of SQS: receive from it, delete, hide, and ask about it; each entry of a batch has its own answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from idempotent_consumer.sending import keeps_order
from idempotent_consumer.targets import MOST_ENTRIES
from idempotent_consumer_operator.errors import translated
from idempotent_consumer_operator.letters import DeadLetter

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

_TRIES = 3
POLL_S = 1
"""Seconds that a receive waits: above 0, SQS asks all of its servers, so that nothing received means nothing there."""


@dataclass(frozen=True, slots=True)
class Depth:
    """
    Say how many messages a queue holds, as SQS estimates it.

    Attributes:
        waiting: could be received.
        held: were received by somebody, and are hidden.
        delayed: were sent with a delay.
    """

    waiting: int
    held: int
    delayed: int


class Queue:
    """
    Talk to one queue.

    Args:
        sqs: boto3's client of SQS.
        url: the queue's.
    """

    def __init__(self, sqs: SQSClient, url: str) -> None:
        self._sqs = sqs
        self.url = url
        self.is_fifo = keeps_order(url)

    def receive(self, most: int, hold_s: int) -> list[DeadLetter]:
        """Receive some letters with all that they have, and hide them for so many seconds."""
        with translated():
            answer = self._sqs.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=min(most, MOST_ENTRIES),
                VisibilityTimeout=hold_s,
                WaitTimeSeconds=POLL_S,
                MessageAttributeNames=["All"],
                MessageSystemAttributeNames=["All"],
            )
        return [DeadLetter.of(message) for message in answer.get("Messages", [])]

    def delete(self, letters: Sequence[DeadLetter]) -> list[DeadLetter]:
        """Delete letters that were received, and return those that could not be."""
        return self._each(self._sqs.delete_message_batch, letters, {})

    def hide(self, letters: Sequence[DeadLetter], hold_s: int) -> list[DeadLetter]:
        """Let letters stay hidden for so many seconds from now, 0 for none, and return those for which that failed."""
        return self._each(self._sqs.change_message_visibility_batch, letters, {"VisibilityTimeout": hold_s})

    def depth(self) -> Depth:
        """Ask how many messages there are."""
        waiting, held, delayed = ("", "NotVisible", "Delayed")
        attributes = self._attributes(*(f"ApproximateNumberOfMessages{kind}" for kind in (waiting, held, delayed)))
        numbers = [int(attributes.get(f"ApproximateNumberOfMessages{kind}", 0)) for kind in (waiting, held, delayed)]
        return Depth(*numbers)

    def arn(self) -> str:
        """Ask for the queue's ARN."""
        return self._attributes("QueueArn")["QueueArn"]

    def _attributes(self, *names: str) -> Mapping[str, str]:
        with translated():
            answer = self._sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=list(names))  # type: ignore[arg-type]
        return answer.get("Attributes", {})  # type: ignore[return-value]

    def _each(
        self, request: Callable[..., Any], letters: Sequence[DeadLetter], fields: Mapping[str, Any]
    ) -> list[DeadLetter]:
        """Make a request for letters, in tens, and return those for which it failed."""
        left: list[DeadLetter] = []
        for at in range(0, len(letters), MOST_ENTRIES):
            waiting = list(letters[at : at + MOST_ENTRIES])
            for _ in range(_TRIES):
                waiting, refused = self._ask(request, waiting, fields)
                left += refused
                if not waiting:
                    break
            left += waiting
        return left

    def _ask(
        self, request: Callable[..., Any], letters: Sequence[DeadLetter], fields: Mapping[str, Any]
    ) -> tuple[list[DeadLetter], list[DeadLetter]]:
        """Make one request, and return the letters of which another may say more, and those that SQS has refused."""
        entries = [
            {"Id": str(at), "ReceiptHandle": letter.receipt_handle, **fields} for at, letter in enumerate(letters)
        ]
        with translated():
            answer = request(QueueUrl=self.url, Entries=entries)
        done = {entry["Id"] for entry in answer.get("Successful", [])}
        refused = {entry["Id"] for entry in answer.get("Failed", []) if entry.get("SenderFault")}
        numbered = [(str(at), letter) for at, letter in enumerate(letters)]
        return (
            [letter for at, letter in numbered if at not in done | refused],
            [letter for at, letter in numbered if at in refused],
        )
