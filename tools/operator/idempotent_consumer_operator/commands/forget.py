"""`forget`: delete what is stored of one message, so that it is handled again."""

from __future__ import annotations

from typing import Annotated

import typer

from idempotent_consumer.clock import SystemClock
from idempotent_consumer_operator.aws import Aws
from idempotent_consumer_operator.commands import options
from idempotent_consumer_operator.commands.status import Key, MessageId, shown
from idempotent_consumer_operator.errors import OperatorError, UsageError
from idempotent_consumer_operator.forgetting import MEANING, check_nobody_holds, log_line, who_asks
from idempotent_consumer_operator.forgetting import forget as delete
from idempotent_consumer_operator.names import Given, Names
from idempotent_consumer_operator.records import key_from, read_record
from idempotent_consumer_operator.screen import Screen

Reason = Annotated[str, typer.Option(help="Why, for the log.", show_default=False)]
Force = Annotated[bool, typer.Option("--force", help="Also while a handler may be at work on it.")]


def forget(
    consumer: options.Consumer,
    message_id: MessageId = None,
    *,
    reason: Reason,
    key: Key = None,
    force: Force = False,
    stack: options.Stack = None,
    table: options.Table = None,
    region: options.Region = None,
    profile: options.Profile = None,
    yes: options.Yes = False,
    json: options.Json = False,
) -> None:
    """Delete what is stored of one message, so that its next delivery is handled again; asks, and logs who and why."""
    if not reason.strip():
        raise UsageError("the reason is blank: say why, for whoever reads the log")
    screen = Screen(as_json=json)
    clock = SystemClock()
    wanted = key_from(consumer, message_id, key)
    aws = Aws(region, profile)
    table_name = Names(aws, Given(stack=stack, table=table)).table()
    record = read_record(aws.dynamodb, table_name, wanted, clock.now_ms())
    screen.err.print(shown(record))
    if not force:
        check_nobody_holds(record)
    if not screen.ask(f"Forget it? Then {MEANING}.", yes=yes):
        raise OperatorError("nothing was forgotten")
    delete(aws.dynamodb, table_name, record)
    who = who_asks(aws)
    screen.log(log_line(record, who=who, reason=reason, now_ms=clock.now_ms()))
    screen.answer({"forgotten": True, "who": who, "reason": reason, **record.as_json()}, f"{wanted} is forgotten.")
