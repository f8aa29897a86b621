"""`redrive`: send dead letters back to their consumer, after what gave them up is mended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from idempotent_consumer.clock import SystemClock
from idempotent_consumer_operator.aws import Aws
from idempotent_consumer_operator.browsing import HOLD_S
from idempotent_consumer_operator.choosing import Choice
from idempotent_consumer_operator.commands import options
from idempotent_consumer_operator.copies import Copying
from idempotent_consumer_operator.errors import INTERRUPTED, LEFT, UsageError
from idempotent_consumer_operator.moving import FASTEST, LIMITS, check_letters, start_move
from idempotent_consumer_operator.names import Given, Names
from idempotent_consumer_operator.queues import Queue
from idempotent_consumer_operator.rate import Rate
from idempotent_consumer_operator.redrive import Outlet, Redrive, Tally
from idempotent_consumer_operator.screen import Screen, columns
from idempotent_consumer_operator.stopping import stopping_in_between

_MOST_SHOWN = 20
_LONG_ENOUGH_S = HOLD_S + 10

ReasonFilter = Annotated[str | None, typer.Option(help="Only letters whose reason contains this.", metavar="TEXT")]
ErrorFilter = Annotated[str | None, typer.Option(help="Only letters with this error type.", metavar="NAME")]
KeyFilter = Annotated[str | None, typer.Option(help="Only letters of this key.")]
PerSecond = Annotated[float | None, typer.Option("--rate", min=0.01, help="Letters per second at most.")]
Limit = Annotated[int | None, typer.Option(min=1, help="How many letters to redrive at most.")]
Wait = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=3_600,
        help="How many seconds to wait for letters that others hold; 40 if not given, since a redrive that was killed "
        "holds some for 30.",
        metavar="SECONDS",
    ),
]
FromAnyQueue = Annotated[
    bool, typer.Option("--from-any-queue", help="Also letters that come from another queue than the consumer's.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Send and delete nothing; say what would be.")]
DropIdentity = Annotated[
    bool, typer.Option("--drop-identity", help="Also letters that have no room for the ids they had at first.")
]
Move = Annotated[bool, typer.Option("--move", help="Let SQS move all letters by itself, in the background.")]
AcceptNewIds = Annotated[
    bool,
    typer.Option("--accept-new-ids", help="With --move: letters without ids of their own may become new messages."),
]


@dataclass(frozen=True, slots=True)
class Ends:
    """
    Hold the two queues of a redrive.

    Attributes:
        dead_letters: where letters are.
        queue: where they go.
    """

    dead_letters: Queue
    queue: Queue


def redrive(
    consumer: options.Consumer,
    *,
    reason: ReasonFilter = None,
    error: ErrorFilter = None,
    key: KeyFilter = None,
    rate: PerSecond = None,
    limit: Limit = None,
    wait: Wait = None,
    from_any_queue: FromAnyQueue = False,
    dry_run: DryRun = False,
    drop_identity: DropIdentity = False,
    move: Move = False,
    accept_new_ids: AcceptNewIds = False,
    stack: options.Stack = None,
    queue_url: options.QueueUrl = None,
    dead_letter_queue_url: options.DeadLetterQueueUrl = None,
    region: options.Region = None,
    profile: options.Profile = None,
    json: options.Json = False,
) -> None:
    """Send dead letters back to their consumer; it may be interrupted, or killed, and run again."""
    screen = Screen(as_json=json)
    aws = Aws(region, profile)
    names = Names(aws, Given(stack=stack, queue_url=queue_url, dead_letter_queue_url=dead_letter_queue_url))
    ends = _ends(aws, names, consumer)
    source_arn = None if from_any_queue else ends.queue.arn()
    choice = Choice(reason=reason, error=error, key=key, queue_arn=source_arn)
    if move:
        if not choice.is_everything or limit or dry_run or wait is not None or drop_identity:
            raise UsageError("--move takes all letters at once: leave out what chooses, limits or waits")
        _move(screen, aws, ends, rate, None if accept_new_ids else choice)
        return
    if accept_new_ids:
        raise UsageError("--accept-new-ids goes with --move only; without it letters keep the ids they had")
    clock = SystemClock()
    outlet = Outlet(
        aws.sending_sqs, ends.queue.url, Copying(consumer, ends.queue.is_fifo, drop_identity, source_arn), clock
    )
    work = Redrive(ends.dead_letters, outlet, choice, Rate(rate, clock), clock)
    with stopping_in_between() as stop:
        try:
            with _progress(screen, ends, limit) as advance:
                work.run(
                    limit=limit,
                    wait_s=_LONG_ENOUGH_S if wait is None else wait,
                    is_dry=dry_run,
                    should_stop=lambda: stop.is_requested,
                    on_progress=advance,
                )
        finally:
            _report(screen, work.tally, is_dry=dry_run)
    if stop.is_requested:
        screen.say("Interrupted in between two letters: run it again to go on.")
        raise typer.Exit(INTERRUPTED)
    if (
        work.tally.failures
        or work.tally.returned
        or (work.tally.unseen and not dry_run and work.tally.redriven != limit)
    ):
        raise typer.Exit(LEFT)


def _ends(aws: Aws, names: Names, consumer: str) -> Ends:
    ends = Ends(Queue(aws.sqs, names.dead_letter_queue_url(consumer)), Queue(aws.sqs, names.queue_url(consumer)))
    if ends.dead_letters.url == ends.queue.url:
        raise UsageError("the dead-letter queue and the queue are the same one")
    if ends.dead_letters.is_fifo != ends.queue.is_fifo:
        raise UsageError("one of the queues is FIFO and the other is not: order and groups would be lost")
    return ends


def _move(screen: Screen, aws: Aws, ends: Ends, rate: float | None, checked: Choice | None) -> None:
    if rate is not None and (rate != int(rate) or not 1 <= rate <= FASTEST):
        raise UsageError(f"with --move the rate is a whole number from 1 to {FASTEST}")
    if checked:
        check_letters(ends.dead_letters, checked, SystemClock())
    source, destination = ends.dead_letters.arn(), ends.queue.arn()
    handle = start_move(aws.sqs, source, destination, None if rate is None else int(rate))
    screen.say(f"{LIMITS}.")
    screen.answer(
        {"task_handle": handle, "source_arn": source, "destination_arn": destination},
        f"SQS moves {source} to {destination}.",
        f"To see how far it is: aws sqs list-message-move-tasks --source-arn {source}",
        f"To stop it: aws sqs cancel-message-move-task --task-handle {handle}",
    )


@contextmanager
def _progress(screen: Screen, ends: Ends, limit: int | None) -> Iterator[Any]:
    if not screen.shows_progress:
        yield lambda tally: None
        return
    about = ends.dead_letters.depth().waiting
    parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*parts, console=screen.err) as progress:
        task = progress.add_task("redrive", total=min(about, limit or about))

        def advance(tally: Tally) -> None:
            progress.update(task, completed=tally.redriven + tally.failed + (0 if limit else tally.skipped))

        yield advance


def _report(screen: Screen, tally: Tally, *, is_dry: bool) -> None:
    failures = [
        {
            "sqs_message_id": failure.letter.sqs_message_id,
            "key": failure.letter.key,
            "reason": failure.reason,
            "is_sent": failure.is_sent,
        }
        for failure in tally.failures
    ]
    rows = [(failure["sqs_message_id"], failure["key"], failure["reason"]) for failure in failures[:_MOST_SHOWN]]
    more = (
        f" The first {_MOST_SHOWN} of those that stay are shown; --json has all." if len(failures) > _MOST_SHOWN else ""
    )
    did = "would be redriven" if is_dry else "redriven"
    both = f" {undeleted:,} of those redriven are not deleted." if (undeleted := len(failures) - tally.failed) else ""
    words = f"{tally.redriven:,} {did}, {tally.skipped:,} skipped, {tally.failed:,} failed.{both}{more}"
    screen.answer(
        {
            "redriven": tally.redriven,
            "skipped": tally.skipped,
            "from_elsewhere": tally.elsewhere,
            "returned": tally.returned,
            "failed": failures,
            "unseen": tally.unseen,
            "dry_run": is_dry,
        },
        *([columns(("SQS message id", "key", "why it stays"), rows)] if rows else []),
        words,
    )
    if tally.returned:
        screen.say(
            f"{tally.returned:,} of those skipped were redriven by this very command and have been given up again: "
            "what was wrong with them is not mended yet."
        )
    if tally.elsewhere:
        screen.say(
            f"{tally.elsewhere:,} of those skipped come from another queue, whose consumer shares this one for its "
            "dead letters: redrive them for that one, or give --from-any-queue if it has but another name now."
        )
    if tally.unseen:
        screen.say(
            f"SQS counts about {tally.unseen:,} more, and its count lags by up to a minute. If they stay: another "
            "reader or a redrive that was killed holds them (those that it had left, for up to 15 minutes), "
            "--limit or an interruption left them, or they are in a FIFO group behind a letter that was left."
        )
