"""
Dead letters that explain themselves: what can never succeed, or has failed too often, leaves the queue with its reason.

The copy is made first and the delivery acknowledged after, so that a crash in between leaves two letters, and never
none. Both keep SQS's first ids, by which a redriven message is known again.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from idempotent_consumer.clock import Deadline
from idempotent_consumer.delivery import Delivery
from idempotent_consumer.errors import UnsendableMessageError
from idempotent_consumer.outcome import Outcome, Settlement, describe
from idempotent_consumer.outgoing import LARGEST_MESSAGE_BYTES, MOST_ATTRIBUTES, size_of, trace_fields
from idempotent_consumer.record import DEAD_LETTER_ATTRIBUTE
from idempotent_consumer.sending import Entry, SQSAccess, keeps_order, requests_of, send_entries
from idempotent_consumer.settings import LONGEST_TRY_MS
from idempotent_consumer.targets import NotTaken, QueueTarget, Taken


class DeadLetterQueue:
    """
    Take copies of deliveries that are given up.

    Args:
        url: the queue's.
        sqs: access to SQS.
    """

    def __init__(self, url: str, sqs: SQSAccess) -> None:
        self._url = url
        self._sqs = sqs
        self.is_fifo = keeps_order(url)

    def send(self, entries: Sequence[Entry], deadline: Deadline) -> list[Taken | NotTaken]:
        """Send copies, and return the answer to each."""
        return list(send_entries(QueueTarget(self._sqs.client(), self._url), entries, deadline))


class DeadLetters:
    """
    Give deliveries up, for one invocation.

    Args:
        consumer: name of the consumer.
        queue: the dead-letter queue; None if it is not known, and nothing is given up.
        most_receives: receives at which a delivery whose handler raises is given up.
        deadline: end of the invocation.
    """

    def __init__(self, consumer: str, queue: DeadLetterQueue | None, most_receives: int, deadline: Deadline) -> None:
        self._consumer = consumer
        self._queue = queue
        self._most_receives = most_receives
        self._deadline = deadline
        self._thinned: set[object] = set()  # lanes that one was given up of
        self._is_out_of_reach = False

    def gives_up(self, delivery: Delivery) -> bool:
        """
        Tell whether a delivery, as it is settled, is to become a dead letter.

        The followers in a lane were received whenever their predecessor was, mostly untried. So none of them is given
        up for its receives in the invocation in which its predecessor was: each has tries of its own.
        """
        settlement = delivery.settlement
        if self._queue is None or settlement is None:
            return False
        if settlement.outcome is Outcome.REJECTED:
            return True
        return (
            settlement.outcome is Outcome.FAILED
            and settlement.is_handlers
            and delivery.record.receive_count >= self._most_receives
            and delivery.lane not in self._thinned
        )

    def copy(self, deliveries: Sequence[Delivery]) -> Iterator[tuple[Delivery, str]]:
        """
        Copy deliveries to the dead-letter queue, and mark those as dead-lettered that SQS has taken.

        Yields:
            The others, each with the reason why it is reported as failed instead.
        """
        if self._queue is None:
            return
        entries = [self._entry(delivery, self._queue) for delivery in deliveries]
        at = 0
        for request in requests_of(
            entries, QueueTarget
        ):  # large letters need one each, and there has to be time for each
            yield from self._copy(deliveries[at : at + len(request)], request, self._queue)
            at += len(request)

    def _copy(
        self, deliveries: Sequence[Delivery], request: Sequence[Entry], queue: DeadLetterQueue
    ) -> Iterator[tuple[Delivery, str]]:
        began_ms = self._deadline.now_ms()
        if self._is_out_of_reach or self._deadline.spare_ms() <= LONGEST_TRY_MS:
            reason = "the queue was out of reach" if self._is_out_of_reach else "too little time left"
            yield from ((delivery, reason) for delivery in deliveries)
            return
        try:
            answers = queue.send(request, self._deadline)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - as for any other reason why there is no copy
            yield from ((delivery, describe(error)) for delivery in deliveries)
            return
        for delivery, answer in zip(deliveries, answers, strict=True):
            if isinstance(answer, NotTaken):
                yield delivery, str(answer)
            else:
                delivery.is_dead_lettered = True
                self._thinned.add(delivery.lane)
        # The messages that wait behind the letters have more to gain from the time than the next letters.
        has_lasted = self._deadline.now_ms() - began_ms >= LONGEST_TRY_MS
        self._is_out_of_reach = has_lasted and not any(isinstance(answer, Taken) for answer in answers)

    def _entry(self, delivery: Delivery, queue: DeadLetterQueue) -> Entry:
        try:
            return Entry(self._fields(delivery, queue))
        except UnsendableMessageError as error:
            return Entry({}, refusal=str(error))
        except Exception as error:  # noqa: BLE001 - whatever an odd record holds, its neighbours have letters
            return Entry({}, refusal=describe(error))

    def _fields(self, delivery: Delivery, queue: DeadLetterQueue) -> dict[str, Any]:
        original = delivery.original if isinstance(delivery.original, Mapping) else {}
        body = original.get("body")
        if not isinstance(body, str) or not body:
            raise UnsendableMessageError("the record has no body that could be copied")
        attributes = _attributes(original)
        attributes[DEAD_LETTER_ATTRIBUTE] = {"DataType": "String", "StringValue": self._explanation(delivery)}
        fields: dict[str, Any] = {"MessageBody": body, "MessageAttributes": attributes}
        # Without the letter's own attribute SQS's first ids would be lost, and a redrive would be a new message.
        if len(attributes) > MOST_ATTRIBUTES:
            raise UnsendableMessageError(f"the message has {MOST_ATTRIBUTES} attributes already, and SQS takes no more")
        if size_of(fields) > LARGEST_MESSAGE_BYTES:
            raise UnsendableMessageError("the message has no room left for the reason")
        if delivery.record.group_id:
            fields["MessageGroupId"] = delivery.record.group_id
        if queue.is_fifo:
            # Not a business id: SQS would swallow a second letter that came within five minutes.
            fields["MessageDeduplicationId"] = delivery.record.sqs_message_id
        if delivery.record.trace_header:
            fields |= trace_fields(delivery.record.trace_header)
        return fields

    def _explanation(self, delivery: Delivery) -> str:
        record = delivery.record
        settlement = delivery.settlement or Settlement(Outcome.FAILED)
        return json.dumps(  # ASCII, so that whatever the reason holds SQS takes it
            {
                "reason": settlement.reason,
                "error": type(settlement.error).__name__ if settlement.error else None,
                "outcome": settlement.outcome,
                "consumer": self._consumer,
                "key": delivery.key,
                "receive_count": record.receive_count,
                "queue_arn": record.queue_arn,
                "at": datetime.fromtimestamp(self._deadline.now_ms() / 1000, tz=UTC).isoformat(timespec="seconds"),
                "sqs_message_id": record.original_sqs_message_id or record.sqs_message_id,
                "deduplication_id": record.original_deduplication_id or record.deduplication_id,
            }
        )


def _attributes(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the message attributes as they are sent; a letter that loses one would be another message."""
    found = record.get("messageAttributes")
    return {
        name: _attribute(name, attribute)
        for name, attribute in (found.items() if isinstance(found, Mapping) else ())
        if isinstance(attribute, Mapping) and name != DEAD_LETTER_ATTRIBUTE
    }


def _attribute(name: str, attribute: Mapping[str, Any]) -> dict[str, Any]:
    text, binary = attribute.get("stringValue"), attribute.get("binaryValue")
    data_type = attribute.get("dataType")
    if isinstance(text, str):
        return {"DataType": data_type if isinstance(data_type, str) else "String", "StringValue": text}
    try:
        decoded = base64.b64decode(binary if isinstance(binary, str) else "", validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if not decoded:
        raise UnsendableMessageError(f"the attribute {name} has no value that could be copied")
    return {"DataType": data_type if isinstance(data_type, str) else "Binary", "BinaryValue": decoded}
