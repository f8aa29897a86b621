"""A function that lacks a setting fails while it is imported, before it receives a message."""

import pytest

from idempotent_consumer import ConfigurationError
from tests.integration.application import Application

REQUIRED = {
    "place_order": ["PROCESSED_MESSAGES_TABLE", "ORDERS_TABLE", "STOCK_TABLE"],
    "charge_payment": ["PROCESSED_MESSAGES_TABLE", "GATEWAY_URL"],
    "send_receipt": ["PROCESSED_MESSAGES_TABLE", "RECEIPTS_TOPIC_ARN"],
    "track_shipment": ["SHIPMENTS_TABLE"],
}
OPTIONAL = {"charge_payment": {"RECEIPTS_QUEUE_URL"}}


@pytest.mark.parametrize(("function", "required"), REQUIRED.items())
def test_all_settings_that_are_missing_are_named_at_once(
    application: Application, monkeypatch: pytest.MonkeyPatch, function: str, required: list[str]
) -> None:
    for name in application.environment_of(function):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(ConfigurationError) as raised:
        application.start(function, without=required)

    assert raised.value.problems == tuple(f"{name} is not set" for name in required)


@pytest.mark.parametrize(("function", "required"), REQUIRED.items())
def test_the_template_gives_a_function_what_it_asks_for_and_nothing_more(
    application: Application, function: str, required: list[str]
) -> None:
    everyone = {
        "PROCESSED_MESSAGES_TABLE",
        "QUEUE_URL",
        "DEAD_LETTER_QUEUE_URL",
        "MAX_RECEIVE_COUNT",
        "BACKOFF_BASE_SECONDS",
        "BACKOFF_CAP_SECONDS",
    }

    assert application.environment_of(function).keys() == everyone | set(required) | OPTIONAL.get(function, set())
    application.start(function)
