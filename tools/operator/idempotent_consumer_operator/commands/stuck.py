"""`stuck`: claims that nobody holds any more and nobody has taken over."""

from __future__ import annotations

from typing import Annotated

import typer

from idempotent_consumer.clock import SystemClock
from idempotent_consumer_operator.aws import Aws
from idempotent_consumer_operator.commands import options
from idempotent_consumer_operator.costing import MILLION, Prices
from idempotent_consumer_operator.errors import OperatorError
from idempotent_consumer_operator.names import Given, Names
from idempotent_consumer_operator.scanning import StuckClaims, estimate
from idempotent_consumer_operator.screen import Screen, ago, columns

OneConsumer = Annotated[
    str | None, typer.Option(help="Only this consumer's; the scan reads all the same.", metavar="NAME")
]


def stuck(
    *,
    consumer: OneConsumer = None,
    stack: options.Stack = None,
    table: options.Table = None,
    region: options.Region = None,
    profile: options.Profile = None,
    yes: options.Yes = False,
    json: options.Json = False,
) -> None:
    """List claims whose lease has ended and which nobody has taken over; this scans the table, and asks before."""
    screen = Screen(as_json=json)
    aws = Aws(region, profile)
    table_name = Names(aws, Given(stack=stack, table=table)).table()
    expected = estimate(aws.dynamodb, table_name)
    dollars = expected.read_units * Prices().million_reads / MILLION
    screen.say(
        f"A scan reads all of {table_name}: about {expected.items:,} items, {expected.size_bytes:,} bytes (counted in "
        f"the last six hours), {expected.read_units:,.1f} read units, ${dollars:.4f} on demand."
    )
    if not screen.ask("Scan it?", yes=yes):
        raise OperatorError("nothing was scanned")
    now_ms = SystemClock().now_ms()
    claims = StuckClaims(aws.dynamodb, table_name, now_ms, consumer)
    found = sorted(claims, key=lambda record: record.message.lease_until_ms)
    rows = [
        (
            record.message.key,
            ago(record.message.lease_until_ms, now_ms),
            ago(record.message.updated_at_ms, now_ms),
            record.queue_arn,
            record.sqs_message_id,
        )
        for record in found
    ]
    screen.answer(
        {
            "stuck": [record.as_json() for record in found],
            "scanned": claims.scanned,
            "read_units": claims.read_units,
        },
        columns(("key", "lease ended", "claimed", "queue", "SQS message id"), rows) if found else "No claim is stuck.",
    )
    screen.say(f"{len(found):,} of {claims.scanned:,} items; the scan took {claims.read_units:,.1f} read units.")
    if found:
        screen.say("Each is taken over by the next delivery of its message; if that is gone, look for its dead letter.")
