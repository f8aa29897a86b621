"""
Write the sample events: what Lambda hands to a function for each queue and situation, from one source.

The samples are whole: checksums, ids, instants and sequence numbers agree as they do in SQS's own events, and
every run writes the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from tools.odd_events import odd_events

app = typer.Typer()
EVENTS = Path(__file__).resolve().parent.parent / "events"

_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_NAMESPACE = uuid.UUID("6e9b2c1e-3f57-4a0b-9d52-5a4f0f6c7d10")
_FIRST_SEQUENCE_NUMBER = 18_849_496_460_467_696_128
_AFTER_DEDUPLICATION = 360
"""Seconds after which a FIFO queue, which deduplicates for five minutes, lets a message in again."""


@dataclass(frozen=True, slots=True)
class Sample:
    """
    Hold one message as a producer sends it.

    Attributes:
        queue: name of the queue, as in the events' file names.
        body: what the body holds as JSON.
        message_id: the producer's id in the `message-id` attribute; None where the id is in the body.
        group: message group on a FIFO queue.
        second: when it is sent, in seconds from the start of the samples.
        receives: times that it has been delivered, the delivery of the event included.
    """

    queue: str
    body: Mapping[str, Any]
    message_id: str | None = None
    group: str | None = None
    second: int = 0
    receives: int = 1

    def sent_again(self) -> Sample:
        """Return the same business message sent a second time: SQS sees another message."""
        return replace(self, second=self.second + _AFTER_DEDUPLICATION)

    def received(self, times: int) -> Sample:
        """Return the very same message at a later delivery."""
        return replace(self, receives=times)

    def record(self) -> dict[str, Any]:
        """Return the record in which Lambda delivers it."""
        text = json.dumps(self.body)
        name = f"{self.queue}/{self.second}/{text}"
        sent = _START + timedelta(seconds=self.second)
        suffix = "" if self.group is None else ".fifo"
        attributes = {
            "ApproximateReceiveCount": str(self.receives),
            "SentTimestamp": _milliseconds(sent),
            "SenderId": "AIDAIENQZJOLO23YVJ4VO",
            "ApproximateFirstReceiveTimestamp": _milliseconds(sent + timedelta(milliseconds=12)),
        }
        if self.group is not None:
            attributes |= {
                "SequenceNumber": str(_FIRST_SEQUENCE_NUMBER + 256 * self.second),
                "MessageGroupId": self.group,
                "MessageDeduplicationId": hashlib.sha256(text.encode()).hexdigest(),
            }
        record: dict[str, Any] = {
            "messageId": str(uuid.uuid5(_NAMESPACE, name)),
            "receiptHandle": _receipt_handle(f"{name}/{self.receives}"),
            "body": text,
            "attributes": attributes,
            "messageAttributes": {},
            "md5OfBody": _md5(text.encode()),
            "eventSource": "aws:sqs",
            "eventSourceARN": f"arn:aws:sqs:us-east-1:123456789012:{self.queue}{suffix}",
            "awsRegion": "us-east-1",
        }
        if self.message_id is not None:
            record["messageAttributes"] = {
                "message-id": {
                    "stringValue": self.message_id,
                    "stringListValues": [],
                    "binaryListValues": [],
                    "dataType": "String",
                }
            }
            record["md5OfMessageAttributes"] = _md5_of_attribute("message-id", self.message_id)
        return record


@dataclass(frozen=True, slots=True)
class Samples:
    """
    Hold the messages of one queue that its events are made of.

    Attributes:
        first: a good message.
        second: another good one.
        poison: one that can never be handled.
        more: what only this queue has, by situation.
    """

    first: Sample
    second: Sample
    poison: Sample
    more: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)

    def situations(self) -> Iterator[tuple[str, tuple[Sample, ...]]]:
        """Yield each situation's name and what one batch then holds."""
        yield "single", (self.first,)
        yield "redelivered", (self.first.received(times=3),)
        yield "duplicates-in-batch", (self.first, self.second, self.first.sent_again())
        yield "poison-in-batch", (self.first, self.poison, self.second)
        yield from self.more.items()


