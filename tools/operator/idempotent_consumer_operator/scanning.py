"""Find claims whose lease has ended: a scan, because nothing but the key is indexed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from idempotent_consumer.store import Status
from idempotent_consumer_operator.errors import translated
from idempotent_consumer_operator.records import Record, may_be_taken_before_ms

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_READ_UNIT_BYTES = 4_096
_EVENTUALLY = 0.5  # units that an eventually consistent read takes for each 4 kilobytes


@dataclass(frozen=True, slots=True)
class Estimate:
    """
    Say what a scan will read; DynamoDB counts the table every six hours.

    Attributes:
        items: in the table.
        size_bytes: of the table.
    """

    items: int
    size_bytes: int

    @property
    def read_units(self) -> float:
        """Return the units that the scan consumes: of all that it reads, not only of what it finds."""
        return max(1, -(-self.size_bytes // _READ_UNIT_BYTES)) * _EVENTUALLY


def estimate(dynamodb: DynamoDBClient, table: str) -> Estimate:
    """Ask how large the table is."""
    with translated():
        described = dynamodb.describe_table(TableName=table)["Table"]
    return Estimate(described.get("ItemCount", 0), described.get("TableSizeBytes", 0))


class StuckClaims:
    """
    Scan the table for claims that nobody holds any more and nobody has taken over.

    Args:
        dynamodb: boto3's client of DynamoDB.
        table: its name.
        now_ms: the time, in milliseconds since 1970.
        consumer: only this one's; None for all.
    """

    def __init__(self, dynamodb: DynamoDBClient, table: str, now_ms: int, consumer: str | None = None) -> None:
        self._dynamodb = dynamodb
        self._now_ms = now_ms
        self._request = _request(table, now_ms, consumer)
        self.read_units = 0.0
        self.scanned = 0

    def __iter__(self) -> Iterator[Record]:
        """Yield them, in no order."""
        with translated():
            for page in self._dynamodb.get_paginator("scan").paginate(**self._request):
                self.read_units += page.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0)
                self.scanned += page.get("ScannedCount", 0)
                for item in page.get("Items", []):
                    yield Record.of(item, self._now_ms)


def _request(table: str, now_ms: int, consumer: str | None) -> dict[str, Any]:
    condition = "#status = :claimed AND #lease < :ended"
    names = {"#status": "status", "#lease": "lease_until"}
    values: dict[str, Any] = {
        ":claimed": {"S": Status.IN_PROGRESS},
        ":ended": {"N": str(may_be_taken_before_ms(now_ms))},
    }
    if consumer is not None:
        condition += " AND begins_with(#id, :consumer)"
        names["#id"] = "id"
        values[":consumer"] = {"S": f"{consumer}#"}
    return {
        "TableName": table,
        "FilterExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
        "ReturnConsumedCapacity": "TOTAL",
    }
