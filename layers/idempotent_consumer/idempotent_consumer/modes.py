"""
The four modes, each a policy of three methods: whom to admit, how to complete, what to release.

A mode keeps no state. What it promises stands in its docstring, and in tests of the same words.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Protocol, runtime_checkable

from idempotent_consumer.clock import Deadline
from idempotent_consumer.errors import (
    ConfigurationError,
    FingerprintMismatchError,
    StoreError,
    StoreUnavailableError,
)
from idempotent_consumer.outcome import Outcome, Settlement, describe
from idempotent_consumer.settings import CLOCK_MARGIN_MS, LONGEST_LEASE, LONGEST_TRY_MS, LOOK_UP_HOLDS_MS, WINDOW
from idempotent_consumer.store import Mark, ProcessedMessage, Status, Store, judge
from idempotent_consumer.work import UnitOfWork

PROCESSED = Settlement(Outcome.PROCESSED)


@runtime_checkable
class Mode(Protocol):
    """
    Decide when a message is looked up, claimed and stored.

    Attributes:
        remembers: whether processed messages are stored, so that a store and a message id are needed.
        claims: whether admission leaves a claim in the store.
        window: how many deliveries are admitted together, at most.
        admission_holds_ms: how long after its admission a delivery may be handled without being admitted anew; None if
            a later condition protects its effect.
        unknown: the outcome when it is not known that the handler's return was made durable.
        refusal: why the unit of work takes no writes; empty if they are committed.
        sending_refusal: why it takes no outgoing messages; empty if they are stored with the completion.
    """

    remembers: ClassVar[bool] = True
    claims: ClassVar[bool] = False
    window: ClassVar[int] = WINDOW
    admission_holds_ms: ClassVar[int | None] = None
    unknown: ClassVar[Outcome] = Outcome.UNRECORDED
    refusal: ClassVar[str] = (
        "only a Transactional consumer commits its unit of work: construct it with mode=Transactional(), or write "
        "with a client of your own and make that write idempotent"
    )
    sending_refusal: ClassVar[str] = ""

    @abstractmethod
    def admit(self, marks: Sequence[Mark], store: Store, deadline: Deadline) -> Sequence[Settlement | None]:
        """Return, in the order of the marks, how those are settled that may not be handled; None for those that may."""

    @abstractmethod
    def complete(self, mark: Mark, work: UnitOfWork, store: Store, deadline: Deadline) -> Settlement:
        """
        Make it durable that the handler has returned, and return what that makes of the delivery.

        Raises:
            StoreError: it is not known to be durable.
            ConditionFailed: a condition of the handler's own did not hold.
        """

    def release(self, mark: Mark, store: Store, deadline: Deadline) -> None:
        """Give up what admission left behind for a delivery whose handler raised or never ran: here, nothing."""
        del mark, store, deadline

    def claim_ends_ms(self, claimed_ms: int, deadline: Deadline) -> int | None:
        """Return until when the claim of a delivery admitted then keeps others out; None if there is no claim."""
        del claimed_ms, deadline
        return None


@dataclass(frozen=True)
class Lazy(Mode):
    """
    Look up, handle, store.

    Once stored, a message is never handled again. Two deliveries at the same moment may both be handled, and a crash
    before the store repeats the handler: for effects that are cheap to repeat.
    """

    admission_holds_ms: ClassVar[int | None] = LOOK_UP_HOLDS_MS

    def admit(self, marks: Sequence[Mark], store: Store, deadline: Deadline) -> Sequence[Settlement | None]:
        """Let in what is not stored."""
        return _look_up(marks, store, deadline)

    def complete(self, mark: Mark, work: UnitOfWork, store: Store, deadline: Deadline) -> Settlement:
        """Store the message; if another delivery has done so meanwhile, both have been handled."""
        old = store.remember(_with_outbox(mark, work), deadline)
        return PROCESSED if old is None else _beaten_by(old, mark, deadline)


@dataclass(frozen=True)
class Eager(Mode):
    """
    Claim, handle, complete; release when the handler raised.

    While clocks differ by less than the margin there are never two live holders of a message; once complete, it is
    never handled again; a late holder neither overwrites nor deletes another's record. A crash between effect and
    completion repeats the handler after the lease: pass `message.idempotency_key` downstream.

    Args:
        lease: how long a claim lasts at least; by default it lasts until the invocation must end.
    """

    claims: ClassVar[bool] = True
    window: ClassVar[int] = 1

    lease: timedelta | None = None

    def __post_init__(self) -> None:
        if self.lease is not None and not (
            isinstance(self.lease, timedelta) and timedelta(0) < self.lease <= LONGEST_LEASE
        ):
            raise ConfigurationError(f"Eager(lease={self.lease!r}): give a timedelta of at most {LONGEST_LEASE}")

    def admit(self, marks: Sequence[Mark], store: Store, deadline: Deadline) -> Sequence[Settlement | None]:
        """Let in what could be claimed."""
        return [self._claim(mark, store, deadline) for mark in marks]

    def _claim(self, mark: Mark, store: Store, deadline: Deadline) -> Settlement | None:
        lease_ms = self.lease // timedelta(milliseconds=1) if self.lease else 0
        try:
            old = store.claim(mark, deadline, lease_ms=lease_ms)
        except StoreError as error:
            # The claim may stand although no answer came; without time to give it up, it ends with its lease.
            if isinstance(error, StoreUnavailableError) and deadline.spare_ms() > LONGEST_TRY_MS:
                with contextlib.suppress(StoreError):
                    store.release(mark, deadline)
            return Settlement(Outcome.FAILED, describe(error), error, is_outage=True)
        return None if old is None else _beaten_by(old, mark, deadline)

    def complete(self, mark: Mark, work: UnitOfWork, store: Store, deadline: Deadline) -> Settlement:
        """Complete the claim; if that fails it stays, for the effect has happened and is not to be repeated at once."""
        old = store.complete(_with_outbox(mark, work), deadline)
        if old is None:
            return PROCESSED
        useful_from_ms = _useful_from_ms(old)
        return Settlement(Outcome.LEASE_LOST, f"taken over: {_described(old)}", useful_from_ms=useful_from_ms)

    def claim_ends_ms(self, claimed_ms: int, deadline: Deadline) -> int:
        """Return the end of the lease, with the margin: a redelivery before it would only be IN_FLIGHT."""
        lease_ms = self.lease // timedelta(milliseconds=1) if self.lease else 0
        return max(deadline.now_ms() + deadline.left_ms(), claimed_ms + lease_ms) + CLOCK_MARGIN_MS + 1

    def release(self, mark: Mark, store: Store, deadline: Deadline) -> None:
        """Give the claim up, so that the next delivery need not wait for the end of its lease."""
        store.release(mark, deadline)


@dataclass(frozen=True)
class Transactional(Mode):
    """
    Look up, handle, and commit the handler's unit of work with the message's record in one transaction.

    The writes in the unit of work happen exactly once, whatever crashes; other effects of the handler are not covered.
    """

    unknown: ClassVar[Outcome] = Outcome.FAILED
    refusal: ClassVar[str] = ""

    def admit(self, marks: Sequence[Mark], store: Store, deadline: Deadline) -> Sequence[Settlement | None]:
        """Let in what is not stored; the transaction's condition decides in the end."""
        return _look_up(marks, store, deadline)

    def complete(self, mark: Mark, work: UnitOfWork, store: Store, deadline: Deadline) -> Settlement:
        """Commit; a transaction not known to be applied has left no effect, or is recognised at the next delivery."""
        old = store.commit(_with_outbox(mark, work), work.writes, deadline)
        return PROCESSED if old is None else _beaten_by(old, mark, deadline)


