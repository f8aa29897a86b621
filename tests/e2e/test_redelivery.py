"""Messages that fail, come again, or meet a crash, over real queues and real function processes."""

from tests.e2e.deployment import Deployment, eventually, order, payment
from tools.demo.queues import Queue


def test_failed_message_is_delivered_again_and_then_handled_once(deployment: Deployment) -> None:
    message = payment()
    deployment.gateway.ledger.unavailable_first[message.business_id] = 1

    (sent,) = deployment.send(message)

    assert eventually(lambda: deployment.is_acknowledged(Queue.PAYMENTS, sent))
    assert deployment.outcomes(Queue.PAYMENTS, sent) == ["FAILED", "PROCESSED"]
    assert deployment.charges(message.business_id) == 1


def test_neighbours_of_a_failed_message_are_not_handled_again(deployment: Deployment) -> None:
    first, failing, last = payment(), payment(), payment()
    deployment.gateway.ledger.unavailable_first[failing.business_id] = 1

    with deployment.one_batch(Queue.PAYMENTS):
        before, between, after = deployment.send(first, failing, last)

    assert eventually(lambda: deployment.is_acknowledged(Queue.PAYMENTS, between))
    assert deployment.outcomes(Queue.PAYMENTS, between) == ["FAILED", "PROCESSED"]
    assert deployment.outcomes(Queue.PAYMENTS, before) == ["PROCESSED"]
    assert deployment.outcomes(Queue.PAYMENTS, after) == ["PROCESSED"]
    assert [len(deployment.gateway.ledger.attempts(each.business_id)) for each in (first, failing, last)] == [1, 2, 1]


def test_message_sent_three_times_in_one_batch_and_again_later_has_one_effect(deployment: Deployment) -> None:
    deployment.observer.load_stock({"sku-thrice": 10})
    message = order("sku-thrice", quantity=3)

    with deployment.one_batch(Queue.ORDERS):
        together = deployment.send(message, message, message)
    assert eventually(lambda: all(deployment.is_acknowledged(Queue.ORDERS, each) for each in together))
    (later,) = deployment.send(message)

    assert eventually(lambda: deployment.outcomes(Queue.ORDERS, later)) == ["DUPLICATE"]
    assert deployment.observer.stock()["sku-thrice"] == 7
    assert deployment.observer.orders()[message.business_id].status == "PLACED"


def test_killed_function_leaves_no_lost_and_no_double_charge(deployment: Deployment) -> None:
    message = payment()

    with deployment.gateway.holding_back_the_answer(message.business_id):
        (sent,) = deployment.send(message)
        eventually(lambda: deployment.charges(message.business_id))  # charged, but the function does not know
        assert deployment.kill(Queue.PAYMENTS) >= 1

    assert eventually(lambda: deployment.is_acknowledged(Queue.PAYMENTS, sent))
    assert deployment.outcomes(Queue.PAYMENTS, sent)[-1] == "PROCESSED"
    attempts = deployment.gateway.ledger.attempts(message.business_id)
    assert len(attempts) == 2
    assert len({attempt.idempotency_key for attempt in attempts}) == 1
    assert deployment.charges(message.business_id) == 1
    assert sent not in deployment.dead_letters(Queue.PAYMENTS)
