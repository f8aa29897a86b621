"""Queues in memory with what moto lacks: groups that wait for what is in flight, deduplication, faults on request."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from idempotent_consumer.record import DEAD_LETTER_ATTRIBUTE
from idempotent_consumer.testing import FakeClock

DEDUPLICATION_MS = 300_000

Fields = Mapping[str, Any]
Answer = dict[str, list[dict[str, Any]]]


class Killed(BaseException):
    """End the process in the middle of a request, or keep it from making another."""


@dataclass
class Held:
    """One message in a queue."""

    sqs_message_id: str
    body: str
    attributes: Mapping[str, Any]
    system: dict[str, str]
    visible_at_ms: int = 0
    receipt: str = ""
    receives: int = 0


@dataclass
class FakeQueues:
    """
    Stand in for boto3's client of SQS.

    Attributes:
        clock: the time.
        queues: the messages of each queue, in their order.
        requests: the names of the requests that were made, in order.
        before: called with the name of each request, before it is done.
        killing: before or after which request the process is killed: the moment, the request's name, and how many of
            that name it has made until then.
        lag: how many messages it still counts as waiting although they are gone.
        refused: for which bodies an entry of a request is refused, by the request's name.
    """

    clock: FakeClock
    queues: dict[str, list[Held]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    before: Callable[[str], None] = lambda name: None
    killing: tuple[str, str, int] | None = None
    lag: int = 0
    refused: dict[str, set[str]] = field(default_factory=dict)
    _number: int = 0
    _is_dead: bool = False
    _taken: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)

    def bodies(self, url: str) -> list[str]:
        """Return the bodies in a queue, in order."""
        return [held.body for held in self.queues.get(url, [])]

    def visible(self, url: str) -> list[str]:
        """Return the bodies that could be received now."""
        return [held.body for held in self.queues.get(url, []) if held.visible_at_ms <= self.clock.now_ms()]

    def put(
        self,
        url: str,
        body: str,
        *,
        attributes: Mapping[str, Any] | None = None,
        system: Mapping[str, str] | None = None,
    ) -> str:
        """Put a message into a queue, and return its id."""
        self._number += 1
        sqs_message_id = f"sqs-{self._number}"
        about = {"SentTimestamp": str(self.clock.now_ms()), **(system or {})}
        self.queues.setdefault(url, []).append(Held(sqs_message_id, body, attributes or {}, about))
        return sqs_message_id

    def revive(self) -> None:
        """Start a process anew."""
        self.killing, self._is_dead = None, False

    # -- what boto3 has ----------------------------------------------------------------------------

    def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[Fields]) -> Answer:  # noqa: N803 - boto3's names
        """Take messages."""
        return self._each(
            "send", Entries, lambda entry: entry["MessageBody"], lambda entry: self._send(QueueUrl, entry)
        )

    def receive_message(
        self,
        *,
        QueueUrl: str,  # noqa: N803
        MaxNumberOfMessages: int,  # noqa: N803
        VisibilityTimeout: int,  # noqa: N803
        **_others: Any,
    ) -> dict[str, Any]:
        """Give out what is visible; of a FIFO group nothing, while some of it is in flight."""
        self._begin("receive")
        now_ms = self.clock.now_ms()
        blocked = {
            held.system.get("MessageGroupId")
            for held in self.queues.get(QueueUrl, [])
            if QueueUrl.endswith(".fifo") and held.visible_at_ms > now_ms
        }
        free = [
            held
            for held in self.queues.get(QueueUrl, [])
            if held.visible_at_ms <= now_ms and (held.system.get("MessageGroupId") or "") not in blocked
        ][:MaxNumberOfMessages]
        for held in free:
            held.receives += 1
            held.receipt = f"{held.sqs_message_id}/{held.receives}"
            held.visible_at_ms = now_ms + 1_000 * VisibilityTimeout
        self._end("receive")
        return {
            "Messages": [
                {
                    "MessageId": held.sqs_message_id,
                    "ReceiptHandle": held.receipt,
                    "Body": held.body,
                    "MessageAttributes": held.attributes,
                    "Attributes": held.system,
                }
                for held in free
            ]
        }

    def delete_message_batch(self, *, QueueUrl: str, Entries: Sequence[Fields]) -> Answer:  # noqa: N803
        """Delete messages by their latest receipts."""
        return self._each(
            "delete",
            Entries,
            lambda entry: self._by_receipt(QueueUrl, entry).body,
            lambda entry: self._delete(QueueUrl, entry),
        )

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: Sequence[Fields]) -> Answer:  # noqa: N803
        """Hide messages for another time."""
        return self._each(
            "hide",
            Entries,
            lambda entry: self._by_receipt(QueueUrl, entry).body,
            lambda entry: self._hide(QueueUrl, entry),
        )

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: Sequence[str]) -> dict[str, dict[str, str]]:  # noqa: N803
        """Count messages."""
        visible, held = len(self.visible(QueueUrl)), len(self.bodies(QueueUrl))
        counts = {
            "ApproximateNumberOfMessages": visible + self.lag,
            "ApproximateNumberOfMessagesNotVisible": held - visible,
        }
        answers = {name: str(count) for name, count in counts.items()} | {"QueueArn": f"arn:aws:sqs:::{QueueUrl}"}
        return {"Attributes": {name: answers[name] for name in AttributeNames if name in answers}}

    # -- how it does it ----------------------------------------------------------------------------

    def _begin(self, name: str) -> None:
        self._die_if_it_is_time("before", name)
        self.before(name)
        self.requests.append(name)

    def _end(self, name: str) -> None:
        self._die_if_it_is_time("after", name)

    def _die_if_it_is_time(self, moment: str, name: str) -> None:
        self._is_dead = self._is_dead or (moment, name, self.requests.count(name)) == self.killing
        if self._is_dead:
            raise Killed

    def _each(
        self,
        name: str,
        entries: Sequence[Fields],
        body_of: Callable[[Fields], str],
        done: Callable[[Fields], dict[str, Any]],
    ) -> Answer:
        self._begin(name)
        refused = [entry for entry in entries if body_of(entry) in self.refused.get(name, set())]
        answer: Answer = {
            "Failed": [
                {"Id": entry["Id"], "Code": "Refused", "SenderFault": True, "Message": "no"} for entry in refused
            ],
            "Successful": [{"Id": entry["Id"], **done(entry)} for entry in entries if entry not in refused],
        }
        self._end(name)
        return answer

    def _send(self, url: str, entry: Fields) -> dict[str, Any]:
        now_ms = self.clock.now_ms()
        token = (url, entry.get("MessageDeduplicationId", ""))
        at_ms, sqs_message_id = self._taken.get(token, (0, ""))
        if not token[1] or at_ms + DEDUPLICATION_MS <= now_ms:
            names = ("MessageGroupId", "MessageDeduplicationId")
            system = {name: entry[name] for name in names if name in entry}
            for name, value in entry.get("MessageSystemAttributes", {}).items():
                system[name] = value["StringValue"]
            sqs_message_id = self.put(
                url, entry["MessageBody"], attributes=entry.get("MessageAttributes", {}), system=system
            )
            self._taken[token] = (now_ms, sqs_message_id)
        return {"MessageId": sqs_message_id}

    def _delete(self, url: str, entry: Fields) -> dict[str, Any]:
        self.queues[url].remove(self._by_receipt(url, entry))
        return {}

    def _hide(self, url: str, entry: Fields) -> dict[str, Any]:
        self._by_receipt(url, entry).visible_at_ms = self.clock.now_ms() + 1_000 * entry["VisibilityTimeout"]
        return {}

    def _by_receipt(self, url: str, entry: Fields) -> Held:
        return next(held for held in self.queues[url] if held.receipt == entry["ReceiptHandle"])


def explanation(**said: Any) -> dict[str, Any]:
    """Return the attributes of a letter that explains itself."""
    text = json.dumps({"reason": "InvalidOrder: no lines", "error": "InvalidOrder", "sqs_message_id": "first", **said})
    return {DEAD_LETTER_ATTRIBUTE: {"DataType": "String", "StringValue": text}}
