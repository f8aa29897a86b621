"""Let a policy that is right for AWS pass on MiniStack, which knows batch calls by their API name only.

AWS covers a batch call by the permission of the single call: `sqs:SendMessage` allows SendMessageBatch, and
`dynamodb:PartiQLInsert` an `INSERT` within BatchExecuteStatement. MiniStack asks for an action named like the
call. The template must not carry such names, so each deployed role gets one more inline policy with exactly the
aliases of what it has been granted (or denied) already.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from tools.local_aws.clients import Clients

POLICY_NAME = "local-aws-batch-aliases"

Statement = Mapping[str, Any]

SAME_RESOURCE = {
    "sqs:SendMessage": "sqs:SendMessageBatch",
    "sqs:DeleteMessage": "sqs:DeleteMessageBatch",
    "sqs:ChangeMessageVisibility": "sqs:ChangeMessageVisibilityBatch",
    "sns:Publish": "sns:PublishBatch",
}
"""Batch calls that MiniStack checks against the resource of the single call."""

ANY_RESOURCE = {
    f"dynamodb:PartiQL{verb}": "dynamodb:BatchExecuteStatement" for verb in ("Select", "Insert", "Update", "Delete")
}
"""Batch calls that name their tables in a statement's text only: MiniStack checks them against `*`."""


def batch_aliases(statements: Iterable[Statement]) -> list[dict[str, Any]]:
    """
    Derive the statements that MiniStack needs beside those that a role has.

    Args:
        statements: The statements of all policies of one role.

    Returns:
        One statement for each that needs aliases, with its effect and condition; none where a wildcard covers
        the alias already.

    Raises:
        ValueError: A statement says what it does not mean (`NotAction`, `NotResource`), so nothing exact follows.
    """
    derived: list[dict[str, Any]] = []
    for statement in statements:
        if "NotAction" in statement or "NotResource" in statement:
            raise ValueError(f"NotAction and NotResource are not understood here: {json.dumps(dict(statement))}")
        patterns = _as_list(statement["Action"])
        for table, resource in ((SAME_RESOURCE, statement["Resource"]), (ANY_RESOURCE, "*")):
            if actions := _missing_aliases(patterns, table):
                derived.append({**statement, "Action": actions, "Resource": resource})
                derived[-1].pop("Sid", None)
    return [statement for at, statement in enumerate(derived) if statement not in derived[:at]]


def add_batch_aliases(clients: Clients, stack_name: str) -> dict[str, list[dict[str, Any]]]:
    """
    Give the role of each function of a stack its aliases.

    Returns:
        What was added, by role name; a role that needs none is given nothing and is not in there.
    """
    added: dict[str, list[dict[str, Any]]] = {}
    for role in function_roles(clients, stack_name):
        if statements := batch_aliases(_granted_statements(clients, role)):
            document = {"Version": "2012-10-17", "Statement": statements}
            clients.iam.put_role_policy(RoleName=role, PolicyName=POLICY_NAME, PolicyDocument=json.dumps(document))
            added[role] = statements
    return added


def function_roles(clients: Clients, stack_name: str) -> list[str]:
    """Return the names of the roles that a stack's functions run with."""
    resources = clients.cloudformation.describe_stack_resources(StackName=stack_name)["StackResources"]
    functions = [each for each in resources if each["ResourceType"] == "AWS::Lambda::Function"]
    arns = {
        clients.functions.get_function_configuration(FunctionName=each["PhysicalResourceId"])["Role"]
        for each in functions
    }
    return sorted(arn.rsplit("/", 1)[-1] for arn in arns)


def _granted_statements(clients: Clients, role: str) -> list[Statement]:
    inline = [
        clients.iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        for name in clients.iam.list_role_policies(RoleName=role)["PolicyNames"]
        if name != POLICY_NAME
    ]
    managed = []
    for attached in clients.iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
        arn = attached["PolicyArn"]
        version = clients.iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
        answer = clients.iam.get_policy_version(PolicyArn=arn, VersionId=version)
        managed.append(answer["PolicyVersion"]["Document"])
    # botocore has decoded the documents, whatever the type stubs say of the undecoded form.
    documents = cast("list[dict[str, Any]]", [*inline, *managed])
    return [statement for document in documents for statement in _as_list(document["Statement"])]


def _missing_aliases(patterns: Sequence[str], table: Mapping[str, str]) -> list[str]:
    covered = {alias for alias in table.values() if _matches(alias, patterns)}
    return sorted({alias for action, alias in table.items() if _matches(action, patterns) and alias not in covered})


def _matches(action: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
