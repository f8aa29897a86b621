"""Whatever arrives, each record has its one outcome, SQS an answer that it understands, and the log its lines."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from idempotent_consumer import Outcome
from idempotent_consumer.errors import FingerprintMismatchError, NotAnSQSEventError, UnreportableRecordError
from tests.fuzz.bench import (
    GOOD,
    MIXED,
    NAME,
    RAISE,
    REJECT,
    RETURN,
    Bench,
    Delivered,
    is_usable,
    logged,
    sqs_message_id,
)
from tests.fuzz.oracle import EMPTY, NOTHING, UNSURE, identity_of
from tests.fuzz.profile import fuzzing
from tests.fuzz.records import batches, events
from tests.fuzz.setups import MODES, setups
from tests.fuzz.values import MARKER

BEHAVIOURS = st.sampled_from([GOOD, MIXED, (RAISE,), (REJECT, RETURN)])


@fuzzing
@given(st.data())
def test_nothing_escapes_but_an_event_that_is_not_sqs_or_a_failure_that_cannot_be_reported(data: st.DataObject) -> None:
    setup = data.draw(setups(MODES))
    event = data.draw(events(setup))

    delivered = Bench(setup, data.draw(BEHAVIOURS)).deliver(event)

    if isinstance(delivered.error, NotAnSQSEventError):
        assert not any(map(is_sound, delivered.records))
    if isinstance(delivered.error, UnreportableRecordError):
        assert not all(is_usable(sqs_message_id(record)) for record in failed_of(delivered))


@fuzzing
@given(st.data())
def test_the_answer_names_each_failed_record_once_in_the_events_order_and_nothing_else(data: st.DataObject) -> None:
    setup = data.draw(setups(MODES))

    delivered = Bench(setup, data.draw(BEHAVIOURS)).deliver(tuple(data.draw(batches(setup))))

    failed = [sqs_message_id(record) for record in failed_of(delivered)]
    if all(map(is_usable, failed)):
        expected = [{"itemIdentifier": identifier} for identifier in dict.fromkeys(failed)]
        assert {"batchItemFailures": expected} == json.loads(json.dumps(delivered.response))
    else:
        assert isinstance(delivered.error, UnreportableRecordError)


@fuzzing
@given(st.data())
def test_every_record_has_exactly_one_outcome_and_what_is_not_reported_is_done(data: st.DataObject) -> None:
    setup = data.draw(setups(MODES))
    bench = Bench(setup, data.draw(BEHAVIOURS))

    delivered = bench.deliver(tuple(data.draw(batches(setup))))

    assert len(delivered.reports) == len(delivered.records)
    for report in delivered.reports:
        assert report.acknowledged == (report.outcome in (Outcome.PROCESSED, Outcome.DUPLICATE))
        if report.acknowledged and setup.mode.remembers and report.message and report.message._key:
            assert report.message._key in bench.returned
    assert sum(report.handled for report in delivered.reports) == len(bench.seen)


@fuzzing
@given(st.data())
def test_the_log_has_one_line_of_json_for_each_delivery_and_nothing_of_a_body(data: st.DataObject) -> None:
    setup = data.draw(setups(MODES))

    delivered = Bench(setup, data.draw(BEHAVIOURS)).deliver(tuple(data.draw(batches(setup))))

    lines = [logged(line) for line in delivered.lines]
    assert sorted(told(report) for report in delivered.reports) == sorted(
        (line["outcome"], line["sqs_message_id"]) for line in lines
    )
    assert [line for line in delivered.lines if MARKER in line and not is_id(logged(line))] == []


@fuzzing
@given(st.data())
def test_no_key_comes_from_nothing_and_no_id_is_other_than_it_was_sent(data: st.DataObject) -> None:
    setup = data.draw(setups())
    bench = Bench(setup)

    delivered = bench.deliver(tuple(data.draw(batches(setup))))

    for record, report, key, message_id in zip(
        delivered.records, delivered.reports, delivered.keys(), delivered.ids(), strict=True
    ):
        identity = identity_of(record, setup.envelopes, setup.strategy)
        if identity == NOTHING:
            assert (report.outcome, report.handled, key) == (Outcome.REJECTED, False, None)
        elif identity == EMPTY:
            assert (report.outcome, report.handled, key) == (Outcome.PROCESSED, False, None)
        elif identity != UNSURE:
            assert key is not None
            assert message_id == identity or not isinstance(identity, str)
            assert report.outcome is not Outcome.REJECTED or isinstance(report.error, FingerprintMismatchError)
    assert set(bench.store.items) <= set(delivered.keys())
    assert all(key.startswith(f"{NAME}#") and len(key.encode()) <= 2_048 for key in bench.store.items)


def failed_of(delivered: Delivered) -> list[Any]:
    return [
        record
        for record, report in zip(delivered.records, delivered.reports, strict=delivered.reports != ())
        if report.outcome not in (Outcome.PROCESSED, Outcome.DUPLICATE)
    ]


def is_sound(record: Any) -> bool:
    is_sqs = isinstance(record, dict) and record.get("eventSource") == "aws:sqs"
    return is_sqs and is_usable(record.get("messageId")) and isinstance(record.get("body"), str)


def told(report: Any) -> tuple[str, str]:
    return report.outcome.value, report.sqs_message_id


def is_id(line: dict[str, Any]) -> bool:
    return MARKER in line.get("message_id", "") or MARKER in line["sqs_message_id"]
