"""`send`: one message, or a file of them, to a consumer's queue."""

from __future__ import annotations

from typing import Annotated

import typer

from idempotent_consumer.producer import OutgoingMessage, Producer, Sent
from idempotent_consumer_operator.aws import Aws
from idempotent_consumer_operator.commands import options
from idempotent_consumer_operator.errors import LEFT, UsageError
from idempotent_consumer_operator.lines import message_from, read_lines
from idempotent_consumer_operator.names import Given, Names
from idempotent_consumer_operator.screen import Screen, columns

Body = Annotated[str | None, typer.Argument(help="The body, as it is sent.", show_default=False)]
MessageId = Annotated[
    str | None, typer.Option(help="Identity of the message: the same for the same message, however often it is sent.")
]
Attribute = Annotated[
    list[str] | None, typer.Option("--attribute", metavar="NAME=VALUE", help="A message attribute; may be repeated.")
]
GroupId = Annotated[str | None, typer.Option("--group", help="Message group; a FIFO queue needs one.")]
DeduplicationId = Annotated[
    str | None, typer.Option(help="What a FIFO queue folds messages by; made of the id if not given.")
]
Delay = Annotated[
    int | None, typer.Option(min=0, max=900, help="Seconds for which a standard queue hides it at first.")
]
Lines = Annotated[
    typer.FileText | None,
    typer.Option(
        "--file",
        help="JSON lines instead, `-` for stdin: objects with message_id, body, attributes, group_id, "
        "deduplication_id, delay_seconds.",
    ),
]


def send(
    consumer: options.Consumer,
    body: Body = None,
    *,
    message_id: MessageId = None,
    attribute: Attribute = None,
    group: GroupId = None,
    deduplication_id: DeduplicationId = None,
    delay: Delay = None,
    file: Lines = None,
    stack: options.Stack = None,
    queue_url: options.QueueUrl = None,
    region: options.Region = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Send one message to a consumer's queue, or each line of a file."""
    screen = Screen(as_json=json)
    single: dict[str, object] = {
        "message_id": message_id,
        "body": body,
        "attributes": dict(map(_attribute, attribute or [])),
        "group_id": group,
        "deduplication_id": deduplication_id,
        "delay_seconds": delay,
    }
    messages = _messages(single, file)
    aws = Aws(region, profile)
    url = Names(aws, Given(stack=stack, queue_url=queue_url)).queue_url(consumer)
    report = Producer(url, client=aws.sending_sqs).send_all(messages)
    unsent = report.unsent
    screen.answer(
        {
            "sent": [{"message_id": each.message_id, "sqs_message_id": each.sqs_message_id} for each in report.sent],
            "failed": [{"message_id": each.message_id, "reason": str(each)} for each in unsent],
        },
        columns(
            ("message id", "SQS message id", "why not"),
            [
                (each.message_id, each.sqs_message_id, None)
                if isinstance(each, Sent)
                else (each.message_id, None, str(each))
                for each in report.results
            ],
        ),
    )
    if unsent:
        screen.say(
            f"{len(unsent):,} of {len(report.results):,} were not sent; sending all again under the same ids is safe."
        )
        raise typer.Exit(LEFT)


def _messages(single: dict[str, object], file: typer.FileText | None) -> list[OutgoingMessage]:
    if file is not None:
        if any(value not in (None, {}) for value in single.values()):
            raise UsageError("with --file everything about the messages is in the file")
        messages = read_lines(file)
        if not messages:
            raise UsageError("the file holds no messages")
        return messages
    if single["body"] is None:
        raise UsageError("give the body, or --file")
    if single["message_id"] is None:
        raise UsageError("give --message-id: what makes this message the same when it is sent again")
    return [message_from(single)]


def _attribute(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise UsageError(f"the attribute {text!r} has no value: give NAME=VALUE")
    return name, value
