"""What the outside sees of deliveries: log lines and metrics."""

import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from aws_lambda_powertools import Metrics

from idempotent_consumer.message import Message
from idempotent_consumer.metering import Usage
from idempotent_consumer.outcome import DeliveryReport, Outcome
from idempotent_consumer.record import SqsRecord
from idempotent_consumer.telemetry import METRICS, Telemetry
from idempotent_consumer.testing import message, sqs_record

FIELDS = {
    "level",
    "message",
    "consumer",
    "outcome",
    "acknowledged",
    "handled",
    "message_id",
    "key",
    "sqs_message_id",
    "receive_count",
    "group_id",
    "age_ms",
    "handler_ms",
    "duration_ms",
    "dead_lettered",
    "reason",
}


@pytest.fixture
def consumer() -> str:
    """Return a name of its own, since a logger keeps the output that it was made with."""
    return f"consumer-{uuid.uuid4().hex}"


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[dict[str, Any]]]:
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def some_message(**record: Any) -> Message:
    return message({"secret": "s3cr3t"}, message_id="m-1", consumer="orders", sqs_message_id="s-1", **record)


def report(
    outcome: Outcome = Outcome.PROCESSED, *, record: dict[str, Any] | None = None, **changes: Any
) -> DeliveryReport:
    usual = DeliveryReport(
        consumer="orders",
        outcome=outcome,
        acknowledged=outcome.acknowledged,
        handled=True,
        reason="",
        error=None,
        record=SqsRecord.of(sqs_record("", sqs_message_id="s-1", **(record or {}))),
        message=some_message(),
        duration_ms=12,
        handler_ms=7,
        age_ms=1_500,
    )
    return replace(usual, **changes)


def test_each_delivery_is_one_line_of_json_with_every_field(consumer: str, lines: Any) -> None:
    Telemetry(consumer).delivered(report(record={"receive_count": 3, "group_id": "g-1"}))

    [line] = lines()
    assert {name: line[name] for name in FIELDS} == {
        "level": "INFO",
        "message": "delivery",
        "consumer": "orders",
        "outcome": "PROCESSED",
        "acknowledged": True,
        "handled": True,
        "message_id": "m-1",
        "key": "orders#m-1",
        "sqs_message_id": "s-1",
        "receive_count": 3,
        "group_id": "g-1",
        "age_ms": 1_500,
        "handler_ms": 7,
        "duration_ms": 12,
        "dead_lettered": False,
        "reason": "",
    }


@pytest.mark.parametrize("outcome", Outcome)
def test_a_delivery_that_comes_back_is_a_warning(consumer: str, lines: Any, outcome: Outcome) -> None:
    Telemetry(consumer).delivered(report(outcome))

    [line] = lines()
    assert (line["outcome"], line["level"]) == (outcome, "INFO" if outcome.acknowledged else "WARNING")


def test_a_record_that_could_not_be_read_has_its_line_too(consumer: str, lines: Any) -> None:
    Telemetry(consumer).delivered(report(Outcome.REJECTED, handled=False, message=None, reason="the body is missing"))

    [line] = lines()
    assert (line["outcome"], line["sqs_message_id"], line["reason"]) == ("REJECTED", "s-1", "the body is missing")


def test_a_message_without_id_has_its_line_too(consumer: str, lines: Any) -> None:
    Telemetry(consumer).delivered(report(message=Message("body", {})))

    [line] = lines()
    assert line.get("message_id") is None


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("handled", [True, False])
def test_a_body_is_never_logged(consumer: str, lines: Any, outcome: Outcome, handled: bool) -> None:
    parsed = some_message(attributes={"token": "s3cr3t"}).parsed({"secret": "s3cr3t"})

    Telemetry(consumer).delivered(report(outcome, handled=handled, message=parsed, error=ValueError("no")))

    assert "s3cr3t" not in json.dumps(lines())


def test_what_a_handler_raised_is_logged_with_its_traceback(consumer: str, lines: Any) -> None:
    def broken_handler() -> None:
        raise ValueError("out of order")

    with pytest.raises(ValueError, match="out of order") as raised:
        broken_handler()
    Telemetry(consumer).delivered(report(Outcome.FAILED, error=raised.value))

    [line] = lines()
    assert line["exception_name"] == "ValueError"
    assert "broken_handler" in line["exception"]


def test_what_kept_a_handler_from_starting_is_a_reason_without_traceback(consumer: str, lines: Any) -> None:
    Telemetry(consumer).delivered(report(Outcome.FAILED, handled=False, error=ValueError("store"), reason="store"))

    [line] = lines()
    assert line["reason"] == "store"
    assert "exception" not in line


@pytest.mark.parametrize("text", ["\ud800", 'a "quote"\nand a line', "é🐑", "\x00"])
def test_no_text_of_a_producer_keeps_a_delivery_out_of_the_log(consumer: str, lines: Any, text: str) -> None:
    Telemetry(consumer).delivered(report(Outcome.REJECTED, reason=text, record={"group_id": text}))

    [line] = lines()
    assert line["outcome"] == "REJECTED"


# -- Metrics --------------------------------------------------------------------------------------


