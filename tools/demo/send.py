"""Send one message to the application that `make demo ARGS=--keep` keeps running; it prints the ready command."""

from __future__ import annotations

import os
from typing import Annotated
from uuid import uuid4

import boto3
import typer

from tools.demo.outgoing import Outgoing
from tools.demo.queues import Queue
from tools.demo.sending import send_to


def queue_url_variable(queue: Queue) -> str:
    """Return the environment variable that holds a queue's URL."""
    return f"{queue.upper()}_QUEUE_URL"


def main(
    queue: Annotated[Queue, typer.Argument(help="Which queue.")],
    body: Annotated[str, typer.Argument(help="The message's body, JSON.")],
    message_id: Annotated[
        str | None, typer.Option("--message-id", "-m", help="The message's id; a new one by default.")
    ] = None,
    group_id: Annotated[
        str | None, typer.Option("--group-id", "-g", help="The FIFO group; shipments need one.")
    ] = None,
) -> None:
    """Send one message, and print how SQS calls it."""
    if (url := os.environ.get(queue_url_variable(queue))) is None:
        raise typer.BadParameter(f"{queue_url_variable(queue)} is not set: read the demo's environment file first")
    message_id = message_id or uuid4().hex
    message = Outgoing(queue=queue, business_id=message_id, body=body, message_id=message_id, group_id=group_id)
    for sent in send_to(boto3.client("sqs"), url, [message]):
        typer.echo(sent.sqs_message_id)


if __name__ == "__main__":
    typer.run(main)
