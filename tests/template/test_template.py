"""What the template must keep true for the layer's promises to hold."""

import re
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from idempotent_consumer.item import ProcessedMessageItem
from idempotent_consumer.settings import (
    BACKOFF_BASE,
    BACKOFF_CAP,
    DEFAULT_MAX_RECEIVE_COUNT,
    DEFAULT_RETENTION,
    LONGEST_TRY_MS,
    LONGEST_WAIT,
    RESERVE_MS,
    RESERVE_SHARE,
    Settings,
)

ROOT = Path(__file__).resolve().parents[2]


def resources_of(template: Mapping[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    found = {name: body for name, body in template["Resources"].items() if body["Type"] == kind}
    assert found, f"the template has no {kind}"
    return found


def mappings_of(template: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        event["Properties"]
        for function in resources_of(template, "AWS::Serverless::Function").values()
        for event in function["Properties"]["Events"].values()
        if event["Type"] == "SQS"
    ]


def source_queues_of(template: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    sources = {mapping["Queue"]["Fn::GetAtt"][0] for mapping in mappings_of(template)}
    return {name: template["Resources"][name]["Properties"] for name in sources}


def default(template: Mapping[str, Any], parameter: str) -> Any:
    return template["Parameters"][parameter]["Default"]


def test_only_the_failed_messages_of_a_batch_come_back(template: Mapping[str, Any]) -> None:
    for mapping in mappings_of(template):
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_concurrency_is_bounded_at_the_queue_and_so_burns_no_receives(template: Mapping[str, Any]) -> None:
    for mapping in mappings_of(template):
        assert mapping["ScalingConfig"] == {"MaximumConcurrency": {"Ref": "MaximumConcurrency"}}
    for function in resources_of(template, "AWS::Serverless::Function").values():
        assert "ReservedConcurrentExecutions" not in function["Properties"]


def test_a_fifo_mapping_has_no_batch_window(template: Mapping[str, Any]) -> None:
    queues = source_queues_of(template)
    windows = {
        mapping["Queue"]["Fn::GetAtt"][0]: "MaximumBatchingWindowInSeconds" in mapping
        for mapping in mappings_of(template)
    }

    assert windows == {name: not queue.get("FifoQueue", False) for name, queue in queues.items()}


def test_dynamodb_forgets_by_the_attribute_that_the_layer_writes(template: Mapping[str, Any]) -> None:
    table = template["Resources"]["ProcessedMessagesTable"]["Properties"]

    assert table["TimeToLiveSpecification"] == {
        "AttributeName": ProcessedMessageItem.expires_at.attr_name,
        "Enabled": True,
    }
    assert table["KeySchema"] == [{"AttributeName": ProcessedMessageItem.id.attr_name, "KeyType": "HASH"}]


def test_processed_messages_outlive_the_stack(template: Mapping[str, Any]) -> None:
    table = template["Resources"]["ProcessedMessagesTable"]

    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_the_layer_reads_its_settings_by_the_names_that_the_template_gives(template: Mapping[str, Any]) -> None:
    given = template["Globals"]["Function"]["Environment"]["Variables"]
    values = {name: str(number) for number, name in enumerate(sorted(given), start=1)}

    settings = Settings.from_environment(values)

    assert set(given) == {
        "BACKOFF_BASE_SECONDS",
        "BACKOFF_CAP_SECONDS",
        "MAX_RECEIVE_COUNT",
        "PROCESSED_MESSAGES_TABLE",
    }
    assert settings.backoff_base.seconds == int(values["BACKOFF_BASE_SECONDS"])
    assert settings.backoff_cap.seconds == int(values["BACKOFF_CAP_SECONDS"])
    assert settings.max_receive_count == int(values["MAX_RECEIVE_COUNT"])
    assert settings.processed_messages_table == values["PROCESSED_MESSAGES_TABLE"]


def test_a_delivery_stays_hidden_for_six_times_the_timeout_and_the_window(template: Mapping[str, Any]) -> None:
    at_least = 6 * default(template, "FunctionTimeout") + default(template, "BatchWindow")

    assert default(template, "VisibilityTimeout") == at_least
    for queue in source_queues_of(template).values():
        assert queue["VisibilityTimeout"] == {"Ref": "VisibilityTimeout"}


def test_the_shortest_function_has_the_time_to_write_a_dead_letter(template: Mapping[str, Any]) -> None:
    shortest_ms = 1_000 * template["Parameters"]["FunctionTimeout"]["MinValue"]

    assert shortest_ms - min(RESERVE_MS, RESERVE_SHARE * shortest_ms) > LONGEST_TRY_MS


def test_sqs_moves_a_message_five_receives_after_the_layer_gives_it_up(template: Mapping[str, Any]) -> None:
    assert default(template, "MaxReceiveCount") == DEFAULT_MAX_RECEIVE_COUNT
    assert default(template, "RedriveReceiveCount") == DEFAULT_MAX_RECEIVE_COUNT + 5
    for queue in source_queues_of(template).values():
        assert queue["RedrivePolicy"]["maxReceiveCount"] == {"Ref": "RedriveReceiveCount"}


def test_each_queue_has_a_dead_letter_queue_that_keeps_messages_longer(template: Mapping[str, Any]) -> None:
    for queue in source_queues_of(template).values():
        target, attribute = queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"]
        dead_letters = template["Resources"][target]["Properties"]

        assert attribute == "Arn"
        assert dead_letters["MessageRetentionPeriod"] > queue["MessageRetentionPeriod"]
        assert dead_letters.get("FifoQueue") == queue.get("FifoQueue")


def test_a_message_is_remembered_for_as_long_as_it_can_come_back(template: Mapping[str, Any]) -> None:
    """It waits in its queue, then in the dead-letter queue, and after a redrive in its queue once more."""
    for queue in source_queues_of(template).values():
        dead_letters = template["Resources"][queue["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]]
        longest = 2 * queue["MessageRetentionPeriod"] + dead_letters["Properties"]["MessageRetentionPeriod"]

        assert timedelta(seconds=longest) <= DEFAULT_RETENTION


def test_every_queue_refuses_plain_http(template: Mapping[str, Any]) -> None:
    statements = {
        policy["Properties"]["Queues"][0]["Ref"]: policy["Properties"]["PolicyDocument"]["Statement"]
        for policy in resources_of(template, "AWS::SQS::QueuePolicy").values()
    }

    assert set(statements) == set(resources_of(template, "AWS::SQS::Queue"))
    for queue, (statement,) in statements.items():
        assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "sqs:*")
        assert statement["Resource"] == {"Fn::GetAtt": [queue, "Arn"]}
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_the_functions_and_the_build_of_their_layer_share_one_python(template: Mapping[str, Any]) -> None:
    layer = template["Resources"]["IdempotentConsumerLayer"]

    assert template["Globals"]["Function"]["Runtime"] == {"Ref": "PythonRuntime"}
    assert layer["Metadata"]["BuildMethod"] == {"Ref": "PythonRuntime"}
    assert layer["Properties"]["CompatibleRuntimes"] == [{"Ref": "PythonRuntime"}]


def test_every_handler_is_where_the_template_says(template: Mapping[str, Any]) -> None:
    for function in resources_of(template, "AWS::Serverless::Function").values():
        properties = function["Properties"]
        module, handler = properties["Handler"].split(".")

        assert f"def {handler}(" in (ROOT / properties["CodeUri"] / f"{module}.py").read_text()


def test_nothing_has_a_physical_name(template: Mapping[str, Any]) -> None:
    """Two stacks of one account never collide, and CloudFormation may replace what it has to."""
    named = {"FunctionName", "LayerName", "LogGroupName", "QueueName", "RoleName", "TableName", "TopicName"}

    for name, resource in template["Resources"].items():
        assert not named & resource.get("Properties", {}).keys(), name


@pytest.mark.parametrize("environment", ["default", "prod"])
def test_what_the_layer_is_built_with_is_what_the_functions_run_on(environment: str) -> None:
    configured = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))[environment]

    runtimes = [
        re.findall(r"PythonRuntime=(\S+)", configured[command]["parameters"]["parameter_overrides"])
        for command in ("build", "deploy")
    ]

    assert runtimes == [["python3.13"]] * 2


def functions_of(template: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    functions = resources_of(template, "AWS::Serverless::Function")
    return {name: body["Properties"] for name, body in functions.items()}


def test_a_queue_feeds_one_function(template: Mapping[str, Any]) -> None:
    """Two would each take, and acknowledge, a random part of its messages."""
    queues = [mapping["Queue"]["Fn::GetAtt"][0] for mapping in mappings_of(template)]

    assert len(set(queues)) == len(queues) == len(functions_of(template))


@pytest.mark.parametrize("part", ["Role", "LoggingConfig", "CodeUri"])
def test_each_function_has_its_own(template: Mapping[str, Any], part: str) -> None:
    parts = [str(function[part]) for function in functions_of(template).values()]

    assert len(set(parts)) == len(parts)


NEEDED = {
    "Transactional": {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:PutItem"},
    "Lazy": {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:PutItem"},
    "Eager": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:DeleteItem"},
    "Natural": set[str](),
}


def test_each_role_has_on_the_table_of_processed_messages_what_its_mode_needs_and_no_more(
    template: Mapping[str, Any],
) -> None:
    for function in functions_of(template).values():
        source = ROOT / function["CodeUri"] / f"{function['Handler'].split('.')[0]}.py"
        [mode] = re.findall(r"mode=(\w+)\(", source.read_text(encoding="utf-8"))
        role = template["Resources"][function["Role"]["Fn::GetAtt"][0]]["Properties"]
        granted = {
            action
            for policy in role["Policies"]
            for statement in policy["PolicyDocument"]["Statement"]
            if "ProcessedMessagesTable" in str(statement["Resource"])
            for action in statement["Action"]
        }

        assert granted == NEEDED[mode], source.name


def test_each_role_may_send_to_the_queues_that_its_function_is_told_of_and_to_no_other(
    template: Mapping[str, Any],
) -> None:
    told, granted = set(), set()
    for name, function in functions_of(template).items():
        role = template["Resources"][function["Role"]["Fn::GetAtt"][0]]["Properties"]
        statements = [each for policy in role["Policies"] for each in policy["PolicyDocument"]["Statement"]]
        variables = function.get("Environment", {}).get("Variables", {})
        told |= {(name, value["Ref"]) for key, value in variables.items() if key.endswith("_QUEUE_URL")}
        granted |= {
            (name, *each["Resource"]["Fn::GetAtt"]) for each in statements if "sqs:SendMessage" in each["Action"]
        }

    assert {(name, queue, "Arn") for name, queue in told} == granted
    assert ("ChargePaymentFunction", "ReceiptsQueue") in told


def test_each_function_knows_its_queue_and_the_queue_of_its_dead_letters(template: Mapping[str, Any]) -> None:
    for function in functions_of(template).values():
        [queue] = [event["Properties"]["Queue"]["Fn::GetAtt"][0] for event in function["Events"].values()]
        redrive = template["Resources"][queue]["Properties"]["RedrivePolicy"]
        variables = function["Environment"]["Variables"]

        assert variables["QUEUE_URL"] == {"Ref": queue}
        assert variables["DEAD_LETTER_QUEUE_URL"] == {"Ref": redrive["deadLetterTargetArn"]["Fn::GetAtt"][0]}


def test_each_role_may_shape_the_redelivery_of_its_own_queue_only(template: Mapping[str, Any]) -> None:
    for function in functions_of(template).values():
        [queue] = [event["Properties"]["Queue"]["Fn::GetAtt"][0] for event in function["Events"].values()]
        role = template["Resources"][function["Role"]["Fn::GetAtt"][0]]["Properties"]
        statements = [each for policy in role["Policies"] for each in policy["PolicyDocument"]["Statement"]]

        shaping = [each["Resource"] for each in statements if "sqs:ChangeMessageVisibility" in each["Action"]]
        assert shaping == [{"Fn::GetAtt": [queue, "Arn"]}]


def test_only_x_ray_which_has_no_resources_is_granted_on_all_of_them(template: Mapping[str, Any]) -> None:
    for role in resources_of(template, "AWS::IAM::Role").values():
        statements = [
            each for policy in role["Properties"]["Policies"] for each in policy["PolicyDocument"]["Statement"]
        ]

        assert [each["Action"] for each in statements if each["Resource"] == "*"] == [
            ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]
        ]


def test_the_backoff_of_the_template_is_the_layers_own(template: Mapping[str, Any]) -> None:
    assert timedelta(seconds=default(template, "BackoffBase")) == BACKOFF_BASE
    assert timedelta(seconds=default(template, "BackoffCap")) == BACKOFF_CAP
    assert timedelta(seconds=template["Parameters"]["BackoffCap"]["MaxValue"]) == LONGEST_WAIT
