"""
Check writes in the form of boto3's client before they are taken.

The store's client does not check its parameters (PynamoDB switches that off), and a handler should learn of a wrong one
at the call, not from a transaction that was refused after it had returned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from idempotent_consumer.digits import exact
from idempotent_consumer.errors import WorkError

_REQUIRED = {
    "Put": frozenset({"TableName", "Item"}),
    "Update": frozenset({"TableName", "Key", "UpdateExpression"}),
    "Delete": frozenset({"TableName", "Key"}),
    "ConditionCheck": frozenset({"TableName", "Key", "ConditionExpression"}),
}
_OPTIONAL = frozenset(
    {
        "ConditionExpression",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
        "ReturnValuesOnConditionCheckFailure",  # the item is always asked for
    }
)
_KEY_TYPES = {"S", "N", "B"}
_TEXTS = ("TableName", "ConditionExpression", "UpdateExpression")
_TYPED = ("Item", "Key", "ExpressionAttributeValues")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MOST_DIGITS = 38  # of a DynamoDB number, whose magnitude lies between 1e-130 and 1e126


def check_client_form(operation: str, request: Mapping[str, Any]) -> None:
    """
    Make sure that DynamoDB can read a write.

    Args:
        operation: `Put`, `Update`, `Delete` or `ConditionCheck`.
        request: its parameters, as for TransactWriteItems.

    Raises:
        WorkError: naming the parameter that is missing, unknown or wrong.
    """
    required = _REQUIRED[operation]
    if missing := required - request.keys():
        raise WorkError(f"{operation} lacks {_listed(missing)}")
    if unknown := request.keys() - required - _OPTIONAL:
        raise WorkError(f"{operation} in a transaction does not take {_listed(unknown)}")
    for name in _TEXTS:
        if name in request and not (_is_text(request[name]) and request[name]):
            raise WorkError(f"{operation}: {name} is {request[name]!r:.60}, not a text that says something")
    check_values(operation, request)


def check_values(operation: str, request: Mapping[str, Any]) -> None:
    """
    Make sure that every value of a write says its type, and is of it.

    Args:
        operation: `Put`, `Update`, `Delete` or `ConditionCheck`.
        request: its parameters, as for TransactWriteItems.

    Raises:
        WorkError: naming the value that does not.
    """
    for name in _TYPED:
        if name in request:
            _check_members(f"{operation}: {name}", request[name])
    for name, value in request.get("Key", {}).items():
        if not (value.keys() <= _KEY_TYPES and all(value.values())):
            raise WorkError(f"{operation}: {name} is {value!r:.60}; a key is a text, a number or bytes, and not empty")


def _check_members(where: str, values: object) -> None:
    if not isinstance(values, Mapping) or not values:
        raise WorkError(f"{where} is {values!r:.60}, not an object with members")
    for name, value in values.items():
        if not _is_typed(value):
            raise WorkError(
                f"{where}: {name} is {value!r:.60}; the form of boto3's client has one type for each value, such as "
                '{"S": "text"}, {"N": "1.5"} or {"BOOL": True}'
            )


def _is_typed(value: object) -> bool:
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, content),) = value.items()
    return kind in _CONTENTS and _CONTENTS[kind](content)


def _is_text(content: object) -> bool:
    return isinstance(content, str)


def _is_number(content: object) -> bool:
    if not isinstance(content, str) or not _NUMBER.fullmatch(content):
        return False
    number = exact(content)
    return len(number.as_tuple().digits) <= _MOST_DIGITS and (not number or -130 <= number.adjusted() <= 125)


def _is_binary(content: object) -> bool:
    return isinstance(content, (bytes, bytearray))


def _each(is_member: Callable[[object], bool], *, may_be_empty: bool = False) -> Callable[[object], bool]:
    def are_members(content: object) -> bool:
        is_collection = isinstance(content, (list, tuple, set, frozenset)) and (may_be_empty or bool(content))
        return is_collection and all(map(is_member, content))  # type: ignore[call-overload]

    return are_members


_CONTENTS: dict[object, Callable[[object], bool]] = {
    "S": _is_text,
    "N": _is_number,
    "B": _is_binary,
    "BOOL": lambda content: isinstance(content, bool),
    "NULL": lambda content: content is True,
    "SS": _each(_is_text),
    "NS": _each(_is_number),
    "BS": _each(_is_binary),
    "L": _each(_is_typed, may_be_empty=True),
    "M": lambda content: isinstance(content, dict) and all(map(_is_typed, content.values())),
}


def _listed(names: frozenset[str] | set[str]) -> str:
    return ", ".join(sorted(names))
