"""Dead letters that explain themselves, over real queues, real function processes, and roles that are asked."""

import pytest

from tests.e2e.deployment import Deployment, eventually, order, payment, step
from tools.demo.letters import Letter
from tools.demo.outgoing import Outgoing
from tools.demo.queues import Queue

POISON: dict[str, Outgoing] = {
    "place-order": order("sku-none", quantity=0),
    "charge-payment": payment("p-declined"),
    "track-shipment": step("s-poisoned", "teleported"),
}


@pytest.mark.parametrize("consumer", POISON)
def test_poison_message_is_in_the_dead_letter_queue_after_one_delivery_with_its_reason(
    deployment: Deployment, consumer: str
) -> None:
    poison = POISON[consumer]
    deployment.gateway.ledger.declined.add("p-declined")

    (sent,) = deployment.send(poison)

    (delivery,) = eventually(lambda: deployment.deliveries(poison.queue, sent))
    assert (delivery.outcome, delivery.acknowledged) == ("REJECTED", True)
    assert deployment.dead_letters(poison.queue)[sent] == Letter(poison.queue, sent, consumer, delivery.reason)
    assert delivery.reason


def test_message_that_kills_its_function_is_moved_by_sqs_and_has_no_reason(deployment: Deployment) -> None:
    message = payment()

    with deployment.redelivery(Queue.PAYMENTS, receives=1, after_seconds=2):
        with deployment.gateway.holding_back_the_answer(message.business_id):
            (sent,) = deployment.send(message)
            eventually(lambda: deployment.charges(message.business_id))
            assert deployment.kill(Queue.PAYMENTS) >= 1
        letter = eventually(lambda: deployment.dead_letters(Queue.PAYMENTS).get(sent))

    assert letter == Letter(Queue.PAYMENTS, sent)
    assert deployment.deliveries(Queue.PAYMENTS, sent) == []
