"""Which outcomes let SQS forget a delivery."""

import pytest

from idempotent_consumer.outcome import Outcome


@pytest.mark.parametrize("outcome", Outcome)
def test_only_work_that_is_known_to_be_done_is_acknowledged(outcome: Outcome) -> None:
    assert outcome.acknowledged == (outcome in {Outcome.PROCESSED, Outcome.DUPLICATE})


def test_outcomes_are_written_as_they_are_named() -> None:
    assert [str(outcome) for outcome in Outcome] == [
        "PROCESSED",
        "DUPLICATE",
        "IN_FLIGHT",
        "FAILED",
        "UNRECORDED",
        "REJECTED",
        "DEFERRED",
        "LEASE_LOST",
    ]