@dataclass(frozen=True)
class Natural(Mode):
    """
    Handle, and remember nothing.

    For operations that are idempotent by themselves, such as setting a status if it is newer.
    """

    remembers: ClassVar[bool] = False
    sending_refusal: ClassVar[str] = (
        "a Natural consumer stores nothing, so an outgoing message has no place to wait in: choose another mode, or "
        "send with a Producer under an id of its own"
    )

    def admit(self, marks: Sequence[Mark], store: Store, deadline: Deadline) -> Sequence[Settlement | None]:
        """Let everything in."""
        del store, deadline
        return [None] * len(marks)

    def complete(self, mark: Mark, work: UnitOfWork, store: Store, deadline: Deadline) -> Settlement:
        """Take the handler's word for it."""
        del mark, work, store, deadline
        return PROCESSED


def _with_outbox(mark: Mark, work: UnitOfWork) -> Mark:
    return replace(mark, outbox=work.outbox.to_json())


def _look_up(marks: Sequence[Mark], store: Store, deadline: Deadline) -> list[Settlement | None]:
    found = store.look_up([mark.key for mark in marks], deadline)
    return [_judged(found.get(mark.key), mark, deadline) for mark in marks]


def _judged(old: ProcessedMessage | None, mark: Mark, deadline: Deadline) -> Settlement | None:
    outcome = judge(old, mark.fingerprint, deadline.now_ms())
    if old is None or outcome is None:
        return None
    if outcome is Outcome.REJECTED:
        error = FingerprintMismatchError(f"the message id is taken by other content: {_described(old)}")
        return Settlement(outcome, describe(error), error)
    return Settlement(outcome, _described(old), useful_from_ms=_useful_from_ms(old))


def _useful_from_ms(old: ProcessedMessage) -> int:
    """Return until when another's claim keeps everybody out; 0 if it is none any more."""
    if old.status is not Status.IN_PROGRESS:
        return 0
    return old.lease_until_ms + CLOCK_MARGIN_MS + 1  # only after it may it be taken


def _beaten_by(old: ProcessedMessage, mark: Mark, deadline: Deadline) -> Settlement:
    # What stood in the way of the write may have expired in the instant since: then the next delivery will see.
    return _judged(old, mark, deadline) or Settlement(Outcome.IN_FLIGHT, _described(old), useful_from_ms=0)


def _described(old: ProcessedMessage) -> str:
    if old.status is Status.COMPLETED:
        return f"processed at {_time(old.updated_at_ms)} from {old.source}"
    return f"held until {_time(old.lease_until_ms)} by {old.owner} from {old.source}"


def _time(instant_ms: int) -> str:
    try:
        return datetime.fromtimestamp(instant_ms / 1000, tz=UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):  # whatever is stored, it can be told
        return f"{instant_ms} ms"
