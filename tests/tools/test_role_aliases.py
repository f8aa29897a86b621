"""The local roles get exactly what AWS would have let them do anyway."""

from pathlib import Path

import pytest

from tools.local_aws.role_aliases import batch_aliases
from tools.template import Template

ROOT = Path(__file__).resolve().parents[2]
QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders"
TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/processed"


def allow(actions: str | list[str], resource: str = QUEUE) -> dict[str, object]:
    return {"Effect": "Allow", "Action": actions, "Resource": resource}


@pytest.mark.parametrize(
    ("granted", "alias"),
    [
        ("sqs:SendMessage", "sqs:SendMessageBatch"),
        ("sqs:DeleteMessage", "sqs:DeleteMessageBatch"),
        ("sqs:ChangeMessageVisibility", "sqs:ChangeMessageVisibilityBatch"),
        ("sns:Publish", "sns:PublishBatch"),
    ],
)
def test_single_call_brings_its_batch_call_on_the_same_resource(granted: str, alias: str) -> None:
    assert batch_aliases([allow(granted)]) == [allow([alias])]


@pytest.mark.parametrize("verb", ["Select", "Insert", "Update", "Delete"])
def test_partiql_grant_brings_statement_batches_on_any_resource(verb: str) -> None:
    assert batch_aliases([allow([f"dynamodb:PartiQL{verb}"], TABLE)]) == [
        allow(["dynamodb:BatchExecuteStatement"], "*")
    ]


def test_several_partiql_grants_bring_one_alias() -> None:
    statements = [allow(["dynamodb:PartiQLInsert"], TABLE), allow(["dynamodb:PartiQLUpdate"], TABLE)]

    assert batch_aliases(statements) == [allow(["dynamodb:BatchExecuteStatement"], "*")]


def test_calls_that_are_batches_by_themselves_bring_nothing() -> None:
    granted = ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:ConditionCheckItem"]

    assert batch_aliases([allow(granted, TABLE), allow(["sqs:ReceiveMessage", "logs:PutLogEvents"])]) == []


def test_mixed_statement_brings_the_aliases_of_what_it_grants_and_no_more() -> None:
    statement = allow(["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:SendMessage"])

    assert batch_aliases([statement]) == [allow(["sqs:DeleteMessageBatch", "sqs:SendMessageBatch"])]


def test_wildcard_that_covers_the_alias_already_brings_nothing() -> None:
    assert batch_aliases([allow("sqs:*"), allow(["sqs:Send*", "SNS:publish*"]), allow("*", "*")]) == []


def test_wildcard_that_covers_the_single_call_only_brings_the_alias() -> None:
    assert batch_aliases([allow("sqs:*Message")]) == [allow(["sqs:DeleteMessageBatch", "sqs:SendMessageBatch"])]


def test_action_names_are_read_in_any_case() -> None:
    assert batch_aliases([allow("SQS:sendmessage")]) == [allow(["sqs:SendMessageBatch"])]


def test_condition_and_denial_are_carried_over_but_not_the_statement_id() -> None:
    condition = {"StringEquals": {"aws:PrincipalTag/team": "orders"}}
    statement = {"Sid": "Refuse", "Effect": "Deny", "Action": "sns:Publish", "Resource": "*", "Condition": condition}

    assert batch_aliases([statement]) == [
        {"Effect": "Deny", "Action": ["sns:PublishBatch"], "Resource": "*", "Condition": condition}
    ]


@pytest.mark.parametrize("inverted", [{"NotAction": "sqs:SendMessage", "Resource": "*"}, {"NotResource": QUEUE}])
def test_inverted_statement_is_refused_since_nothing_exact_follows_from_it(inverted: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="NotAction and NotResource"):
        batch_aliases([{"Effect": "Allow", "Action": "sqs:SendMessage", **inverted}])


def test_every_role_of_the_template_may_in_batches_what_it_may_one_by_one() -> None:
    resources = Template.read(ROOT / "template.yaml").resources
    functions = [body["Properties"] for body in resources.values() if body["Type"] == "AWS::Serverless::Function"]

    for function in functions:
        (policy,) = resources[function["Role"]["Fn::GetAtt"][0]]["Properties"]["Policies"]
        (queue,) = (event["Properties"]["Queue"] for event in function["Events"].values())
        dead_letters = {"Fn::GetAtt": [function["Environment"]["Variables"]["DEAD_LETTER_QUEUE_URL"]["Ref"], "Arn"]}
        aliases = batch_aliases(policy["PolicyDocument"]["Statement"])

        assert {
            "Effect": "Allow",
            "Action": ["sqs:ChangeMessageVisibilityBatch", "sqs:DeleteMessageBatch"],
            "Resource": queue,
        } in aliases
        assert {"Effect": "Allow", "Action": ["sqs:SendMessageBatch"], "Resource": dead_letters} in aliases
    assert len(functions) == 4
