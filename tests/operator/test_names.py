"""The stack's outputs name tables and queues, unless an option does."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from idempotent_consumer_operator.errors import NotFoundError, UsageError
from idempotent_consumer_operator.names import Given, Names
from tools.template import Template

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
OUTPUTS = {
    "OrdersConsumerName": "place-order",
    "OrdersQueueUrl": "https://orders",
    "OrdersDeadLetterQueueUrl": "https://orders-dead",
    "PaymentsConsumerName": "charge-payment",
    "PaymentsQueueUrl": "https://payments",
    "PaymentsDeadLetterQueueUrl": "https://payments-dead",
    "ProcessedMessagesTableName": "processed",
}


def names_of(outputs: dict[str, str] | None, **given: str) -> Names:
    """Return the names in a stack that has some outputs, or in none at all."""
    client = boto3.client("cloudformation", region_name="eu-central-1")
    stubber = Stubber(client)
    if outputs is None:
        message = "Stack with id shop does not exist"
        stubber.add_client_error("describe_stacks", "ValidationError", message)
    else:
        listed = [{"OutputKey": name, "OutputValue": value} for name, value in outputs.items()]
        stack: Any = {"StackName": "shop", "CreationTime": "2026-01-01", "StackStatus": "x", "Outputs": listed}
        stubber.add_response("describe_stacks", {"Stacks": [stack]}, {"StackName": "shop"})
    stubber.activate()
    aws: Any = SimpleNamespace(cloudformation=client)
    return Names(aws, Given(stack="shop", **given))


def test_the_output_with_the_name_of_the_consumer_tells_which_queues_are_its_own() -> None:
    names = names_of(OUTPUTS)

    assert names.queue_url("charge-payment") == "https://payments"
    assert names.dead_letter_queue_url("place-order") == "https://orders-dead"
    assert names.table() == "processed"
    assert names.dead_letter_queue_urls(None) == ["https://orders-dead", "https://payments-dead"]
    assert names.dead_letter_queue_urls("place-order") == ["https://orders-dead"]


def test_an_option_goes_before_the_stack() -> None:
    names = names_of(OUTPUTS, table="t", queue_url="https://q", dead_letter_queue_url="https://d")

    assert names.table() == "t"
    assert names.queue_url("anybody") == "https://q"
    assert names.dead_letter_queue_urls(None) == names.dead_letter_queue_urls("anybody") == ["https://d"]


def test_without_a_stack_the_option_that_is_missing_is_named() -> None:
    names = Names(SimpleNamespace(), Given())  # type: ignore[arg-type]

    with pytest.raises(UsageError, match=r"give --stack NAME .* or --table"):
        names.table()
    with pytest.raises(UsageError, match="--dead-letter-queue-url"):
        names.dead_letter_queue_urls("place-order")


def test_a_consumer_that_the_stack_has_not_is_told_which_it_has() -> None:
    with pytest.raises(NotFoundError, match="has no consumer 'orders'; it has: charge-payment, place-order"):
        names_of(OUTPUTS).queue_url("orders")


def test_an_output_that_is_missing_is_named() -> None:
    with pytest.raises(NotFoundError, match="no output ProcessedMessagesTableName: give --table"):
        names_of({}).table()


def test_a_stack_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="there is no stack shop"):
        names_of(None).table()


def test_everything_is_found_by_the_outputs_of_our_own_template() -> None:
    outputs = {name: str(output["Value"]) for name, output in Template.read(TEMPLATE).body["Outputs"].items()}
    consumers = [value for name, value in outputs.items() if name.endswith("ConsumerName")]

    assert sorted(consumers) == ["charge-payment", "place-order", "send-receipt", "track-shipment"]
    assert "ProcessedMessages" in names_of(outputs).table()
    queues = {names_of(outputs).queue_url(consumer) for consumer in consumers}
    dead_letter_queues = {names_of(outputs).dead_letter_queue_url(consumer) for consumer in consumers}
    assert len(queues | dead_letter_queues) == 2 * len(consumers)
