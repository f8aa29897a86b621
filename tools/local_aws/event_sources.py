"""Make the queues' pollers work on MiniStack, which leaves a number that came from a parameter as text.

CloudFormation turns the value of a `Type: Number` parameter into a number where a property wants one. MiniStack does
not do so for `ScalingConfig.MaximumConcurrency`, and its poller of all queues stops at the first such mapping. So each
mapping is told its own setting again, as a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient


def restate_concurrency(functions: LambdaClient) -> None:
    """Set the maximum concurrency of each event source mapping to what it is already."""
    for page in functions.get_paginator("list_event_source_mappings").paginate():
        for mapping in page["EventSourceMappings"]:
            if limit := mapping.get("ScalingConfig", {}).get("MaximumConcurrency"):
                functions.update_event_source_mapping(
                    UUID=mapping["UUID"], ScalingConfig={"MaximumConcurrency": int(limit)}
                )
