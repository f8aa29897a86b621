"""Alarms and the dashboard show what there is, and nothing that there is not."""

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from idempotent_consumer import DynamoDBStore
from idempotent_consumer.telemetry import METRICS, METRICS_NAMESPACE
from idempotent_consumer.testing import create_processed_messages_table
from tests.template.emitted import MODES, emitted

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 24
OF_AWS = {
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName"),
    ("AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName"),
    ("AWS/Lambda", "Invocations", "FunctionName"),
    ("AWS/Lambda", "Errors", "FunctionName"),
    ("AWS/Lambda", "Throttles", "FunctionName"),
    ("AWS/Lambda", "ConcurrentExecutions", "FunctionName"),
    ("AWS/Lambda", "Duration", "FunctionName"),
}
"""As AWS names them: docs.aws.amazon.com, "Available CloudWatch metrics for Amazon SQS", "Lambda function metrics"."""
NOT_BY_MOTO = {"Transactional": {"WriteUnits"}}
"""What DynamoDB reports and moto does not: what a transaction consumes."""


def alarms_of(template: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        name: body["Properties"]
        for name, body in template["Resources"].items()
        if body["Type"] == "AWS::CloudWatch::Alarm"
    }


def metrics_of(widget: Mapping[str, Any]) -> list[list[str]]:
    """Return namespace, name and dimension of each metric of a widget; expressions are none."""
    found = [[part for part in each if isinstance(part, str)] for each in widget["properties"]["metrics"]]
    return [each for each in found if each]


