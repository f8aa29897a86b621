"""What the two gateways make of a charge."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from gateway import HttpGateway, SandboxGateway, gateway_at
from payments import GatewayUnavailable, Payment, PaymentDeclined

PAYMENT = Payment("p-1", "o-1", 1999, "EUR")


class AnsweringServer(ThreadingHTTPServer):
    """Answer every charge with one status, and remember what was asked."""

    status = 201

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.requests: list[tuple[str, str | None, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    server: AnsweringServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, self.headers["Idempotency-Key"], json.loads(body)))
        self.send_response(self.server.status)
        self.send_header("Location", f"{self.server.url}/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Keep the tests' output clean."""


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    with AnsweringServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_charge_carries_its_idempotency_key(server: AnsweringServer) -> None:
    HttpGateway(server.url + "/").charge(PAYMENT, "key-1")

    charge = {"payment_id": "p-1", "amount_cents": 1999, "currency": "EUR"}
    assert server.requests == [("/charges", "key-1", charge)]


@pytest.mark.parametrize("status", [402, 422])
def test_a_declined_payment_is_not_asked_for_again(server: AnsweringServer, status: int) -> None:
    server.status = status

    with pytest.raises(PaymentDeclined, match=str(status)):
        HttpGateway(server.url).charge(PAYMENT, "key-1")


@pytest.mark.parametrize("status", [302, 400, 401, 409, 429, 500, 503])
def test_an_answer_that_settles_nothing_leaves_the_payment_open(server: AnsweringServer, status: int) -> None:
    server.status = status

    with pytest.raises(GatewayUnavailable, match=str(status)):
        HttpGateway(server.url).charge(PAYMENT, "key-1")
    assert len(server.requests) == 1  # SQS tries again, not we


def test_no_answer_leaves_the_payment_open() -> None:
    with socket.socket() as unheard:  # bound, but nobody listens
        unheard.bind(("127.0.0.1", 0))

        with pytest.raises(GatewayUnavailable, match="no answer for p-1"):
            HttpGateway(f"http://127.0.0.1:{unheard.getsockname()[1]}").charge(PAYMENT, "key-1")


def test_the_sandbox_charges_nobody_twice_under_one_key() -> None:
    sandbox = SandboxGateway()

    for _ in range(2):
        sandbox.charge(PAYMENT, "key-1")

    assert sandbox.charges == {"key-1": PAYMENT}


def test_the_sandbox_of_a_warm_function_does_not_grow_without_end() -> None:
    sandbox = SandboxGateway()

    for number in range(10_001):
        sandbox.charge(PAYMENT, f"key-{number}")

    assert len(sandbox.charges) == 10_000
    assert "key-10000" in sandbox.charges


def test_an_empty_url_means_the_sandbox() -> None:
    assert isinstance(gateway_at(""), SandboxGateway)
    assert isinstance(gateway_at("http://127.0.0.1:1"), HttpGateway)
