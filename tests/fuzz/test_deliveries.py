"""What comes again is not done again, and what is broken harms nobody else."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from idempotent_consumer import Outcome
from tests.fuzz.bench import GOOD, MIXED, Bench, Delivered
from tests.fuzz.oracle import EMPTY, NOTHING, UNSURE, identity_of
from tests.fuzz.profile import fuzzing
from tests.fuzz.records import batches
from tests.fuzz.setups import MODES, REMEMBERING, Setup, setups

ACKNOWLEDGED = (Outcome.PROCESSED, Outcome.DUPLICATE)


@fuzzing
@given(st.data())
def test_no_handler_that_returned_runs_again_whatever_the_mode_in_which_its_message_returns(
    data: st.DataObject,
) -> None:
    bench = Bench(data.draw(setups()), data.draw(st.sampled_from([GOOD, MIXED])))
    batch = tuple(data.draw(batches(bench.setup)))
    before = bench.deliver(batch)

    for mode in data.draw(st.lists(REMEMBERING, min_size=1, max_size=2)):
        bench.clock.sleep_ms(60_000)
        bench.setup = replace(bench.setup, mode=mode)
        again = bench.deliver(batch, counts=False)

        assert len(bench.returned) == len(set(bench.returned))
        assert_that_what_was_done_is_recognised(before, again)


def assert_that_what_was_done_is_recognised(before: Delivered, again: Delivered) -> None:
    for old, new in zip(before.reports, again.reports, strict=True):
        if old.acknowledged and old.message and old.message._key:
            # In a group of a FIFO queue, what comes after a failure is not even looked at.
            assert new.outcome is Outcome.DUPLICATE or (new.outcome is Outcome.DEFERRED and new.record.is_fifo)


@fuzzing
@given(st.data())
def test_a_bad_record_changes_nothing_for_its_neighbours(data: st.DataObject) -> None:
    setup = data.draw(setups(MODES))
    behaviours = data.draw(st.sampled_from([GOOD, MIXED]))
    some = data.draw(batches(setup, most=12))
    if setup.concurrency > 1:
        some = without_equals(some, setup)
    others = strangers(data.draw(batches(setup, most=12, prefix="other-")), some, setup)
    alone, among = Bench(setup, behaviours), Bench(setup, behaviours)
    order = data.draw(st.permutations(range(len(some) + len(others)))) if setup.concurrency == 1 else None
    mixed, places = mix(some, others, order)

    expected = alone.deliver(tuple(some), counts=False)
    found = among.deliver(tuple(mixed))

    assert expected.outcomes == [found.outcomes[place] for place in places]
    assert expected.keys() == [found.keys()[place] for place in places]
    assert set(alone.store.items) == set(among.store.items) & {found.keys()[place] for place in places}


def strangers(batch: Sequence[Any], of: Sequence[Any], setup: Setup) -> list[Any]:
    """Return the records that have nothing to do with others: neither their identity nor their FIFO group."""
    known = {identity_of(one, setup.envelopes, setup.strategy) for one in of} - {NOTHING, EMPTY}
    kept = []
    for one in batch:
        identity = identity_of(one, setup.envelopes, setup.strategy)
        if identity in known or identity == UNSURE:
            continue
        kept.append({**one, "eventSourceARN": "arn:aws:sqs:eu-central-1:111122223333:others"} if is_fifo(one) else one)
    return kept


def is_fifo(record: Any) -> bool:
    return isinstance(record, dict) and str(record.get("eventSourceARN")).endswith(".fifo")


def without_equals(batch: Sequence[Any], setup: Setup) -> list[Any]:
    """Return the records of which each is another message: of equal ones, chance decides which a thread takes first."""
    kept: dict[Hashable, Any] = {}
    for place, one in enumerate(batch):
        identity = identity_of(one, setup.envelopes, setup.strategy)
        kept.setdefault(place if identity in (NOTHING, EMPTY, UNSURE) else identity, one)
    return list(kept.values())


def mix(some: Sequence[Any], others: Sequence[Any], order: Sequence[int] | None) -> tuple[list[Any], list[int]]:
    """Return both kinds of records in one batch, each kind in its order, and the places of the first kind."""
    total = len(some) + len(others)
    places = sorted((order or range(total))[: len(some)])
    first, second = iter(some), iter(others)
    return [next(first) if place in places else next(second) for place in range(total)], places
