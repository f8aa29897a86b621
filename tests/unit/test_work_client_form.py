"""What a unit of work refuses of requests in the form of boto3's client."""

from typing import Any

import pytest
from boto3.dynamodb.types import Binary

from idempotent_consumer.errors import WorkError
from idempotent_consumer.testing import recorded_work
from idempotent_consumer.work import UnitOfWork

KEY = {"id": {"S": "o-1"}}
COMPLETE: dict[str, dict[str, Any]] = {
    "put_item": {"TableName": "orders", "Item": KEY},
    "update_item": {"TableName": "orders", "Key": KEY, "UpdateExpression": "REMOVE a"},
    "delete_item": {"TableName": "orders", "Key": KEY},
    "check_item": {"TableName": "orders", "Key": KEY, "ConditionExpression": "attribute_exists(id)"},
}
EXPRESSIONS: dict[str, Any] = {
    "ConditionExpression": "#n = :v",
    "ExpressionAttributeNames": {"#n": "name"},
    "ExpressionAttributeValues": {":v": {"N": "1"}},
}
REQUIRED = [(call, name) for call, request in COMPLETE.items() for name in request]


def take(call: str, **request: Any) -> UnitOfWork:
    work = recorded_work()
    getattr(work, call)(**request)
    return work


@pytest.mark.parametrize("call", COMPLETE)
def test_a_complete_request_is_taken_as_it_is(call: str) -> None:
    request = COMPLETE[call] | EXPRESSIONS

    [write] = take(call, **request).writes

    assert write.request == request | {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


@pytest.mark.parametrize(("call", "missing"), REQUIRED)
def test_what_a_request_lacks_is_named(call: str, missing: str) -> None:
    with pytest.raises(WorkError, match=f"lacks {missing}"):
        take(call, **{name: value for name, value in COMPLETE[call].items() if name != missing})


@pytest.mark.parametrize("call", COMPLETE)
def test_everything_that_a_request_lacks_is_named_at_once(call: str) -> None:
    with pytest.raises(WorkError, match=f"lacks {', '.join(sorted(COMPLETE[call]))}$"):
        take(call)


@pytest.mark.parametrize("call", COMPLETE)
@pytest.mark.parametrize("unknown", ["ReturnValues", "Expected", "ConditionalOperator", "tablename", "Condition"])
def test_what_a_transaction_does_not_take_is_named(call: str, unknown: str) -> None:
    with pytest.raises(WorkError, match=f"does not take {unknown}"):
        take(call, **COMPLETE[call], **{unknown: "x"})


@pytest.mark.parametrize(("call", "unknown"), [("put_item", "Key"), ("delete_item", "Item"), ("check_item", "Item")])
def test_a_parameter_of_another_operation_is_not_taken(call: str, unknown: str) -> None:
    with pytest.raises(WorkError, match=f"does not take {unknown}"):
        take(call, **COMPLETE[call], **{unknown: KEY})


TYPED = [
    {"S": ""},
    {"N": "-1.5e3"},
    {"N": "1" + 50 * "0"},
    {"N": "0.1" + 40 * "0"},
    {"N": "0"},
    {"N": "1" * 38},
    {"B": b"\x00"},
    {"BOOL": False},
    {"NULL": True},
    {"SS": ["a"]},
    {"NS": ["1"]},
    {"BS": [b"a"]},
    {"L": []},
    {"L": [{"S": "a"}, {"M": {}}]},
    {"M": {"a": {"L": [{"N": "1"}]}}},
]


@pytest.mark.parametrize("value", TYPED)
def test_every_type_of_dynamodb_is_taken(value: object) -> None:
    [write] = take("put_item", TableName="orders", Item=KEY | {"a": value}).writes

    assert write.request["Item"]["a"] == value


@pytest.mark.parametrize("value", ["a", 1, 1.5, True, None, b"a", [], ["S", "a"], {}, {"a": "b"}, {"X": "a"}])
@pytest.mark.parametrize(
    ("call", "part"),
    [("put_item", "Item"), ("update_item", "Key"), ("delete_item", "Key"), ("check_item", "ExpressionAttributeValues")],
)
def test_a_value_that_does_not_say_its_type_is_refused_at_the_call(call: str, part: str, value: object) -> None:
    with pytest.raises(WorkError, match=f"{part}: .* the form of boto3's client"):
        take(call, **COMPLETE[call] | {part: {"id": value}})


MISTYPED = [
    {"S": 1},
    {"S": None},
    {"s": "a"},
    {"S": "a", "N": "1"},
    {"N": 1},
    {"N": True},
    {"N": "one"},
    {"N": ""},
    {"N": "NaN"},
    {"N": "1" * 39},
    {"N": "1_000"},
    {"N": " 1 "},
    {"N": "\u0661"},
    {"N": "1e126"},
    {"B": 1},
    {"B": Binary(b"a")},  # boto3's resources know it, its client does not
    {"BOOL": "true"},
    {"NULL": "true"},
    {"NULL": False},
    {"SS": "text"},
    {"SS": [1]},
    {"SS": []},
    {"NS": [1]},
    {"L": {}},
    {"L": ["a"]},
    {"L": [{"S": 1}]},
    {"M": []},
    {"M": {"a": 1}},
    {"M": {"a": {"S": 1}}},
]


@pytest.mark.parametrize("value", MISTYPED)
def test_a_value_that_is_not_of_the_type_it_says_is_refused_at_the_call(value: object) -> None:
    with pytest.raises(WorkError, match=r"Item: a is .* the form of boto3's client"):
        take("put_item", TableName="orders", Item=KEY | {"a": value})


@pytest.mark.parametrize("table_name", [None, ""])
def test_a_table_whose_name_was_not_configured_is_refused_at_the_call(table_name: str | None) -> None:
    with pytest.raises(WorkError, match="TableName"):
        take("delete_item", TableName=table_name, Key=KEY)


def test_a_key_without_attributes_is_refused_at_the_call() -> None:
    with pytest.raises(WorkError, match="Key"):
        take("delete_item", TableName="orders", Key={})


@pytest.mark.parametrize("values", [None, "text", 1, [], [{"S": "a"}]])
@pytest.mark.parametrize(("call", "part"), [("put_item", "Item"), ("delete_item", "Key")])
def test_values_without_names_are_refused_at_the_call(call: str, part: str, values: object) -> None:
    with pytest.raises(WorkError, match=part):
        take(call, **COMPLETE[call] | {part: values})
