"""The operator's command finds its way in a deployed application, and mends what is broken there."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.e2e.deployment import Deployment, eventually, payment
from tools.demo.queues import Queue
from tools.local_aws import STACK_NAME

COMMAND = Path(sys.executable).with_name("idempotent-consumer")


def operate(deployment: Deployment, *arguments: str) -> "tuple[int, Any]":
    """Run the command on the deployed stack, and return its exit code and its answer."""
    environment = {"PATH": "/usr/bin:/bin", "IDEMPOTENT_CONSUMER_STACK": STACK_NAME}
    done = subprocess.run(  # noqa: S603 - our own command
        [str(COMMAND), *arguments, "--json"],
        env=environment | deployment.stack.aws.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def test_a_rejected_payment_is_seen_with_its_reason_and_redriven_to_success(deployment: Deployment) -> None:
    declined = payment()
    key = f"charge-payment#{declined.business_id}"
    deployment.gateway.ledger.declined.add(declined.business_id)
    (sent,) = deployment.send(declined)

    def letter() -> Any:
        _, listed = operate(deployment, "dead-letters", "charge-payment")
        return next((each for each in listed["letters"] if each["key"] == key), None)

    given_up = eventually(letter)
    assert (given_up["outcome"], given_up["original_sqs_message_id"]) == ("REJECTED", sent)
    assert operate(deployment, "status", "charge-payment", declined.business_id) == (3, {"key": key, "found": False})

    deployment.gateway.ledger.declined.discard(declined.business_id)
    code, done = operate(deployment, "redrive", "charge-payment", "--key", key)

    assert (code, done["redriven"]) == (0, 1)
    assert eventually(lambda: operate(deployment, "status", "charge-payment", declined.business_id)[0] == 0)
    assert eventually(
        lambda: operate(deployment, "status", "charge-payment", declined.business_id)[1]["status"] == "COMPLETED"
    )
    assert deployment.charges(declined.business_id) == 1
    assert sent not in deployment.dead_letters(Queue.PAYMENTS)


def test_a_message_that_was_forgotten_is_handled_again(deployment: Deployment) -> None:
    message = payment()
    deployment.send(message)
    eventually(lambda: operate(deployment, "status", "charge-payment", message.business_id)[0] == 0)
    eventually(lambda: operate(deployment, "status", "charge-payment", message.business_id)[1]["status"] == "COMPLETED")

    code, forgotten = operate(
        deployment, "forget", "charge-payment", message.business_id, "--reason", "charge reversed", "--yes"
    )
    sent_again, answer = operate(
        deployment, "send", "charge-payment", message.body, "--message-id", message.business_id
    )

    assert (code, forgotten["forgotten"], sent_again) == (0, True, 0)
    (again,) = answer["sent"]
    assert eventually(lambda: deployment.outcomes(Queue.PAYMENTS, again["sqs_message_id"])) == ["PROCESSED"]
    assert len(deployment.gateway.ledger.attempts(message.business_id)) == 2
