"""Deliveries as the functions' structured log lines tell them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

DELIVERY_LINES = '{ $.message = "delivery" }'
"""The filter pattern that finds them, in CloudWatch Logs, too."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """
    Hold what became of one arrival of a message.

    Attributes:
        age_ms: time since the message was sent, in milliseconds.
    """

    sqs_message_id: str
    message_id: str | None
    outcome: str
    acknowledged: bool
    reason: str | None
    age_ms: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """
    Hold the counts of a queue's deliveries.

    Attributes:
        deliveries: all arrivals.
        handled: those whose work was done.
        duplicates: those that were found to be done already.
        retried: arrivals of an SQS message after its first one.
    """

    deliveries: int
    handled: int
    duplicates: int
    retried: int

    @classmethod
    def of(cls, deliveries: Sequence[Delivery]) -> Totals:
        """Count deliveries."""
        return cls(
            deliveries=len(deliveries),
            handled=sum(delivery.outcome == "PROCESSED" for delivery in deliveries),
            duplicates=sum(delivery.outcome == "DUPLICATE" for delivery in deliveries),
            retried=len(deliveries) - len({delivery.sqs_message_id for delivery in deliveries}),
        )


def read_deliveries(logs: CloudWatchLogsClient, log_group_name: str) -> list[Delivery]:
    """Read all deliveries that a function has logged so far."""
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=log_group_name, filterPattern=DELIVERY_LINES)
    return parse_deliveries(event["message"] for page in pages for event in page["events"])


def parse_deliveries(lines: Iterable[str]) -> list[Delivery]:
    """Take the deliveries out of log lines, and leave the rest."""
    deliveries = []
    for line in lines:
        try:
            fields = json.loads(line)
        except ValueError:
            continue  # START, END and REPORT are no JSON
        if isinstance(fields, dict) and fields.get("message") == "delivery":
            deliveries.append(
                Delivery(
                    sqs_message_id=fields["sqs_message_id"],
                    message_id=fields.get("message_id"),
                    outcome=fields["outcome"],
                    acknowledged=fields["acknowledged"],
                    reason=fields.get("reason"),
                    age_ms=fields.get("age_ms", 0),
                )
            )
    return deliveries
