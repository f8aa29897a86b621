"""
Send messages under ids of their own, so that each may be sent again.

::

    producer = Producer(os.environ["ORDERS_QUEUE_URL"])
    producer.send(OutgoingMessage(message_id=order.order_id, body={"order_id": order.order_id, "lines": order.lines}))
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from idempotent_consumer.clock import Clock, Deadline, SystemClock
from idempotent_consumer.errors import NotSentError, UnsendableMessageError
from idempotent_consumer.outgoing import OutgoingMessage, entry_of
from idempotent_consumer.sending import UNSENDABLE, Entry, keeps_order, make_client, send_entries
from idempotent_consumer.settings import DEFAULT_TIME_LEFT_MS
from idempotent_consumer.targets import NotTaken, QueueTarget, Taken

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

__all__ = ["OutgoingMessage", "Producer", "SendingReport", "Sent", "Unsent"]


@dataclass(frozen=True, slots=True)
class Sent:
    """
    Hold a message that SQS has taken.

    Attributes:
        message: the message.
        sqs_message_id: SQS's own id of it, which is another when it is sent again.
    """

    message: OutgoingMessage
    sqs_message_id: str

    @property
    def message_id(self) -> str:
        """Return the message's id."""
        return self.message.message_id


@dataclass(frozen=True, slots=True)
class Unsent:
    """
    Hold a message that SQS has not taken, or is not known to have.

    Attributes:
        message: the message.
        code: SQS's error code; `Unsendable` for a message that SQS would refuse, `EarlierMessageNotSent` for one whose
            FIFO group ended before it, `NoAnswer` or the name of an error where SQS did not answer.
        reason: the same for a person.
        may_have_arrived: whether SQS may have taken it nevertheless, because an answer was lost.
    """

    message: OutgoingMessage
    code: str
    reason: str
    may_have_arrived: bool = False

    def __str__(self) -> str:
        return f"{self.code}: {self.reason}"

    @property
    def message_id(self) -> str:
        """Return the message's id."""
        return self.message.message_id


@dataclass(frozen=True, slots=True)
class SendingReport:
    """
    Say what became of each message.

    Attributes:
        results: one for each message, in their order.
    """

    results: Sequence[Sent | Unsent]

    @property
    def sent(self) -> Sequence[Sent]:
        """Return what SQS has taken."""
        return [each for each in self.results if isinstance(each, Sent)]

    @property
    def unsent(self) -> Sequence[Unsent]:
        """Return what it has not; the messages in here may be sent again as they are."""
        return [each for each in self.results if isinstance(each, Unsent)]

    def of(self, message_id: str) -> Sequence[Sent | Unsent]:
        """Return what became of the messages with an id: one result for each time that it was given."""
        return [each for each in self.results if each.message_id == message_id]

    def raise_for_unsent(self) -> None:
        """
        Raise if some message was not sent.

        Raises:
            NotSentError: naming those messages.
        """
        if unsent := self.unsent:
            raise NotSentError(unsent)


class Producer:
    """
    Send messages to one queue. Keep it for as long as the process lives: its client keeps its connections.

    Sending is tried again while SQS may still take the message, and always under the same ids. Where the answer stays
    unknown, the message may have arrived, and sending it once more is safe: the consumer knows it by its id, does its
    work once and acknowledges the rest as DUPLICATE.

    Args:
        queue_url: URL of the queue; only one that ends in `.fifo` keeps order.
        client: boto3's client of SQS, instead of one with timeouts of seconds and without retries of its own.
        clock: tells the time and lets it pass.

    Raises:
        ConfigurationError: there is no AWS region.
    """

    def __init__(self, queue_url: str, *, client: SQSClient | None = None, clock: Clock | None = None) -> None:
        self._is_fifo = keeps_order(queue_url)
        self._target = QueueTarget(client or make_client(), queue_url)
        self._deadline = Deadline(clock or SystemClock(), _Unhurried())

    def send(self, message: OutgoingMessage) -> Sent:
        """
        Send one message; it takes ten seconds or so at most.

        Raises:
            UnsendableMessageError: SQS would refuse it as it is; the error says what to change.
            NotSentError: SQS refused it, or gave no answer; its `unsent` says whether it may have arrived.
        """
        (result,) = self.send_all([message]).results
        if isinstance(result, Sent):
            return result
        if result.code == UNSENDABLE:
            raise UnsendableMessageError(result.reason)
        raise NotSentError([result])

    def send_all(self, messages: Iterable[OutgoingMessage]) -> SendingReport:
        """
        Send messages in batches of ten; what keeps one of them from being sent is no matter to the others.

        Only in a FIFO group it is: the messages after one that was not sent are not sent, so that the group can be sent
        again from there, in its order: `producer.send_all(each.message for each in report.unsent)`.

        Args:
            messages: the messages; they are asked for as they are needed, and what that raises comes out as it is. Some
                may have been sent by then, and may be sent again.

        Returns:
            What became of each. Nothing is raised for those that were not sent; `raise_for_unsent()` does.
        """
        waiting: deque[OutgoingMessage] = deque()

        def entries() -> Iterator[Entry]:
            for message in messages:
                waiting.append(message)
                yield self._entry(message)

        answers = send_entries(self._target, entries(), self._deadline)
        return SendingReport([_result(waiting.popleft(), answer) for answer in answers])

    def _entry(self, message: OutgoingMessage) -> Entry:
        group = message.group_id if self._is_fifo and isinstance(message.group_id, str) else None
        try:
            return Entry(entry_of(message, is_fifo=self._is_fifo), group)
        except UnsendableMessageError as error:
            return Entry({}, group, refusal=str(error))


class _Unhurried:
    """Stand in for Lambda's context: no invocation ends here, so each request has all the time that one may have."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the same time, always."""
        return DEFAULT_TIME_LEFT_MS


def _result(message: OutgoingMessage, answer: Taken | NotTaken) -> Sent | Unsent:
    if isinstance(answer, Taken):
        return Sent(message, answer.sqs_message_id)
    return Unsent(message, answer.code, answer.reason, answer.may_have_arrived)
