"""
Send dead letters back to their consumer: receive, send, delete.

A letter is deleted only when SQS has its copy. So a redrive that ends between the two, however it ends, leaves the
message in both queues: it goes once more when it is run again, and the consumer knows it by its id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from idempotent_consumer.clock import Clock, Deadline
from idempotent_consumer.sending import GROUP_ENDED, UNSENDABLE, Entry, send_entries
from idempotent_consumer.targets import MOST_ENTRIES, NotTaken, QueueTarget, Taken
from idempotent_consumer_operator.browsing import Browser
from idempotent_consumer_operator.choosing import Choice
from idempotent_consumer_operator.copies import Copying
from idempotent_consumer_operator.errors import AwsError
from idempotent_consumer_operator.letters import DeadLetter
from idempotent_consumer_operator.queues import Queue
from idempotent_consumer_operator.rate import Rate

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

_OURS = (UNSENDABLE, GROUP_ENDED)
_MOST_TURNED_AWAY = 3  # requests in a row of which SQS takes nothing
_CLOCKS_DIFFER_MS = (
    60_000  # this machine's and SQS's, at most; what was given up twice in that time waits for a next run
)


@dataclass(frozen=True, slots=True)
class Failure:
    """
    Say why a letter was not redriven, or not deleted.

    Attributes:
        letter: the letter.
        reason: why.
        is_sent: whether SQS has its copy, so that the message is in both queues.
    """

    letter: DeadLetter
    reason: str
    is_sent: bool = False


@dataclass(slots=True)
class Tally:
    """
    Count what a redrive has done.

    Attributes:
        redriven: letters whose copy SQS has; with a dry run, those that would be sent.
        skipped: letters that the filters, or the limit, leave.
        elsewhere: those of them that come from another queue.
        returned: those of them that this very redrive had sent, and that were given up again meanwhile.
        failures: letters that were not sent, or sent and not deleted.
        unseen: how many more the queue holds, by SQS's count, which lags.
    """

    redriven: int = 0
    skipped: int = 0
    elsewhere: int = 0
    returned: int = 0
    failures: list[Failure] = field(default_factory=list)
    unseen: int = 0

    @property
    def failed(self) -> int:
        """Return how many letters were meant and not sent."""
        return sum(not failure.is_sent for failure in self.failures)


class Outlet:
    """
    Send copies of letters to the consumer's queue.

    Args:
        sqs: boto3's client of SQS.
        queue_url: the queue's.
        copying: makes the copies.
        clock: the time.
    """

    def __init__(self, sqs: SQSClient, queue_url: str, copying: Copying, clock: Clock) -> None:
        self._sqs = sqs
        self._queue_url = queue_url
        self._copying = copying
        self._clock = clock
        self._ended_groups: set[str] = set()
        self._turned_away = 0

    def send(self, letters: Sequence[DeadLetter]) -> list[str]:
        """
        Send copies, and return for each why it was not sent; empty if it was.

        Raises:
            AwsError: SQS has taken nothing for some time, so that the next letters would fare no better.
        """
        entries = self.entries(letters)
        # Each call has time of its own: a command goes on for as long as there are letters.
        answers = list(send_entries(QueueTarget(self._sqs, self._queue_url), entries, Deadline(self._clock)))
        self._despair_of(answers)
        refusals = [_why_not(answer) for answer in answers]
        self._ended_groups |= {
            entry.group for entry, refusal in zip(entries, refusals, strict=True) if refusal and entry.group
        }
        return refusals

    def entries(self, letters: Iterable[DeadLetter]) -> list[Entry]:
        """Return what is sent for letters; a FIFO group of which one was not sent has ended."""
        entries = [self._copying.entry_of(letter, self._clock.now_ms()) for letter in letters]
        behind = "an earlier message of its group was not sent"
        return [
            Entry(entry.fields, entry.group, entry.refusal or behind) if entry.group in self._ended_groups else entry
            for entry in entries
        ]

    def _despair_of(self, answers: Sequence[Taken | NotTaken]) -> None:
        asked = [answer for answer in answers if not (isinstance(answer, NotTaken) and answer.code in _OURS)]
        if any(isinstance(answer, Taken) for answer in asked):
            self._turned_away = 0
        elif asked:
            self._turned_away += 1
            if self._turned_away == _MOST_TURNED_AWAY:
                raise AwsError(f"SQS takes no letter: {_why_not(asked[-1])}: see to that, and run it again")


def _why_not(answer: Taken | NotTaken) -> str:
    return str(answer) if isinstance(answer, NotTaken) else ""


class Redrive:
    """
    Redrive the letters of one queue.

    Args:
        dead_letters: the dead-letter queue.
        outlet: sends their copies.
        choice: says which letters.
        rate: says when the next may go.
        clock: the time.
    """

    def __init__(self, dead_letters: Queue, outlet: Outlet, choice: Choice, rate: Rate, clock: Clock) -> None:
        self._dead_letters = dead_letters
        self._outlet = outlet
        self._choice = choice
        self._rate = rate
        self._clock = clock
        self._began_ms = clock.now_ms()
        self._gone: set[str] = set()  # first SQS message ids of what was sent
        self.tally = Tally()

    def run(
        self,
        *,
        limit: int | None = None,
        wait_s: int = 0,
        is_dry: bool = False,
        should_stop: Callable[[], bool] = lambda: False,
        on_progress: Callable[[Tally], None] = lambda tally: None,
    ) -> Tally:
        """
        Redrive until the queue is drained, the limit is reached, or somebody asks to stop.

        Args:
            limit: how many letters to redrive at most.
            wait_s: how long to go on looking for letters that others hold.
            is_dry: send and delete nothing.
            should_stop: asked before each step.
            on_progress: told after each step.
        """
        work = self._would_go if is_dry else self._go
        with Browser(self._dead_letters, self._clock, wait_s, should_stop) as browser:
            for letters in browser.letters(MOST_ENTRIES if is_dry else self._rate.at_once):
                if should_stop():
                    break
                chosen = self._chosen(letters, limit)
                passed = {letter.sqs_message_id for letter in chosen}
                left = [letter for letter in letters if letter.sqs_message_id not in passed]
                self.tally.skipped += len(left)
                self.tally.elsewhere += sum(map(self._choice.is_from_elsewhere, left))
                self.tally.returned += sum(map(self._has_returned, left))
                browser.leave([*left, *work(browser, chosen)])
                on_progress(self.tally)
                if self.tally.redriven == limit or not self._rate.passes(len(chosen), should_stop):
                    break
            self.tally.unseen = browser.unseen()
        return self.tally

    def _chosen(self, letters: Sequence[DeadLetter], limit: int | None) -> list[DeadLetter]:
        chosen = [letter for letter in letters if self._choice.takes(letter) and not self._has_returned(letter)]
        return chosen if limit is None else chosen[: limit - self.tally.redriven]

    def _has_returned(self, letter: DeadLetter) -> bool:
        """Tell whether this redrive has sent it: what is rejected at once would go round for ever."""
        is_late = (letter.sent_ms or 0) > self._began_ms - _CLOCKS_DIFFER_MS
        return is_late and letter.original_sqs_message_id in self._gone

    def _would_go(self, _browser: Browser, letters: Sequence[DeadLetter]) -> Sequence[DeadLetter]:
        for letter, entry in zip(letters, self._outlet.entries(letters), strict=True):
            if entry.refusal:
                self.tally.failures.append(Failure(letter, entry.refusal))
            else:
                self.tally.redriven += 1
        return letters

    def _go(self, browser: Browser, letters: Sequence[DeadLetter]) -> Sequence[DeadLetter]:
        """Send letters and delete those that were sent; return the others."""
        refusals = list(zip(letters, self._outlet.send(letters), strict=True))
        unsent = [Failure(letter, refusal) for letter, refusal in refusals if refusal]
        sent = [letter for letter, refusal in refusals if not refusal]
        self.tally.redriven += len(sent)
        self._gone |= {letter.original_sqs_message_id for letter in sent}
        self.tally.failures += unsent
        undeleted = sent
        try:
            undeleted = browser.delete(sent)
        finally:  # whatever ends the request, SQS has the copies
            self.tally.failures += map(_sent_only, undeleted)
        return [failure.letter for failure in unsent]


def _sent_only(letter: DeadLetter) -> Failure:
    return Failure(letter, "it was sent, but not deleted: the next redrive sends it once more", is_sent=True)
