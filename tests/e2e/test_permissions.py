"""Each function lives on its own role, and that role is really asked."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.deployment import Deployment, eventually, order, payment, receipt, step
from tools.demo.outgoing import Outgoing
from tools.demo.queues import Queue
from tools.local_aws.role_aliases import POLICY_NAME, batch_aliases

MESSAGES: dict[Queue, Callable[[], Outgoing]] = {
    Queue.ORDERS: lambda: order("sku-permitted"),
    Queue.PAYMENTS: payment,
    Queue.RECEIPTS: receipt,
    Queue.SHIPMENTS: lambda: step("s-permitted", "packed"),
}


@pytest.mark.parametrize("queue", list(Queue))
def test_function_does_its_work_with_its_own_role_only(deployment: Deployment, queue: Queue) -> None:
    deployment.observer.load_stock({"sku-permitted": 10})
    iam, role = deployment.stack.clients.iam, deployment.role_of(queue)

    (sent,) = deployment.send(MESSAGES[queue]())

    assert eventually(lambda: deployment.outcomes(queue, sent)) == ["PROCESSED"]
    assert role not in {deployment.role_of(other) for other in Queue if other != queue}
    assert iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"] == []


@pytest.mark.parametrize("queue", list(Queue))
def test_role_has_beside_its_own_policy_only_the_batch_aliases_of_that(deployment: Deployment, queue: Queue) -> None:
    iam, role = deployment.stack.clients.iam, deployment.role_of(queue)

    documents: dict[str, Any] = {
        name: iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        for name in iam.list_role_policies(RoleName=role)["PolicyNames"]
    }

    aliases = documents.pop(POLICY_NAME)
    (own,) = documents.values()
    assert aliases == {"Version": "2012-10-17", "Statement": batch_aliases(own["Statement"])}


def test_function_whose_grants_are_taken_away_fails_until_it_has_them_again(deployment: Deployment) -> None:
    message = receipt()

    with deployment.without_grants(Queue.RECEIPTS):
        (sent,) = deployment.send(message)
        (refused,) = eventually(lambda: deployment.deliveries(Queue.RECEIPTS, sent))

    assert refused.outcome == "FAILED"
    assert "AccessDenied" in (refused.reason or "")
    assert eventually(lambda: deployment.is_acknowledged(Queue.RECEIPTS, sent))
