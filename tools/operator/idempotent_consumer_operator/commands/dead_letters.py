"""`dead-letters`: what was given up, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.table import Table as RichTable

from idempotent_consumer.clock import Clock, SystemClock
from idempotent_consumer_operator.aws import Aws
from idempotent_consumer_operator.browsing import Browser
from idempotent_consumer_operator.commands import options
from idempotent_consumer_operator.errors import INTERRUPTED
from idempotent_consumer_operator.letters import DeadLetter
from idempotent_consumer_operator.names import Given, Names
from idempotent_consumer_operator.queues import Queue
from idempotent_consumer_operator.screen import Screen, age, columns
from idempotent_consumer_operator.stopping import Stop, stopping_in_between


class By(StrEnum):
    """Name what letters can be grouped by."""

    REASON = "reason"
    ERROR = "error"
    CONSUMER = "consumer"


OneConsumer = Annotated[
    str | None, typer.Argument(help="Name of the consumer; all of the stack if none is given.", show_default=False)
]
# There is but one queue here, so its short name means it, too.
OneQueue = Annotated[
    str | None,
    typer.Option(
        "--dead-letter-queue-url", "--queue-url", help="The dead-letter queue, instead of the stack's.", metavar="URL"
    ),
]
Group = Annotated[By | None, typer.Option("--by", help="Count letters instead of listing them.")]
Limit = Annotated[int, typer.Option(min=1, help="How many letters to receive at most.")]
Bodies = Annotated[bool, typer.Option("--bodies", help="Show bodies too; they may hold personal data.")]


def dead_letters(
    consumer: OneConsumer = None,
    *,
    by: Group = None,
    limit: Limit = 100,
    bodies: Bodies = False,
    stack: options.Stack = None,
    dead_letter_queue_url: OneQueue = None,
    region: options.Region = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """List dead letters with their reasons, or count them by reason, error or consumer."""
    screen = Screen(as_json=json)
    clock = SystemClock()
    aws = Aws(region, profile)
    urls = Names(aws, Given(stack=stack, dead_letter_queue_url=dead_letter_queue_url)).dead_letter_queue_urls(consumer)
    queues = [Queue(aws.sqs, url) for url in urls]
    about = sum(queue.depth().waiting for queue in queues)
    screen.say("Letters are received to be read: that raises their receive counts, and hides them until the end.")
    with stopping_in_between() as stop:
        found = [letter for queue in queues for letter in _browsed(queue, clock, limit, stop)][:limit]
    now_ms = clock.now_ms()
    if by is None:
        letters = [_as_json(letter, bodies=bodies) for letter in found]
        screen.answer({"letters": letters, "about": about}, *_listed(found, now_ms, bodies=bodies))
    else:
        groups = _grouped(found, by)
        screen.answer({"groups": groups, "listed": len(found), "about": about}, _counted(groups, by))
    screen.say(f"{len(found):,} of about {about:,} dead letters" + (", by --limit." if len(found) == limit else "."))
    if stop.is_requested:
        raise typer.Exit(INTERRUPTED)


def _browsed(queue: Queue, clock: Clock, limit: int, stop: Stop) -> list[DeadLetter]:
    found: list[DeadLetter] = []
    with Browser(queue, clock) as browser:
        for letters in browser.letters():
            browser.leave(letters)
            found += letters
            if len(found) >= limit or stop.is_requested:
                break
    return found


def _as_json(letter: DeadLetter, *, bodies: bool) -> dict[str, Any]:
    at = letter.given_up_at
    return {
        "sqs_message_id": letter.sqs_message_id,
        "original_sqs_message_id": letter.original_sqs_message_id,
        "message_id": letter.message_id,
        "key": letter.key,
        "consumer": letter.consumer,
        "outcome": letter.outcome,
        "reason": letter.reason,
        "error": letter.error,
        "receive_count": letter.receive_count,
        "at": at.isoformat(timespec="seconds") if at else None,
        "queue_arn": letter.queue_arn,
        "group_id": letter.group_id,
        "moved_by_sqs": letter.is_moved_by_sqs,
        **({"body": letter.body} if bodies else {}),
    }


def _listed(letters: Sequence[DeadLetter], now_ms: int, *, bodies: bool) -> list[RichTable | str]:
    if not letters:
        return ["There are no dead letters."]
    names = ("reason", "error", "outcome", "receives", "age", "key", "SQS message id", *(["body"] if bodies else []))
    rows = [
        (
            letter.reason,
            letter.error,
            letter.outcome,
            letter.receive_count,
            age(letter.given_up_at, now_ms),
            letter.key or letter.message_id,
            letter.sqs_message_id,
            *([letter.body] if bodies else []),
        )
        for letter in letters
    ]
    return [columns(names, rows, right=("receives", "age"))]


def _grouped(letters: Sequence[DeadLetter], by: By) -> list[dict[str, Any]]:
    groups: dict[str | None, list[DeadLetter]] = defaultdict(list)
    for letter in letters:
        groups[getattr(letter, by)].append(letter)
    largest_first = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0] or ""))
    return [{by.value: name, "letters": len(some), "oldest": _oldest(some)} for name, some in largest_first]


def _oldest(letters: Sequence[DeadLetter]) -> str | None:
    instants = [letter.given_up_at for letter in letters if letter.given_up_at]
    return min(instants).isoformat(timespec="seconds") if instants else None


def _counted(groups: Sequence[dict[str, Any]], by: By) -> RichTable | str:
    if not groups:
        return "There are no dead letters."
    rows = [(group["letters"], group[by.value] or "(none)", group["oldest"]) for group in groups]
    return columns(("letters", by.value, "oldest"), rows, right=("letters",))
