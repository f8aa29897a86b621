"""
When what comes back comes back: a wait for each delivery that is not acknowledged, told to SQS at the end.

Best effort: what SQS does not hear of, or refuses, comes back when the queue's own visibility timeout has passed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from idempotent_consumer.addresses import is_of_one_queue
from idempotent_consumer.backoff import OUTAGE_BACKOFF, Backoff
from idempotent_consumer.clock import Deadline
from idempotent_consumer.delivery import Delivery
from idempotent_consumer.metering import ask_sqs
from idempotent_consumer.outcome import Outcome, Settlement, describe
from idempotent_consumer.requesting import REQUEST_ERRORS, Patience, may_pass
from idempotent_consumer.sending import SQSAccess, make_client
from idempotent_consumer.settings import (
    LONGEST_SHAPING_MS,
    LONGEST_WAIT,
    SHAPING_CONNECT_TIMEOUT_S,
    SHAPING_READ_TIMEOUT_S,
)
from idempotent_consumer.targets import MOST_ENTRIES, NO_ANSWER, answer_to

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient
    from mypy_boto3_sqs.type_defs import BatchResultErrorEntryTypeDef
    from mypy_boto3_sqs.type_defs import ChangeMessageVisibilityBatchRequestEntryTypeDef as Entry

_LONGEST_WAIT_S = LONGEST_WAIT // timedelta(seconds=1)
_NOTHING_TO_CHANGE = frozenset({"MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight"})
"""What SQS says of a delivery that can be received again already, because its visibility timeout has passed."""


@dataclass(frozen=True, slots=True)
class _Return:
    """
    Hold when one delivery is to come back: an instant, since it may be long until SQS can be told.

    Attributes:
        entry_id: what it is called in the request.
        receipt_handle: what SQS knows it by.
        due_ms: when it is to come back, in milliseconds since 1970.
    """

    entry_id: str
    receipt_handle: str
    due_ms: int

    def entry(self, now_ms: int) -> Entry:
        """Return what to ask of SQS in a request that is made now."""
        # Up: a redelivery in the last moment of a lease would still find it.
        seconds = min(-(-max(0, self.due_ms - now_ms) // 1_000), _LONGEST_WAIT_S)
        return {"Id": self.entry_id, "ReceiptHandle": self.receipt_handle, "VisibilityTimeout": seconds}


class Redelivery:
    """
    Shape the redelivery of what an invocation does not acknowledge.

    Args:
        backoff: for messages whose handler raised.
        queue_urls: of the queues whose visibility may be changed; deliveries of others are left alone.
        sqs: access to SQS.
        deadline: end of the invocation.
    """

    def __init__(self, backoff: Backoff, queue_urls: Iterable[str], sqs: SQSAccess, deadline: Deadline) -> None:
        self._backoff = backoff
        self._urls = tuple(queue_urls)
        self._sqs = sqs
        self._deadline = deadline

    def shape(self, deliveries: Iterable[Delivery]) -> list[str]:
        """
        Tell SQS when to deliver again what is not acknowledged.

        Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibilityBatch.html

        Args:
            deliveries: all of the batch, settled.

        Returns:
            Why some could not be shaped, each reason once; empty if all went well.
        """
        reasons: list[str] = []
        for url, returns in self._returns(deliveries).items():
            try:
                for at in range(0, len(returns), MOST_ENTRIES):
                    reasons += self._change(url, returns[at : at + MOST_ENTRIES])
            except KeyboardInterrupt:
                raise
            except _NotShaped as error:  # and the rest would not be, either
                reasons.append(str(error))
            except BaseException as error:  # noqa: BLE001 - a client of the user's: the other queues are still asked
                reasons.append(describe(error))
        return list(dict.fromkeys(reasons))

    def _returns(self, deliveries: Iterable[Delivery]) -> Mapping[str, Sequence[_Return]]:
        """Return what is to come back to each queue, by its URL."""
        url_of = functools.cache(self._url_of)
        returns: dict[str, list[_Return]] = {}
        for delivery, due_ms in dues_ms(deliveries, self._backoff, self._deadline.now_ms()).items():
            url, handle = url_of(delivery.record.queue_arn), delivery.record.receipt_handle
            if url and handle:
                returns.setdefault(url, []).append(_Return(str(delivery.position), handle, due_ms))
        return returns

    def _url_of(self, arn: str) -> str | None:
        return next((url for url in self._urls if is_of_one_queue(url, arn)), None)

    def _change(self, url: str, returns: Sequence[_Return]) -> list[str]:
        """Change the visibility of up to ten, and return why some could not be changed."""
        patience = Patience(self._deadline)
        refused: list[str] = []
        while returns:
            failed = self._failed(url, returns, patience)
            refused += [_said(each) for each in failed if each.get("SenderFault")]
            passing = {each["Id"]: each for each in failed if not each.get("SenderFault")}
            if passing and not patience.lasts():
                return refused + [_said(each) for each in passing.values()]
            returns = [each for each in returns if each.entry_id in passing]
        return refused

    def _failed(
        self, url: str, returns: Sequence[_Return], patience: Patience
    ) -> Sequence[BatchResultErrorEntryTypeDef]:
        while self._deadline.left_ms() > LONGEST_SHAPING_MS:
            try:
                now_ms = self._deadline.now_ms()
                answer = ask_sqs(
                    self._sqs.client().change_message_visibility_batch,
                    QueueUrl=url,
                    Entries=[each.entry(now_ms) for each in returns],
                )
            except REQUEST_ERRORS as error:
                if not (may_pass(error) and patience.lasts()):
                    raise _NotShaped(str(answer_to(error))) from error
            else:
                return [each for each in answer.get("Failed", []) if each.get("Code") not in _NOTHING_TO_CHANGE]
        raise _NotShaped("NoTime: the invocation ended first")


def _said(failed: BatchResultErrorEntryTypeDef) -> str:
    return f"{failed.get('Code', NO_ANSWER)}: {failed.get('Message', '')}"


class _NotShaped(Exception):  # noqa: N818 - an end, not an error: nothing is lost by it
    """Say why SQS does not hear of a queue's deliveries any more."""


