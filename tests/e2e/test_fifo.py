"""FIFO groups over a real FIFO queue."""

from uuid import uuid4

from tests.e2e.deployment import Deployment, eventually, step
from tools.demo.queues import Queue

STEPS = ["packed", "shipped", "delivered"]


def test_order_of_a_group_is_kept_when_its_first_step_fails_once(deployment: Deployment) -> None:
    shipment_id = f"s-{uuid4().hex[:8]}"

    with deployment.without_grants(Queue.SHIPMENTS):
        with deployment.one_batch(Queue.SHIPMENTS):
            first, *followers = deployment.send(*(step(shipment_id, name) for name in STEPS))
        assert eventually(lambda: deployment.outcomes(Queue.SHIPMENTS, first)) == ["FAILED"]

    assert eventually(lambda: deployment.is_acknowledged(Queue.SHIPMENTS, followers[-1]))
    handled = [
        delivery.sqs_message_id
        for delivery in deployment.deliveries(Queue.SHIPMENTS, first, *followers)
        if delivery.outcome == "PROCESSED"
    ]
    assert handled == [first, *followers]
    assert deployment.observer.histories()[shipment_id] == STEPS


def test_groups_do_not_wait_for_each_other(deployment: Deployment) -> None:
    stuck, going = (f"s-{uuid4().hex[:8]}" for _ in range(2))

    with deployment.one_batch(Queue.SHIPMENTS):
        poison, follower, other = deployment.send(
            step(stuck, "teleported"), step(stuck, "packed"), step(going, "packed")
        )

    assert eventually(lambda: deployment.is_acknowledged(Queue.SHIPMENTS, other))
    assert deployment.outcomes(Queue.SHIPMENTS, other) == ["PROCESSED"]
    assert deployment.outcomes(Queue.SHIPMENTS, poison)[0] == "REJECTED"
    assert deployment.outcomes(Queue.SHIPMENTS, follower)[0] == "DEFERRED"
