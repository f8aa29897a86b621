"""Sample stock for the SKUs of orders, so that `place_order` has something to take in an AWS that starts empty."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

QUANTITY = 100


def ordered_skus(event: Mapping[str, Any]) -> list[str]:
    """Return each SKU that the event's orders name. Poison names none, and is left to the function."""
    return sorted({sku for order in _orders(event) for sku in _skus(order)})


def put_in_stock(dynamodb: DynamoDBClient, table: str, skus: Iterable[str]) -> None:
    """Store the sample quantity of each SKU."""
    for sku in skus:
        dynamodb.put_item(TableName=table, Item={"sku": {"S": sku}, "quantity": {"N": str(QUANTITY)}})


def _orders(event: Mapping[str, Any]) -> Iterator[object]:
    match event:
        case {"Records": [*records]}:
            for record in records:
                match record:
                    case {"body": str(body)}:
                        yield _json(body)


def _skus(order: object) -> Iterator[str]:
    match order:
        case {"lines": [*lines]}:
            for line in lines:
                match line:
                    case {"sku": str(sku)} if sku:
                        yield sku


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