def make_hasty_client() -> SQSClient:
    """Make boto3's client of SQS with timeouts that fit into the time which is kept back for answering SQS."""
    return make_client(SHAPING_CONNECT_TIMEOUT_S, SHAPING_READ_TIMEOUT_S)


def dues_ms(deliveries: Iterable[Delivery], backoff: Backoff, now_ms: int) -> dict[Delivery, int]:
    """
    Return when each delivery that comes back is to do so, in milliseconds since 1970.

    A lane comes back together. While its first message is hidden SQS gives out no other of the group, and the other way
    round a follower that is hidden for longer would hold the first one up.
    """
    lanes: dict[object, list[Delivery]] = {}
    for delivery in deliveries:
        if not delivery.is_acknowledged:
            lanes.setdefault(delivery.lane, []).append(delivery)
    found: dict[Delivery, int] = {}
    for lane in lanes.values():
        found.update(dict.fromkeys(lane, max(_due_ms(delivery, backoff, now_ms) for delivery in lane)))
    return found


def _due_ms(delivery: Delivery, backoff: Backoff, now_ms: int) -> int:
    return max(_useful_from_ms(delivery, backoff, now_ms), delivery.claim_ends_ms or 0)


def _useful_from_ms(delivery: Delivery, backoff: Backoff, now_ms: int) -> int:
    settlement = delivery.settlement or Settlement(Outcome.FAILED)
    if settlement.useful_from_ms is not None:
        return settlement.useful_from_ms
    if settlement.outcome is Outcome.DEFERRED:
        return now_ms
    wait_ms = backoff.wait_ms(delivery.record.receive_count)
    if settlement.is_outage:
        wait_ms = max(wait_ms, OUTAGE_BACKOFF.wait_ms(delivery.record.receive_count))
    return now_ms + wait_ms