def test_an_invocation_is_one_line_of_metrics_with_a_count_for_each_outcome(consumer: str, lines: Any) -> None:
    outcomes = [Outcome.PROCESSED, Outcome.FAILED, Outcome.PROCESSED, Outcome.DUPLICATE]

    Telemetry(consumer).ended([report(outcome) for outcome in outcomes], Usage())

    [line] = lines()
    assert (line["service"], line["PROCESSED"], line["FAILED"], line["DUPLICATE"]) == (consumer, [2], [1], [1])
    [directive] = line["_aws"]["CloudWatchMetrics"]
    assert (directive["Namespace"], directive["Dimensions"]) == ("IdempotentConsumer", [["service"]])
    units = {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]}
    assert units == {
        "PROCESSED": "Count",
        "FAILED": "Count",
        "DUPLICATE": "Count",
        "MessageAge": "Milliseconds",
        "HandlerTime": "Milliseconds",
    }


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_a_metric_of_its_name(consumer: str, lines: Any, outcome: Outcome) -> None:
    Telemetry(consumer).ended([report(outcome)], Usage())

    [line] = lines()
    assert line[outcome.value] == [1]


def test_what_was_measured_is_written_value_by_value(consumer: str, lines: Any) -> None:
    usage = Usage(store_times_ms=[5.0, 7.25], store_throttles=1, store_errors=2, read_units=3, write_units=4.5)
    usage.count_sqs_request()
    reports = [
        report(Outcome.REJECTED, dead_lettered=True, handler_ms=3, age_ms=10),
        report(handler_ms=0, age_ms=20),
        report(Outcome.DUPLICATE, handled=False, age_ms=None),
    ]

    Telemetry(consumer).ended(reports, usage)

    [line] = lines()
    assert {name: line[name] for name in METRICS if name in line} == {
        "PROCESSED": [1],
        "REJECTED": [1],
        "DUPLICATE": [1],
        "DeadLettered": [1],
        "HandlerTime": [3, 0],
        "MessageAge": [10, 20],
        "StoreRequests": [2],
        "StoreTime": [5.0, 7.25],
        "StoreThrottles": [1],
        "StoreErrors": [2],
        "ReadUnits": [3],
        "WriteUnits": [4.5],
        "SqsRequests": [1],
    }


def test_a_batch_larger_than_a_line_of_metrics_loses_no_value(consumer: str, lines: Any) -> None:
    reports = [report(handler_ms=number, age_ms=number) for number in range(1_000)]

    Telemetry(consumer).ended(reports, Usage(store_times_ms=[float(number) for number in range(2_001)]))

    written = lines()
    for name, values in {"HandlerTime": range(1_000), "MessageAge": range(1_000), "StoreTime": range(2_001)}.items():
        assert sorted(value for line in written for value in line.get(name, [])) == list(values)
    assert [line["PROCESSED"] for line in written if "PROCESSED" in line] == [[1_000]]
    assert {line["service"] for line in written} == {consumer}
    assert all(len(line[name]) <= 100 for line in written for name in METRICS if name in line)


def test_being_deferred_again_is_counted_in_its_invocation_only(consumer: str, lines: Any) -> None:
    telemetry = Telemetry(consumer)
    telemetry.deferred_again(2, longest_ms=4_000, left_ms=900)
    telemetry.ended([report(Outcome.DEFERRED)], Usage())
    telemetry.ended([report()], Usage())

    assert [line.get("DeferredAgain") for line in lines() if "_aws" in line] == [[2], None]


def test_a_users_own_metrics_are_neither_flushed_nor_touched(
    consumer: str, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = Metrics(namespace="theirs", service="shop")
    theirs.add_metric(name="Sold", unit="Count", value=1)

    Telemetry(consumer).ended([report()], Usage())

    assert all("Sold" not in line for line in lines())
    theirs.flush_metrics()
    [line] = lines()
    assert (line["service"], line["Sold"]) == ("shop", [1])
    assert set(line) == {"_aws", "service", "Sold"}


def test_invocations_do_not_add_up(consumer: str, lines: Any) -> None:
    telemetry = Telemetry(consumer)

    telemetry.ended([report(), report()], Usage())
    telemetry.ended([report()], Usage())

    assert [line["PROCESSED"] for line in lines()] == [[2], [1]]


def test_an_empty_batch_writes_nothing(consumer: str, lines: Any) -> None:
    Telemetry(consumer).ended([], Usage())

    assert lines() == []


def test_the_variables_of_powertools_do_not_rename_the_metrics(
    consumer: str, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "theirs")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "theirs")

    Telemetry(consumer).ended([report()], Usage())

    [line] = lines()
    assert (line["service"], line["_aws"]["CloudWatchMetrics"][0]["Namespace"]) == (consumer, "IdempotentConsumer")


# -- Warnings -------------------------------------------------------------------------------------


def test_being_deferred_again_is_a_warning_that_names_the_inequality(consumer: str, lines: Any) -> None:
    Telemetry(consumer).deferred_again(2, longest_ms=4_000, left_ms=900)

    [line] = lines()
    assert (line["level"], line["deferred"], line["longest_run_ms"], line["time_left_ms"]) == ("WARNING", 2, 4_000, 900)
    assert "BatchSize x duration" in line["message"]


def test_a_claim_that_was_not_released_is_a_warning(consumer: str, lines: Any) -> None:
    Telemetry(consumer).release_failed(ValueError("throttled"))

    [line] = lines()
    assert (line["level"], line["reason"]) == ("WARNING", "throttled")
