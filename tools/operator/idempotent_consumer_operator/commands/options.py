"""The options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Consumer = Annotated[str, typer.Argument(help="Name of the consumer, such as place-order.", show_default=False)]
Stack = Annotated[
    str | None,
    typer.Option(
        envvar="IDEMPOTENT_CONSUMER_STACK",
        help="CloudFormation stack whose outputs name tables and queues.",
        metavar="NAME",
    ),
]
Table = Annotated[str | None, typer.Option(help="Table of processed messages, instead of the stack's.", metavar="NAME")]
QueueUrl = Annotated[str | None, typer.Option(help="The consumer's queue, instead of the stack's.", metavar="URL")]
DeadLetterQueueUrl = Annotated[
    str | None, typer.Option(help="The consumer's dead-letter queue, instead of the stack's.", metavar="URL")
]
Region = Annotated[str | None, typer.Option(help="AWS region, instead of the environment's.")]
Profile = Annotated[str | None, typer.Option(help="Profile of the AWS command line.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout; words go to stderr.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
