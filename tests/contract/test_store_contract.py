"""The contract of `store.Store`, for every store alike."""

from datetime import timedelta

import pytest

from idempotent_consumer.clock import Deadline
from idempotent_consumer.settings import CLOCK_MARGIN_MS
from idempotent_consumer.store import Mark, ProcessedMessage, Status, Store
from idempotent_consumer.testing import FakeClock, FakeContext

LEASE_MS = 30_000
RETENTION = timedelta(days=2)
KEY = "consumer#1"


def mark_of(owner: str, *, key: str = KEY, fingerprint: str | None = "1-spec:content") -> Mark:
    return Mark(key, owner, fingerprint, "queue sqs-message", RETENTION // timedelta(milliseconds=1))


def stored(store: Store, deadline: Deadline, key: str = KEY) -> ProcessedMessage | None:
    return store.look_up([key], deadline).get(key)


@pytest.fixture
def deadline(clock: FakeClock) -> Deadline:
    return Deadline(clock, FakeContext(LEASE_MS))


def pass_ms(clock: FakeClock, duration_ms: int) -> None:
    clock.sleep_ms(duration_ms)


# -- claim ---------------------------------------------------------------------------------------------------


def test_a_claim_of_an_unknown_message_is_stored_with_its_lease(
    store: Store, clock: FakeClock, deadline: Deadline
) -> None:
    now_ms = clock.now_ms()

    assert store.claim(mark_of("a"), deadline, lease_ms=0) is None

    expires_at_s = -(-(now_ms + LEASE_MS) // 1000) + int(RETENTION.total_seconds())
    expected = ProcessedMessage(
        KEY, Status.IN_PROGRESS, "a", now_ms + LEASE_MS, expires_at_s, "1-spec:content", now_ms, "queue sqs-message"
    )
    assert expected == stored(store, deadline)


def test_of_two_claims_one_wins_and_the_other_meets_it(store: Store, deadline: Deadline) -> None:
    store.claim(mark_of("a"), deadline, lease_ms=0)

    old = store.claim(mark_of("b"), deadline, lease_ms=0)

    assert old is not None
    assert old.owner == "a"
    assert old == stored(store, deadline)


def test_a_claim_that_meets_itself_has_won(store: Store, deadline: Deadline) -> None:
    store.claim(mark_of("a"), deadline, lease_ms=0)

    assert store.claim(mark_of("a"), deadline, lease_ms=0) is None


@pytest.mark.parametrize(
    ("after_ms", "owner"), [(LEASE_MS, "a"), (LEASE_MS + CLOCK_MARGIN_MS, "a"), (LEASE_MS + CLOCK_MARGIN_MS + 1, "b")]
)
def test_a_claim_is_taken_over_only_after_its_lease_and_the_margin(
    store: Store, clock: FakeClock, deadline: Deadline, after_ms: int, owner: str
) -> None:
    store.claim(mark_of("a"), deadline, lease_ms=0)

    pass_ms(clock, after_ms)
    store.claim(mark_of("b"), deadline, lease_ms=0)

    item = stored(store, deadline)
    assert item is not None
    assert owner == item.owner


@pytest.mark.parametrize("remaining_ms", [0, -5])
def test_no_time_left_is_a_lease_that_ends_at_once_and_not_no_lease(
    store: Store, clock: FakeClock, remaining_ms: int
) -> None:
    deadline = Deadline(clock, FakeContext(remaining_ms))

    store.claim(mark_of("a"), deadline, lease_ms=0)

    item = stored(store, deadline)
    assert item is not None
    assert clock.now_ms() == item.lease_until_ms


def test_a_lease_may_be_longer_than_the_invocation(store: Store, clock: FakeClock, deadline: Deadline) -> None:
    store.claim(mark_of("a"), deadline, lease_ms=90_000)

    item = stored(store, deadline)
    assert item is not None
    assert clock.now_ms() + 90_000 == item.lease_until_ms


def test_a_completed_message_is_not_claimed(store: Store, deadline: Deadline) -> None:
    store.remember(mark_of("a"), deadline)

    old = store.claim(mark_of("b"), deadline, lease_ms=0)

    assert old is not None
    assert old.status is Status.COMPLETED
    assert old == stored(store, deadline)


@pytest.mark.parametrize(("after", "is_free"), [(RETENTION, False), (RETENTION + timedelta(seconds=1), True)])
def test_a_completed_message_is_forgotten_by_the_clock_and_not_before(
    store: Store, clock: FakeClock, deadline: Deadline, after: timedelta, *, is_free: bool
) -> None:
    """An item that expires in the current second has not expired; that DynamoDB still holds it makes no difference."""
    store.remember(mark_of("a"), deadline)

    clock.advance(after)

    assert is_free == (store.claim(mark_of("b"), deadline, lease_ms=0) is None)


# -- complete and release ------------------------------------------------------------------------------------


def test_completing_ones_claim_remembers_the_message_from_then_on(
    store: Store, clock: FakeClock, deadline: Deadline
) -> None:
    store.claim(mark_of("a"), deadline, lease_ms=0)
    pass_ms(clock, 5_000)

    assert store.complete(mark_of("a"), deadline) is None

    item = stored(store, deadline)
    assert item is not None
    assert item.status is Status.COMPLETED
    assert item.expires_at_s == clock.now_ms() // 1000 + int(RETENTION.total_seconds())


def test_a_completion_that_meets_itself_counts(store: Store, deadline: Deadline) -> None:
    store.claim(mark_of("a"), deadline, lease_ms=0)
    store.complete(mark_of("a"), deadline)

    assert store.complete(mark_of("a"), deadline) is None


@pytest.mark.parametrize("has_completed", [False, True])
def test_a_late_completion_does_not_overwrite_who_took_over(
    store: Store, clock: FakeClock, deadline: Deadline, *, has_completed: bool
) -> None:
    store.claim(mark_of("a"), deadline, lease_ms=0)
    pass_ms(clock, LEASE_MS + CLOCK_MARGIN_MS + 1)
    store.claim(mark_of("b"), deadline, lease_ms=0)
    if has_completed:
        store.complete(mark_of("b"), deadline)
    before = stored(store, deadline)

    assert before == store.complete(mark_of("a"), deadline)
    assert before == stored(store, deadline)


def test_a_completion_that_finds_nothing_is_stored_so_that_the_effect_is_not_repeated(
    store: Store, deadline: Deadline
) -> None:
    assert store.complete(mark_of("a"), deadline) is None

    old = store.claim(mark_of("b"), deadline, lease_ms=0)
    assert old is not None
    assert old.status is Status.COMPLETED


def test_a_released_message_can_be_claimed_at_once(store: Store, deadline: Deadline) -> None:
    store.claim(mark_of("a"), deadline, lease_ms=0)

    store.release(mark_of("a"), deadline)

    assert stored(store, deadline) is None


def test_a_late_release_does_not_delete_who_took_over(store: Store, clock: FakeClock, deadline: Deadline) -> None:
    store.claim(mark_of("a"), deadline, lease_ms=0)
    pass_ms(clock, LEASE_MS + CLOCK_MARGIN_MS + 1)
    store.claim(mark_of("b"), deadline, lease_ms=0)
    before = stored(store, deadline)

    store.release(mark_of("a"), deadline)

    assert before == stored(store, deadline)


def test_a_release_does_not_delete_ones_own_completion(store: Store, deadline: Deadline) -> None:
    store.claim(mark_of("a"), deadline, lease_ms=0)
    store.complete(mark_of("a"), deadline)

    store.release(mark_of("a"), deadline)

    item = stored(store, deadline)
    assert item is not None
    assert item.status is Status.COMPLETED


def test_releasing_nothing_is_no_error(store: Store, deadline: Deadline) -> None:
    store.release(mark_of("a"), deadline)

    assert stored(store, deadline) is None


# -- remember, commit, look up -------------------------------------------------------------------------------


def test_remembering_twice_meets_the_first(store: Store, deadline: Deadline) -> None:
    assert store.remember(mark_of("a"), deadline) is None

    old = store.remember(mark_of("b"), deadline)

    assert old is not None
    assert old.owner == "a"


def test_remembering_does_not_take_a_live_claim_away(store: Store, deadline: Deadline) -> None:
    store.claim(mark_of("a"), deadline, lease_ms=0)

    old = store.remember(mark_of("b"), deadline)

    assert old is not None
    assert old.status is Status.IN_PROGRESS
    assert old == stored(store, deadline)


def test_of_two_commits_one_wins_and_the_other_meets_it(store: Store, deadline: Deadline) -> None:
    assert store.commit(mark_of("a"), [], deadline) is None

    old = store.commit(mark_of("b"), [], deadline)

    assert old is not None
    assert old.owner == "a"


def test_a_commit_that_meets_itself_counts(store: Store, deadline: Deadline) -> None:
    store.commit(mark_of("a"), [], deadline)

    assert store.commit(mark_of("a"), [], deadline) is None


def test_looking_up_finds_what_there_is_however_much_is_asked(store: Store, deadline: Deadline) -> None:
    for number in range(3):
        store.remember(mark_of("a", key=f"consumer#{number}"), deadline)

    found = store.look_up([f"consumer#{number}" for number in range(250)], deadline)

    assert {"consumer#0", "consumer#1", "consumer#2"} == set(found)


def test_looking_up_a_key_twice_is_looking_it_up_once(store: Store, deadline: Deadline) -> None:
    store.remember(mark_of("a"), deadline)

    assert {KEY} == set(store.look_up([KEY, KEY], deadline))


def test_an_item_without_fingerprint_has_none(store: Store, deadline: Deadline) -> None:
    store.remember(mark_of("a", fingerprint=None), deadline)

    item = stored(store, deadline)
    assert item is not None
    assert item.fingerprint is None
