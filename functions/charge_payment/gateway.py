"""Two gateways that charge payments: one over HTTP, and a sandbox in the process that charges nobody."""

from __future__ import annotations

import urllib3

from payments import Gateway, GatewayUnavailable, Payment, PaymentDeclined

_TIMEOUT = urllib3.Timeout(connect=1.0, read=3.0)
"""Seconds; together well inside the time that one invocation has."""
_REFUSALS = frozenset({402, 422})
_REMEMBERED = 10_000


class HttpGateway:
    """
    Charge payments at `POST {url}/charges`, with the idempotency key in a header.

    Args:
        url: the gateway's base URL.
    """

    def __init__(self, url: str) -> None:
        self._charges = f"{url.rstrip('/')}/charges"
        # No retries here: SQS delivers the message again, under the same key.
        self._http = urllib3.PoolManager(timeout=_TIMEOUT, retries=False)

    def charge(self, payment: Payment, idempotency_key: str) -> None:
        """Charge a payment; see `Gateway`."""
        try:
            response = self._http.request(
                "POST",
                self._charges,
                json={
                    "payment_id": payment.payment_id,
                    "amount_cents": payment.amount_cents,
                    "currency": payment.currency,
                },
                headers={"Idempotency-Key": idempotency_key},
            )
        except urllib3.exceptions.HTTPError as error:
            raise GatewayUnavailable(f"no answer for {payment.payment_id}: {error}") from error
        if response.status in _REFUSALS:
            raise PaymentDeclined(f"{payment.payment_id}: the gateway answered {response.status}")
        if not 200 <= response.status < 300:
            raise GatewayUnavailable(f"{payment.payment_id}: the gateway answered {response.status}")


class SandboxGateway:
    """Charge nobody, and remember the last charges of this process by their idempotency keys."""

    def __init__(self) -> None:
        self.charges: dict[str, Payment] = {}

    def charge(self, payment: Payment, idempotency_key: str) -> None:
        """Remember a payment as charged; see `Gateway`."""
        self.charges.setdefault(idempotency_key, payment)
        if len(self.charges) > _REMEMBERED:  # a warm function lives for hours
            del self.charges[next(iter(self.charges))]


def gateway_at(url: str) -> Gateway:
    """Return the gateway at a URL; the sandbox if the URL is empty."""
    return HttpGateway(url) if url else SandboxGateway()