def ours(template: Mapping[str, Any], widgets: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Return which metric of which consumer is shown or watched."""
    shown = {(each[3], each[1]) for widget in widgets for each in metrics_of(widget) if each[0] == METRICS_NAMESPACE}
    watched = {
        (alarm["Dimensions"][0]["Value"], alarm["MetricName"])
        for alarm in alarms_of(template).values()
        if alarm["Namespace"] == METRICS_NAMESPACE
    }
    return shown | watched


@pytest.mark.parametrize("mode", MODES)
def test_whatever_is_shown_or_watched_of_a_consumer_is_what_it_really_writes(
    template: Mapping[str, Any],
    widgets: list[dict[str, Any]],
    consumers: Mapping[str, str],
    capsys: pytest.CaptureFixture[str],
    mode: str,
) -> None:
    [name] = [each for each, its_mode in consumers.items() if its_mode == mode]
    with mock_aws():
        store = DynamoDBStore(create_processed_messages_table(boto3.client("dynamodb")))
        written = emitted(f"{name}", MODES[mode], capsys, store) | NOT_BY_MOTO.get(mode, set())

    assert written <= set(METRICS)
    assert {metric for consumer, metric in ours(template, widgets) if consumer == name} <= written


def test_every_metric_that_is_written_is_shown_for_some_consumer(
    template: Mapping[str, Any], widgets: list[dict[str, Any]]
) -> None:
    assert {metric for _, metric in ours(template, widgets)} == set(METRICS)


def test_only_consumers_that_there_are_are_shown_or_watched(
    template: Mapping[str, Any], widgets: list[dict[str, Any]], consumers: Mapping[str, str]
) -> None:
    assert {consumer for consumer, _ in ours(template, widgets)} == set(consumers)
    outputs = {each["Value"] for name, each in template["Outputs"].items() if name.endswith("ConsumerName")}
    assert outputs == set(consumers)


def test_metrics_of_aws_are_called_what_aws_calls_them(
    template: Mapping[str, Any], widgets: list[dict[str, Any]]
) -> None:
    shown = {tuple(each[:3]) for widget in widgets for each in metrics_of(widget)}
    watched = {
        (alarm["Namespace"], alarm["MetricName"], alarm["Dimensions"][0]["Name"])
        for alarm in alarms_of(template).values()
    }

    assert {each for each in shown | watched if each[0] != METRICS_NAMESPACE} == OF_AWS
    assert {each[2] for each in shown | watched if each[0] == METRICS_NAMESPACE} == {"service"}


# -- the dashboard --------------------------------------------------------------------------------


def test_widgets_stand_side_by_side_and_none_covers_another(widgets: list[dict[str, Any]]) -> None:
    taken = [
        (x, y)
        for widget in widgets
        for x in range(widget["x"], widget["x"] + widget["width"])
        for y in range(widget["y"], widget["y"] + widget["height"])
    ]

    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) == COLUMNS - 1
    assert len(taken) == COLUMNS * (1 + max(y for _, y in taken))


def test_every_widget_says_what_it_shows_and_where(widgets: list[dict[str, Any]]) -> None:
    titles = [widget["properties"]["title"] for widget in widgets]

    assert len(set(titles)) == len(titles)
    assert {widget["type"] for widget in widgets} == {"metric"}
    assert {widget["properties"]["region"] for widget in widgets} == {"<AWS::Region>"}
    assert {widget["properties"]["view"] for widget in widgets} == {"timeSeries"}


def test_expressions_are_made_of_metrics_that_are_there(widgets: list[dict[str, Any]]) -> None:
    expressions = 0
    for widget in widgets:
        options = [each[-1] for each in widget["properties"]["metrics"] if isinstance(each[-1], dict)]
        ids = {each["id"] for each in options if "id" in each}
        for each in options:
            if "expression" in each:
                expressions += 1
                used = set(re.findall(r"\b[a-z]\w*\b", each["expression"]))
                assert used
                assert used < ids
    assert expressions == 3


def test_the_dashboard_names_only_resources_of_the_template(
    template: Mapping[str, Any], widgets: list[dict[str, Any]]
) -> None:
    named = set(re.findall(r"<([^>.]+)(?:\.QueueName)?>", str(widgets)))

    assert named - {"AWS::Region"} <= set(template["Resources"])
    queues = {name for name, body in template["Resources"].items() if body["Type"] == "AWS::SQS::Queue"}
    functions = {name for name, body in template["Resources"].items() if body["Type"] == "AWS::Serverless::Function"}
    assert queues | functions <= named


# -- alarms ---------------------------------------------------------------------------------------


def test_every_alarm_reaches_the_one_topic_and_names_its_section_of_the_runbook(template: Mapping[str, Any]) -> None:
    runbook = (ROOT / "docs/operations.md").read_text(encoding="utf-8")

    for alarm in alarms_of(template).values():
        assert alarm["AlarmActions"] == [{"Ref": "AlarmsTopic"}]
        [section] = re.findall(r"Runbook: (.+)\.$", alarm["AlarmDescription"])
        assert f"\n## {section}\n" in runbook


def test_every_queue_and_function_and_consumer_is_watched(
    template: Mapping[str, Any], consumers: Mapping[str, str]
) -> None:
    kinds = itertools.groupby(
        sorted((alarm["MetricName"], str(alarm["Dimensions"][0]["Value"])) for alarm in alarms_of(template).values()),
        key=lambda each: each[0],
    )
    watched = {metric: len(list(of_metric)) for metric, of_metric in kinds}

    assert watched == {
        "ApproximateNumberOfMessagesVisible": 4,
        "ApproximateAgeOfOldestMessage": 4,
        "Errors": 4,
        "Throttles": 4,
        "REJECTED": 4,
        "DeferredAgain": 4,
        "LEASE_LOST": [*consumers.values()].count("Eager"),
    }


def test_silence_is_never_an_alarm_because_counts_are_written_only_when_there_are_some(
    template: Mapping[str, Any],
) -> None:
    for alarm in alarms_of(template).values():
        assert alarm["TreatMissingData"] == "notBreaching"
        assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
        assert alarm["DatapointsToAlarm"] <= alarm["EvaluationPeriods"]


def test_an_old_message_is_older_than_the_longest_backoff(template: Mapping[str, Any]) -> None:
    parameters = template["Parameters"]

    assert parameters["OldestMessageSeconds"]["Default"] > parameters["BackoffCap"]["Default"]


def test_only_cloudwatch_of_this_account_may_publish_alarms_and_nobody_without_tls(template: Mapping[str, Any]) -> None:
    allow, deny = template["Resources"]["AlarmsTopicPolicy"]["Properties"]["PolicyDocument"]["Statement"]

    assert allow["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert allow["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    assert (deny["Effect"], deny["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