def sample_events() -> dict[str, dict[str, Any]]:
    """Return each sample event by the name of its file."""
    return {
        f"{samples.first.queue}-{situation}.json": {"Records": [sample.record() for sample in batch]}
        for samples in (_orders(), _payments(), _receipts(), _shipments())
        for situation, batch in samples.situations()
    }


def text_of(event: Mapping[str, Any]) -> str:
    """Return an event as its file holds it."""
    return json.dumps(event, indent=2, ensure_ascii=False) + "\n"


@app.command()
def main(directory: Annotated[Path, typer.Option(help="Where the events go.")] = EVENTS) -> None:
    """Write every sample event anew."""
    directory.mkdir(parents=True, exist_ok=True)
    events = sample_events() | odd_events()
    for name, event in events.items():
        (directory / name).write_text(text_of(event), encoding="utf-8")
    typer.echo(f"{len(events)} events in {directory}")


# -- The messages --------------------------------------------------------------------------------------------


def _orders() -> Samples:
    def order(number: int, second: int, *lines: tuple[str, int]) -> Sample:
        body = {
            "order_id": f"o-{number}",
            "customer_id": "c-17",
            "lines": [{"sku": sku, "quantity": quantity} for sku, quantity in lines],
        }
        return Sample("orders", body, second=second)

    return Samples(
        first=order(1001, 0, ("sku-1", 2), ("sku-2", 1)),
        second=order(1002, 1, ("sku-1", 1)),
        poison=order(1666, 2),  # an order without lines
    )


def _payments() -> Samples:
    def payment(number: int, second: int, amount_cents: int, **more: str) -> Sample:
        body = {
            "payment_id": f"p-{number}",
            "order_id": f"o-{number}",
            "amount_cents": amount_cents,
            "currency": "EUR",
            **more,
        }
        return Sample("payments", body, message_id=f"o-{number}/payment", second=second)

    return Samples(
        first=payment(1001, 0, 1999),
        second=payment(1002, 1, 500),
        poison=payment(1666, 2, -1),
        more={"with-receipt": (payment(1003, 3, 1999, email="ada@example.com"),)},
    )


def _receipts() -> Samples:
    def receipt(number: int, second: int, email: str) -> Sample:
        body = {"order_id": f"o-{number}", "email": email, "amount_cents": 1999, "currency": "EUR"}
        return Sample("receipts", body, message_id=f"o-{number}/receipt", second=second)

    return Samples(
        first=receipt(1001, 0, "ada@example.com"),
        second=receipt(1002, 1, "grace@example.com"),
        poison=receipt(1666, 2, "nobody"),
    )


def _shipments() -> Samples:
    def step(shipment: str, second: int, name: str) -> Sample:
        at = (_START + timedelta(seconds=second)).isoformat()
        return Sample("shipments", {"shipment_id": shipment, "step": name, "at": at}, group=shipment, second=second)

    return Samples(
        first=step("s-1001", 0, "packed"),
        second=step("s-1002", 1, "packed"),
        poison=step("s-1666", 2, "teleported"),
        more={
            "fifo-groups": (
                step("s-1001", 10, "packed"),
                step("s-1002", 11, "packed"),
                step("s-1001", 12, "shipped"),
                step("s-1002", 13, "shipped"),
                step("s-1001", 14, "delivered"),
            ),
            "fifo-poison-group": (
                step("s-1001", 10, "packed"),
                step("s-1002", 11, "packed"),
                step("s-1001", 12, "teleported"),
                step("s-1002", 13, "shipped"),
                step("s-1001", 14, "delivered"),
            ),
        },
    )


# -- What SQS adds -------------------------------------------------------------------------------------------


def _milliseconds(instant: datetime) -> str:
    return str(int(instant.timestamp() * 1000))


def _receipt_handle(name: str) -> str:
    digests = (hashlib.sha512(f"{name}/{part}".encode()).digest() for part in range(2))
    return "AQEB" + base64.b64encode(b"".join(digests)).decode()


def _md5_of_attribute(name: str, value: str) -> str:
    """Return SQS's checksum of one text attribute: each part behind its length, the value also a mark."""
    parts = [name.encode(), b"String", value.encode()]
    sized = [len(part).to_bytes(4, "big") + part for part in parts]
    return _md5(b"".join([*sized[:2], b"\x01", sized[2]]))


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


if __name__ == "__main__":
    app()
