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


def test_group_goes_on_when_its_poison_is_in_the_dead_letter_queue(deployment: Deployment) -> None:
    poisoned, other = (f"s-{uuid4().hex[:8]}" for _ in range(2))

    with deployment.one_batch(Queue.SHIPMENTS):
        poison, follower, elsewhere = deployment.send(
            step(poisoned, "teleported"), step(poisoned, "packed"), step(other, "packed")
        )

    assert eventually(lambda: deployment.is_acknowledged(Queue.SHIPMENTS, elsewhere))
    assert eventually(lambda: deployment.is_acknowledged(Queue.SHIPMENTS, follower))
    assert deployment.outcomes(Queue.SHIPMENTS, poison) == ["REJECTED"]
    assert deployment.outcomes(Queue.SHIPMENTS, follower) == ["PROCESSED"]
    assert deployment.outcomes(Queue.SHIPMENTS, elsewhere) == ["PROCESSED"]
