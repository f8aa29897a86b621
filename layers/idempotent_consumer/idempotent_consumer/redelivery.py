"""
When what comes back comes back: a wait for each delivery that is not acknowledged, told to SQS at the end.

Best effort: what SQS does not hear of, or refuses, comes back when the queue's own visibility timeout has passed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from idempotent_consumer.addresses import is_of_one_queue
from idempotent_consumer.backoff import OUTAGE_BACKOFF, Backoff
from idempotent_consumer.clock import Deadline
from idempotent_consumer.delivery import Delivery
from idempotent_consumer.metering import ask_sqs
from idempotent_consumer.outcome import Outcome, Settlement
from idempotent_consumer.requesting import REQUEST_ERRORS, Patience, may_pass
from idempotent_consumer.sending import SQSAccess, make_client
from idempotent_consumer.settings import (
    LONGEST_SHAPING_MS,
    LONGEST_WAIT,
    SHAPING_CONNECT_TIMEOUT_S,
    SHAPING_READ_TIMEOUT_S,
)
from idempotent_consumer.targets import MOST_ENTRIES, answer_in, answer_to

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient
    from mypy_boto3_sqs.type_defs import BatchResultErrorEntryTypeDef
    from mypy_boto3_sqs.type_defs import ChangeMessageVisibilityBatchRequestEntryTypeDef as Entry

_LONGEST_WAIT_S = LONGEST_WAIT // timedelta(seconds=1)
_NOTHING_TO_CHANGE = frozenset({"MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight"})
"""What SQS says of a delivery that can be received again already, because its visibility timeout has passed."""


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
        for url, entries in self._entries(deliveries).items():
            try:
                for at in range(0, len(entries), MOST_ENTRIES):
                    reasons += self._change(url, entries[at : at + MOST_ENTRIES])
            except _NotShaped as error:  # and the rest would not be, either
                reasons.append(str(error))
        return list(dict.fromkeys(reasons))

    def _entries(self, deliveries: Iterable[Delivery]) -> Mapping[str, Sequence[Entry]]:
        """Return what to ask of each queue, by its URL."""
        url_of = functools.cache(self._url_of)
        entries: dict[str, list[Entry]] = {}
        for delivery, wait_ms in waits_ms(deliveries, self._backoff, self._deadline.now_ms()).items():
            url = url_of(delivery.record.queue_arn)
            if url and delivery.record.receipt_handle:
                # Up: a redelivery in the last moment of a lease would still find it.
                seconds = min(-(-wait_ms // 1_000), _LONGEST_WAIT_S)
                handle = delivery.record.receipt_handle
                entry: Entry = {"Id": str(delivery.position), "ReceiptHandle": handle, "VisibilityTimeout": seconds}
                entries.setdefault(url, []).append(entry)
        return entries

    def _url_of(self, arn: str) -> str | None:
        return next((url for url in self._urls if is_of_one_queue(url, arn)), None)

    def _change(self, url: str, entries: Sequence[Entry]) -> list[str]:
        """Change the visibility of up to ten, and return why some could not be changed."""
        patience = Patience(self._deadline)
        refused: list[str] = []
        while entries:
            failed = self._failed(url, entries, patience)
            refused += [str(answer_in(each)) for each in failed if each["SenderFault"]]
            passing = {each["Id"]: each for each in failed if not each["SenderFault"]}
            if passing and not patience.lasts():
                return refused + [str(answer_in(each)) for each in passing.values()]
            entries = [entry for entry in entries if entry["Id"] in passing]
        return refused

    def _failed(self, url: str, entries: Sequence[Entry], patience: Patience) -> Sequence[BatchResultErrorEntryTypeDef]:
        while self._deadline.left_ms() > LONGEST_SHAPING_MS:
            try:
                change = self._sqs.client().change_message_visibility_batch
                answer = ask_sqs(change, QueueUrl=url, Entries=entries)
            except REQUEST_ERRORS as error:
                if not (may_pass(error) and patience.lasts()):
                    raise _NotShaped(str(answer_to(error))) from error
            else:
                return [each for each in answer.get("Failed", []) if each["Code"] not in _NOTHING_TO_CHANGE]
        raise _NotShaped("NoTime: the invocation ended first")


class _NotShaped(Exception):  # noqa: N818 - an end, not an error: nothing is lost by it
    """Say why SQS does not hear of a queue's deliveries any more."""


def make_hasty_client() -> SQSClient:
    """Make boto3's client of SQS with timeouts that fit into the time which is kept back for answering SQS."""
    return make_client(SHAPING_CONNECT_TIMEOUT_S, SHAPING_READ_TIMEOUT_S)


def waits_ms(deliveries: Iterable[Delivery], backoff: Backoff, now_ms: int) -> dict[Delivery, int]:
    """
    Return how long each delivery that comes back has to wait from now on, in milliseconds.

    A lane comes back together. While its first message is hidden SQS gives out no other of the group, and the other way
    round a follower that is hidden for longer would hold the first one up.
    """
    lanes: dict[object, list[Delivery]] = {}
    for delivery in deliveries:
        if not delivery.is_acknowledged:
            lanes.setdefault(delivery.lane, []).append(delivery)
    found: dict[Delivery, int] = {}
    for lane in lanes.values():
        found.update(dict.fromkeys(lane, max(_wait_ms(delivery, backoff, now_ms) for delivery in lane)))
    return found


def _wait_ms(delivery: Delivery, backoff: Backoff, now_ms: int) -> int:
    settlement = delivery.settlement or Settlement(Outcome.FAILED)
    if settlement.useful_from_ms is not None:
        return max(0, settlement.useful_from_ms - now_ms)
    if settlement.outcome is Outcome.DEFERRED:
        return 0
    wait_ms = backoff.wait_ms(delivery.record.receive_count)
    return max(wait_ms, OUTAGE_BACKOFF.wait_ms(delivery.record.receive_count)) if settlement.is_outage else wait_ms
