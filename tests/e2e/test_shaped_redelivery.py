"""What comes back comes back when that can be of use, over real queues and real function processes."""

import time
from itertools import pairwise

from tests.e2e.deployment import PARAMETERS, PATIENCE_SECONDS, Deployment, eventually, payment
from tools.demo.queues import Queue

TIMEOUT = int(PARAMETERS["FunctionTimeout"])
BASE, CAP, RECEIVES = (int(PARAMETERS[name]) for name in ("BackoffBase", "BackoffCap", "MaxReceiveCount"))
SLACK_SECONDS = 3.0
"""What polling, a cold start and rounding up to whole seconds may add to a wait."""


def test_duplicate_of_a_message_in_hand_returns_once_after_the_lease_and_is_never_dead_lettered(
    deployment: Deployment,
) -> None:
    """By itself the queue would deliver the duplicate again when the test has lost its patience."""
    message = payment()

    with deployment.redelivery(Queue.PAYMENTS, receives=3, after_seconds=2 * int(PATIENCE_SECONDS)):
        began = time.monotonic()
        with deployment.gateway.holding_back_the_answer(message.business_id):
            (first,) = deployment.send(message)
            eventually(lambda: deployment.charges(message.business_id))
            (second,) = deployment.send(message)
            assert eventually(lambda: deployment.outcomes(Queue.PAYMENTS, second)) == ["IN_FLIGHT"]
        assert eventually(lambda: deployment.is_acknowledged(Queue.PAYMENTS, second))
        waited = time.monotonic() - began

    assert waited >= TIMEOUT  # the lease of the first ends when its invocation must
    assert deployment.outcomes(Queue.PAYMENTS, first) == ["PROCESSED"]
    assert deployment.outcomes(Queue.PAYMENTS, second) == ["IN_FLIGHT", "DUPLICATE"]
    assert deployment.charges(message.business_id) == 1
    assert second not in deployment.dead_letters(Queue.PAYMENTS)


def test_failing_deliveries_come_back_after_growing_times_until_they_are_given_up(deployment: Deployment) -> None:
    message = payment()
    deployment.gateway.ledger.unavailable_first[message.business_id] = 100

    (sent,) = deployment.send(message)

    assert eventually(lambda: deployment.is_acknowledged(Queue.PAYMENTS, sent))
    deliveries = deployment.deliveries(Queue.PAYMENTS, sent)
    assert [delivery.outcome for delivery in deliveries] == ["FAILED"] * RECEIVES
    waited = [(later.age_ms - earlier.age_ms) / 1_000 for earlier, later in pairwise(deliveries)]
    for receive, seconds in enumerate(waited):
        longest = min(CAP, BASE * 2**receive)
        assert longest / 2 <= seconds <= longest + SLACK_SECONDS, waited
    assert "GatewayUnavailable" in (deployment.dead_letters(Queue.PAYMENTS)[sent].reason or "")
