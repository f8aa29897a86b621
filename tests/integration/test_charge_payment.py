"""What `charge_payment` asks of the gateway, delivery by delivery."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from idempotent_consumer.testing import sqs_event, sqs_record
from tests.integration.application import Application
from tools.payment_gateway import PaymentGateway

EventOf = Callable[[str], dict[str, Any]]
Outcomes = Callable[[], list[str]]


def charged(gateway: PaymentGateway) -> list[str]:
    return [charge.payment_id for charge in gateway.ledger.charges()]


@pytest.fixture
def paying(application: Application, gateway: PaymentGateway) -> Application:
    """Return the application with the gateway to charge at."""
    application.start("charge_payment", GATEWAY_URL=gateway.url)
    return application


@pytest.mark.parametrize("event", ["payments-single", "payments-redelivered"])
def test_a_payment_is_charged_under_its_idempotency_key_and_remembered(
    paying: Application, gateway: PaymentGateway, event_of: EventOf, event: str
) -> None:
    assert paying.invoke("charge_payment", event_of(event)) == []

    (charge,) = gateway.ledger.charges()
    key = "charge-payment#o-1001/payment"
    assert (charge.payment_id, charge.amount_cents, charge.currency) == ("p-1001", 1999, "EUR")
    assert charge.idempotency_key == hashlib.sha256(key.encode()).hexdigest()
    assert paying.items("ProcessedMessagesTable")[key]["status"] == "COMPLETED"


def test_a_payment_that_is_delivered_again_does_not_even_reach_the_gateway(
    paying: Application, gateway: PaymentGateway, event_of: EventOf, outcomes: Outcomes
) -> None:
    paying.invoke("charge_payment", event_of("payments-single"))

    assert paying.invoke("charge_payment", event_of("payments-redelivered")) == []

    assert outcomes() == ["PROCESSED", "DUPLICATE"]
    assert len(gateway.ledger.attempts("p-1001")) == 1


def test_a_payment_that_is_sent_twice_in_one_batch_is_charged_once(
    paying: Application, gateway: PaymentGateway, event_of: EventOf
) -> None:
    assert paying.invoke("charge_payment", event_of("payments-duplicates-in-batch")) == []

    assert sorted(charged(gateway)) == ["p-1001", "p-1002"]
    assert len(gateway.ledger.attempts("p-1001")) == 1


def test_a_payment_of_less_than_nothing_is_rejected_and_its_neighbours_are_charged(
    paying: Application, gateway: PaymentGateway, event_of: EventOf, outcomes: Outcomes
) -> None:
    event = event_of("payments-poison-in-batch")

    assert paying.invoke("charge_payment", event) == []
    assert paying.dead_letters_on("PaymentsDeadLetterQueue").keys() == {event["Records"][1]["messageId"]}

    assert sorted(outcomes()) == ["PROCESSED", "PROCESSED", "REJECTED"]
    assert sorted(charged(gateway)) == ["p-1001", "p-1002"]
    assert "charge-payment#o-1666/payment" not in paying.items("ProcessedMessagesTable")


def test_a_payment_whose_gateway_is_unavailable_comes_back_and_is_then_charged_once(
    application: Application, event_of: EventOf, outcomes: Outcomes
) -> None:
    event = event_of("payments-single")
    with PaymentGateway(unavailable_first={"p-1001": 1}) as gateway:
        application.start("charge_payment", GATEWAY_URL=gateway.url)

        assert application.invoke("charge_payment", event) == [event["Records"][0]["messageId"]]
        assert application.items("ProcessedMessagesTable") == {}  # released: the next delivery need not wait
        assert application.invoke("charge_payment", event) == []

        assert charged(gateway) == ["p-1001"]
    assert outcomes() == ["FAILED", "PROCESSED"]


def test_a_declined_payment_is_dead_lettered_at_once(
    application: Application, event_of: EventOf, outcomes: Outcomes
) -> None:
    event = event_of("payments-single")
    with PaymentGateway(declined={"p-1001"}) as gateway:
        application.start("charge_payment", GATEWAY_URL=gateway.url)

        assert application.invoke("charge_payment", event) == []

        assert charged(gateway) == []
    assert outcomes() == ["REJECTED"]
    [reason] = application.dead_letters_on("PaymentsDeadLetterQueue").values()
    assert reason == "PaymentDeclined: p-1001: the gateway answered 402"
    assert application.items("ProcessedMessagesTable") == {}


def test_without_a_gateway_the_sandbox_charges(application: Application, event_of: EventOf) -> None:
    function = application.start("charge_payment")

    assert application.environment_of("charge_payment")["GATEWAY_URL"] == ""
    assert application.invoke("charge_payment", event_of("payments-duplicates-in-batch")) == []
    assert [payment.payment_id for payment in function.gateway.charges.values()] == ["p-1001", "p-1002"]


# -- The receipt ----------------------------------------------------------------------------------


def receipts_asked_for(application: Application) -> list[tuple[str, dict[str, Any]]]:
    """Return id and content of each request for a receipt that is on the queue."""
    return [
        (message["MessageAttributes"]["message-id"]["StringValue"], json.loads(message["Body"]))
        for message in application.messages_on("ReceiptsQueue")
    ]


def received_record(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message from a queue in the form in which Lambda delivers it."""
    attributes = {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
    return sqs_record(message["Body"], sqs_message_id=message["MessageId"], attributes=attributes)


RECEIPT = (
    "receipt/p-1003",
    {"order_id": "o-1003", "email": "ada@example.com", "amount_cents": 1999, "currency": "EUR"},
)


def test_a_charged_payment_that_names_an_address_asks_for_its_receipt_once(
    paying: Application, event_of: EventOf
) -> None:
    event = event_of("payments-with-receipt")

    assert paying.invoke("charge_payment", event) == []
    assert paying.invoke("charge_payment", event) == []

    assert receipts_asked_for(paying) == [RECEIPT]


def test_a_payment_without_an_address_asks_for_no_receipt(paying: Application, event_of: EventOf) -> None:
    paying.invoke("charge_payment", event_of("payments-single"))

    assert receipts_asked_for(paying) == []


def test_a_payment_that_was_not_charged_asks_for_no_receipt(application: Application, event_of: EventOf) -> None:
    with PaymentGateway(declined={"p-1003"}) as gateway:
        application.start("charge_payment", GATEWAY_URL=gateway.url)
        application.invoke("charge_payment", event_of("payments-with-receipt"))

    assert receipts_asked_for(application) == []


def test_a_payment_whose_receipt_cannot_be_asked_for_comes_back_and_is_charged_once(
    paying: Application, gateway: PaymentGateway, event_of: EventOf, outcomes: Outcomes
) -> None:
    event = event_of("payments-with-receipt")
    paying.delete_queue("ReceiptsQueue")

    assert paying.invoke("charge_payment", event) == [event["Records"][0]["messageId"]]
    paying.restore_queue("ReceiptsQueue")
    assert paying.invoke("charge_payment", event) == []

    assert outcomes() == ["FAILED", "PROCESSED"]
    assert (len(gateway.ledger.attempts("p-1003")), charged(gateway)) == (2, ["p-1003"])
    assert receipts_asked_for(paying) == [RECEIPT]


def test_after_a_crash_before_the_completion_the_receipt_is_asked_for_again_and_published_once(
    paying: Application, gateway: PaymentGateway, event_of: EventOf, outcomes: Outcomes
) -> None:
    paying.invoke("charge_payment", event_of("payments-with-receipt"))
    paying.forget_processed_messages()  # as if the completion had never been written, and the lease had ended
    paying.invoke("charge_payment", event_of("payments-with-receipt"))

    asked = paying.messages_on("ReceiptsQueue")
    event = sqs_event(*(received_record(message) for message in asked))
    outcomes()
    assert paying.invoke("send_receipt", event) == []

    assert charged(gateway) == ["p-1003"]
    assert len(asked) == 2
    assert sorted(outcomes()) == ["DUPLICATE", "PROCESSED"]


def test_without_a_queue_for_them_there_are_no_receipts(
    application: Application, gateway: PaymentGateway, event_of: EventOf
) -> None:
    application.start("charge_payment", GATEWAY_URL=gateway.url, RECEIPTS_QUEUE_URL="")

    assert application.invoke("charge_payment", event_of("payments-with-receipt")) == []
    assert charged(gateway) == ["p-1003"]
    assert receipts_asked_for(application) == []
