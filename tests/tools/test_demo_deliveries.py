"""The demo's numbers come from the functions' own log lines."""

import json

from tools.demo.deliveries import Delivery, Totals, parse_deliveries


def line(sqs_message_id: str, outcome: str, **fields: object) -> str:
    logged = {"level": "INFO", "message": "delivery", "sqs_message_id": sqs_message_id, "outcome": outcome}
    return json.dumps({**logged, "acknowledged": outcome != "FAILED", "message_id": "o-1", "reason": None, **fields})


def test_delivery_lines_are_found_among_all_others() -> None:
    lines = [
        "START RequestId: 1 Version: $LATEST",
        '{"_aws": {"CloudWatchMetrics": []}, "PROCESSED": [1.0]}',
        line("m-1", "PROCESSED", age_ms=1_500),
        '{"level": "INFO", "message": "something else"}',
        "[1, 2]",
        line("m-2", "REJECTED", acknowledged=False, message_id=None, reason="no usable id"),
        "END RequestId: 1",
    ]

    assert parse_deliveries(lines) == [
        Delivery("m-1", "o-1", "PROCESSED", acknowledged=True, reason=None, age_ms=1_500),
        Delivery("m-2", None, "REJECTED", acknowledged=False, reason="no usable id"),
    ]


def test_totals_count_arrivals_work_duplicates_and_arrivals_after_the_first() -> None:
    deliveries = parse_deliveries(
        [line("m-1", "FAILED"), line("m-2", "PROCESSED"), line("m-1", "FAILED"), line("m-1", "DUPLICATE")]
    )

    assert Totals.of(deliveries) == Totals(deliveries=4, handled=1, duplicates=1, retried=2)


def test_totals_of_nothing_are_nothing() -> None:
    assert Totals.of([]) == Totals(deliveries=0, handled=0, duplicates=0, retried=0)
