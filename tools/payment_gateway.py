"""A payment gateway on loopback that honours idempotency keys, and refuses or fails where it is told to.

`POST /charges` with an `Idempotency-Key` header charges once for each key and answers each repetition as it did the
first time; `GET /charges` returns the ledger. The demo and the end-to-end tests run it in their own process.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

MOST_SIGNS_OF_LIFE = 60
"""So many are given while an answer is held back, so that a forgotten hold cannot block for ever."""
SIGN_OF_LIFE_SECONDS = 1.0
"""Time between two of them: a caller whose patience is longer keeps waiting."""
STOP_SECONDS = 0.02
"""How often the server looks whether it has to stop."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge as it was asked for; in the ledger, as it was made."""

    payment_id: str
    amount_cents: int
    currency: str
    idempotency_key: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the gateway says to one request."""

    status: HTTPStatus
    body: Mapping[str, Any]


@dataclass(slots=True)
class Ledger:
    """
    All that the gateway knows; its methods may be called from many threads.

    Attributes:
        declined: Payments that are refused for good (402); more may be added at any time.
        unavailable_first: How many first attempts of a payment are answered 503; likewise.
    """

    declined: set[str] = field(default_factory=set)
    unavailable_first: dict[str, int] = field(default_factory=dict)
    _charges: list[Charge] = field(default_factory=list)
    _attempts: list[Charge] = field(default_factory=list)
    _answers: dict[str, tuple[Charge, Answer]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def charge(self, request: Charge) -> Answer:
        """Charge once for the request's idempotency key, or say why not."""
        with self._lock:
            self._attempts.append(request)
            if known := self._answers.get(request.idempotency_key):
                return known[1] if known[0] == request else _refusal(HTTPStatus.CONFLICT, "key of another charge")
            if request.payment_id in self.declined:
                return _refusal(HTTPStatus.PAYMENT_REQUIRED, "card declined")
            if self._attempts_of(request.payment_id) <= self.unavailable_first.get(request.payment_id, 0):
                return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "try again later")
            self._charges.append(request)
            body = {"charge_id": f"ch-{len(self._charges)}", **_public(request)}
            answer = Answer(HTTPStatus.CREATED, body)
            self._answers[request.idempotency_key] = (request, answer)
            return answer

    def charges(self) -> list[Charge]:
        """Return all charges, in the order they were made."""
        with self._lock:
            return list(self._charges)

    def attempts(self, payment_id: str) -> list[Charge]:
        """Return all requests for one payment, answered well or not."""
        with self._lock:
            return [attempt for attempt in self._attempts if attempt.payment_id == payment_id]

    def _attempts_of(self, payment_id: str) -> int:
        return Counter(attempt.payment_id for attempt in self._attempts)[payment_id]


class PaymentGateway:
    """The ledger behind an HTTP server, running as long as a `with` block lasts."""

    def __init__(self, *, declined: Collection[str] = (), unavailable_first: Mapping[str, int] | None = None) -> None:
        self.ledger = Ledger(set(declined), dict(unavailable_first or {}))
        self._holds: dict[str, threading.Event] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.gateway = self

    @property
    def url(self) -> str:
        """The base URL, as the template's parameter `GatewayUrl` wants it."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        serve = partial(self._server.serve_forever, poll_interval=STOP_SECONDS)
        threading.Thread(target=serve, name="payment-gateway", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hold in list(self._holds.values()):
            hold.set()
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def holding_back_the_answer(self, payment_id: str) -> Iterator[None]:
        """Charge this payment, but answer only when the block ends: the moment at which a caller may die."""
        released = self._holds.setdefault(payment_id, threading.Event())
        try:
            yield
        finally:
            released.set()
            del self._holds[payment_id]

    def answer(self, request: Charge, give_sign_of_life: Callable[[], None]) -> Answer:
        """Charge, then wait for as long as the answer is held back, and let the caller know that it will come."""
        answer = self.ledger.charge(request)
        if hold := self._holds.get(request.payment_id):
            for _ in range(MOST_SIGNS_OF_LIFE):
                if hold.wait(SIGN_OF_LIFE_SECONDS):
                    break
                give_sign_of_life()
        return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    gateway: PaymentGateway

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep silent: the caller was killed or gave up, which is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # one packet for head and body, or each answer waits for a delayed acknowledgement
    server: _Server

    def do_GET(self) -> None:
        """Return the ledger."""
        if self.path != "/charges":
            self._send(_refusal(HTTPStatus.NOT_FOUND, "there is only /charges"))
            return
        charges = [asdict(charge) for charge in self.server.gateway.ledger.charges()]
        self._send(Answer(HTTPStatus.OK, {"charges": charges}))

    def do_POST(self) -> None:
        """Charge a payment."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/charges":
            self._send(_refusal(HTTPStatus.NOT_FOUND, "there is only /charges"))
            return
        try:
            request = _read_charge(body, self.headers.get("Idempotency-Key"))
        except ValueError as problem:
            self._send(_refusal(HTTPStatus.BAD_REQUEST, str(problem)))
            return
        self._send(self.server.gateway.answer(request, self._send_sign_of_life))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Keep silent: the ledger tells what happened."""

    def _send_sign_of_life(self) -> None:
        self.send_response_only(HTTPStatus.CONTINUE)  # which clients pass over, however many there are
        self.end_headers()
        self.wfile.flush()

    def _send(self, answer: Answer) -> None:
        body = json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _read_charge(body: bytes, idempotency_key: str | None) -> Charge:
    if not idempotency_key:
        raise ValueError("the header Idempotency-Key is missing")
    match json.loads(body):
        case {"payment_id": str(payment_id), "currency": str(currency), "amount_cents": int(amount)} if amount > 0:
            return Charge(payment_id, amount, currency, idempotency_key)
    raise ValueError("the body needs payment_id, currency and a positive amount_cents")


def _refusal(status: HTTPStatus, reason: str) -> Answer:
    return Answer(status, {"error": reason})


def _public(charge: Charge) -> dict[str, Any]:
    return {
        "payment_id": charge.payment_id,
        "amount_cents": charge.amount_cents,
        "currency": charge.currency,
    }
