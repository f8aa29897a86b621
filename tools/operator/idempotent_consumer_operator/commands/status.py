"""`status`: what is stored of one message."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table as RichTable

from idempotent_consumer.clock import SystemClock
from idempotent_consumer.outcome import Outcome
from idempotent_consumer_operator.aws import Aws
from idempotent_consumer_operator.commands import options
from idempotent_consumer_operator.errors import NotFoundError
from idempotent_consumer_operator.names import Given, Names
from idempotent_consumer_operator.records import LEASE_ENDED, LEASE_ENDING, LEASE_LIVE, Record, key_from, read_record
from idempotent_consumer_operator.screen import Screen, ago, pairs

MessageId = Annotated[str | None, typer.Argument(metavar="[ID]", help="The message id.", show_default=False)]
Key = Annotated[str | None, typer.Option(help="The whole key instead of an id, such as that of a composite id.")]

_NEXT = {
    None: "handled like a new message",
    Outcome.DUPLICATE: "DUPLICATE, if its content is the same; REJECTED otherwise",
    Outcome.IN_FLIGHT: "IN_FLIGHT: it comes back after the lease",
}


def status(
    consumer: options.Consumer,
    message_id: MessageId = None,
    *,
    key: Key = None,
    stack: options.Stack = None,
    table: options.Table = None,
    region: options.Region = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Show what is stored of one message: its status, its holder, and what the next delivery will meet."""
    screen = Screen(as_json=json)
    wanted = key_from(consumer, message_id, key)
    aws = Aws(region, profile)
    table_name = Names(aws, Given(stack=stack, table=table)).table()
    try:
        record = read_record(aws.dynamodb, table_name, wanted, SystemClock().now_ms())
    except NotFoundError:
        screen.answer({"key": wanted, "found": False})
        raise
    screen.answer({"found": True, **record.as_json()}, shown(record))


def shown(record: Record) -> RichTable:
    """Return the table in which a person sees a processed message."""
    message, now_ms = record.message, record.now_ms
    return pairs(
        [
            ("key", message.key),
            ("status", record.status),
            ("lease", _lease(record)),
            ("owner", message.owner),
            ("written", ago(message.updated_at_ms, now_ms)),
            ("expires", ago(message.expires_at_s * 1000, now_ms)),
            ("queue", record.queue_arn),
            ("SQS message id", record.sqs_message_id),
            ("fingerprint", message.fingerprint),
            ("outbox", f"{record.outbox_bytes:,} bytes" if record.outbox_bytes else None),
            ("next delivery", _NEXT[record.next_outcome]),
        ]
    )


def _lease(record: Record) -> str | None:
    until = ago(record.message.lease_until_ms, record.now_ms)
    words = {
        LEASE_LIVE: f"live, ends {until}",
        LEASE_ENDING: f"ended {until}, within the margin of clocks",
        LEASE_ENDED: f"ended {until}: nobody holds it",
    }
    return words[record.lease] if record.lease else None
