"""One batch of the stream, from its outboxes to what has to come back. Read `Relaying.run`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from idempotent_consumer.clock import Deadline
from idempotent_consumer.departures import Address, Departure, Lane, Leaving
from idempotent_consumer.outcome import describe
from idempotent_consumer.parking import parked_entry
from idempotent_consumer.sending import UNSENDABLE, Entry, requests_of, send_entries
from idempotent_consumer.settings import LONGEST_TRY_MS, RELAY_PATIENCE_MS
from idempotent_consumer.targets import NotTaken, Taken, Target

_NO_TIME = NotTaken("NoTime", "too little time left", may_pass=True)


class Reach:
    """
    Know which targets have been failing, and since when, as far as this process knows.

    Nothing depends on it but how long a target is waited for: a process that starts anew waits anew.
    """

    def __init__(self) -> None:
        self._failing_since_ms: dict[Address, int] = {}

    def answered(self, address: Address) -> None:
        """See that a target takes messages."""
        self._failing_since_ms.pop(address, None)

    def failed(self, address: Address, now_ms: int) -> None:
        """See that a target gives no answer that stays."""
        self._failing_since_ms.setdefault(address, now_ms)

    def is_lost(self, address: Address, now_ms: int) -> bool:
        """Tell whether a target has been failing for longer than others are to wait for it."""
        return now_ms - self._failing_since_ms.get(address, now_ms) > RELAY_PATIENCE_MS


class Relaying:
    """
    Send what a batch holds; nothing of it outlives the invocation.

    Args:
        departures: what each record has to send, in the order of the stream.
        target_at: finds the target at an address.
        parking: the outbox dead-letter queue.
        reach: what is known of the targets.
        deadline: end of the invocation.

    Attributes:
        sent: what its target has taken.
        parked: what is in the outbox dead-letter queue, and why.
    """

    def __init__(
        self,
        departures: Sequence[Departure],
        target_at: Callable[[Address], Target],
        parking: Target,
        reach: Reach,
        deadline: Deadline,
    ) -> None:
        self.sent: list[Leaving] = []
        self.parked: list[tuple[Leaving, NotTaken]] = []
        self._departures = departures
        self._target_at = target_at
        self._parking = parking
        self._reach = reach
        self._deadline = deadline
        self._refused: list[tuple[Leaving, NotTaken]] = []  # and not parked yet
        self._out_of_reach: dict[Target, NotTaken] = {}
        self._has_asked = False

    def run(self) -> None:
        """
        Send and park, round by round, until nothing is left that may go; say of the rest why it is held up.

        In a round each record sends its next messages to one target, and the records that have the same target share
        its requests. What is refused is parked before the messages behind it go.
        """
        while runs := self._runs():
            for address, messages in runs.items():
                if address is None:
                    self._refused += [(each, NotTaken(UNSENDABLE, each.entry.refusal)) for each in messages]
                else:
                    self._send(address, messages)
            self._park()
        for departure in self._departures:
            if departure.waiting and not departure.held_up_by:
                departure.waiting[0].held_up_by = "an earlier message of its group is held up"

    def _runs(self) -> dict[Address | None, list[Leaving]]:
        runs: dict[Address | None, list[Leaving]] = {}
        taken: set[Lane] = set()  # by earlier records: the order of the stream holds within a FIFO group
        for departure in self._departures:
            run = [] if departure.held_up_by else departure.next_run(taken)
            if run:
                runs.setdefault(run[0].address, []).extend(run)
            taken |= {message.lane for message in departure.waiting if message.lane}
        return runs

    def _send(self, address: Address, messages: Sequence[Leaving]) -> None:
        answers = self._answers(self._target_at(address), [message.entry for message in messages])
        for message, answer in zip(messages, answers, strict=True):
            if isinstance(answer, Taken):
                message.is_over = True
                self.sent.append(message)
                self._reach.answered(address)
            elif not answer.may_pass or self._is_lost(address, answer):
                self._refused.append((message, answer))
            else:
                message.held_up_by = str(answer)

    def _is_lost(self, address: Address, answer: NotTaken) -> bool:
        if answer is _NO_TIME:  # it says nothing of the target
            return False
        self._reach.failed(address, self._deadline.now_ms())
        return self._reach.is_lost(address, self._deadline.now_ms())

    def _park(self) -> None:
        refused, self._refused = self._refused, []
        now_ms = self._deadline.now_ms()
        answers = self._answers(self._parking, [parked_entry(message, why, now_ms) for message, why in refused])
        for (message, why), answer in zip(refused, answers, strict=True):
            if isinstance(answer, Taken):
                message.is_over = True
                self.parked.append((message, why))
            else:
                message.held_up_by = f"{why}; and it was not parked: {answer}"

    def _answers(self, target: Target, entries: Sequence[Entry]) -> Iterator[Taken | NotTaken]:
        """Send entries, no two of one group, as long as there is time and the target answers."""
        for request in requests_of(entries, target):
            answers: Sequence[Taken | NotTaken]
            if target in self._out_of_reach:
                answers = [self._out_of_reach[target]] * len(request)
            elif self._has_asked and self._deadline.spare_ms() <= LONGEST_TRY_MS:
                answers = [_NO_TIME] * len(request)
            else:  # the first request is made in any case: a function with a short timeout works, too
                answers = self._ask(target, request)
            yield from answers

    def _ask(self, target: Target, request: Sequence[Entry]) -> Sequence[Taken | NotTaken]:
        self._has_asked = True
        try:
            answers = list(send_entries(target, request, self._deadline))
        except Exception as error:  # noqa: BLE001 - whatever it is, it concerns this target
            answers = [NotTaken(type(error).__name__, describe(error), may_pass=True)] * len(request)
        last = answers[-1]
        if all(isinstance(answer, NotTaken) and answer.may_pass for answer in answers) and isinstance(last, NotTaken):
            self._out_of_reach[target] = last  # others have more to gain from the time
        return answers
