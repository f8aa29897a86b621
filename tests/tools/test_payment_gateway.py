"""The local payment gateway charges once for each idempotency key, and fails where it is told to."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
import urllib3

from tools.payment_gateway import SIGN_OF_LIFE_SECONDS, PaymentGateway

PAYMENT = {"payment_id": "p-1", "amount_cents": 1999, "currency": "EUR"}


@pytest.fixture
def gateway() -> Iterator[PaymentGateway]:
    with PaymentGateway(declined={"p-declined"}, unavailable_first={"p-busy": 2}) as gateway:
        yield gateway


def charge(gateway: PaymentGateway, key: str | None = "key-1", **fields: object) -> tuple[int, Any]:
    return post(gateway, json.dumps(PAYMENT | fields).encode(), key)


def post(gateway: PaymentGateway, body: bytes, key: str | None = "key-1") -> tuple[int, Any]:
    headers = {"Idempotency-Key": key} if key else {}
    answer = urllib3.request("POST", f"{gateway.url}/charges", body=body, headers=headers, retries=False, timeout=5)
    return answer.status, answer.json()


def charged(gateway: PaymentGateway) -> list[str]:
    return [charge.payment_id for charge in gateway.ledger.charges()]


def test_first_request_is_charged(gateway: PaymentGateway) -> None:
    assert charge(gateway) == (201, {"charge_id": "ch-1", **PAYMENT})
    assert charged(gateway) == ["p-1"]


def test_same_key_gets_the_same_answer_and_no_second_charge(gateway: PaymentGateway) -> None:
    assert charge(gateway) == charge(gateway)
    assert charged(gateway) == ["p-1"]
    assert len(gateway.ledger.attempts("p-1")) == 2


def test_same_key_at_the_same_moment_is_charged_once(gateway: PaymentGateway) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: charge(gateway), range(16)))

    assert charged(gateway) == ["p-1"]
    assert all(answer == answers[0] for answer in answers)


def test_another_key_is_another_charge(gateway: PaymentGateway) -> None:
    charge(gateway, "key-1")
    charge(gateway, "key-2")

    assert charged(gateway) == ["p-1", "p-1"]


def test_key_of_another_charge_is_refused(gateway: PaymentGateway) -> None:
    charge(gateway)

    assert charge(gateway, amount_cents=1)[0] == 409
    assert charged(gateway) == ["p-1"]


def test_declined_payment_is_never_charged(gateway: PaymentGateway) -> None:
    assert charge(gateway, payment_id="p-declined")[0] == 402
    assert charge(gateway, payment_id="p-declined")[0] == 402
    assert charged(gateway) == []


def test_busy_gateway_charges_after_as_many_attempts_as_it_was_told(gateway: PaymentGateway) -> None:
    statuses = [charge(gateway, payment_id="p-busy")[0] for _ in range(3)]

    assert statuses == [503, 503, 201]
    assert charged(gateway) == ["p-busy"]


def test_held_back_answer_is_of_a_charge_that_was_made(gateway: PaymentGateway) -> None:
    with ThreadPoolExecutor() as pool:
        with gateway.holding_back_the_answer("p-1"):
            with pytest.raises(urllib3.exceptions.ReadTimeoutError):
                urllib3.request(
                    "POST",
                    f"{gateway.url}/charges",
                    json=PAYMENT,
                    headers={"Idempotency-Key": "key-1"},
                    retries=False,
                    timeout=0.2,
                )
            waiting = pool.submit(charge, gateway)
            assert charged(gateway) == ["p-1"]
        assert waiting.result()[0] == 201

    assert charged(gateway) == ["p-1"]


def test_caller_who_hears_nothing_for_a_while_is_told_that_the_answer_will_come(gateway: PaymentGateway) -> None:
    patience = 1.5 * SIGN_OF_LIFE_SECONDS

    with socket.create_connection(("127.0.0.1", urlsplit(gateway.url).port or 0), timeout=patience) as caller:
        with gateway.holding_back_the_answer("p-1"):
            body = json.dumps(PAYMENT).encode()
            caller.sendall(b"POST /charges HTTP/1.1\r\nIdempotency-Key: key-1\r\n")
            caller.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            assert caller.recv(1_000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert caller.recv(1_000).startswith(b"HTTP/1.1 201 Created\r\n")


def test_ledger_is_to_be_had_over_http(gateway: PaymentGateway) -> None:
    charge(gateway)

    answer = urllib3.request("GET", f"{gateway.url}/charges", timeout=5)

    assert answer.json() == {"charges": [{**PAYMENT, "idempotency_key": "key-1"}]}


def test_request_without_key_is_refused(gateway: PaymentGateway) -> None:
    assert charge(gateway, None)[0] == 400
    assert charged(gateway) == []


@pytest.mark.parametrize(
    "body",
    [b"", b"no JSON", b"[]", b"{}", b'{"payment_id": "p-1", "amount_cents": 0, "currency": "EUR"}'],
)
def test_unreadable_request_is_refused(gateway: PaymentGateway, body: bytes) -> None:
    assert post(gateway, body)[0] == 400
    assert charged(gateway) == []


def test_there_is_nothing_but_charges(gateway: PaymentGateway) -> None:
    assert urllib3.request("GET", f"{gateway.url}/refunds", timeout=5).status == 404
    assert urllib3.request("POST", f"{gateway.url}/refunds", body=b"{}", timeout=5).status == 404
