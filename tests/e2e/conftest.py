"""One deployment for all end-to-end tests. If a virtual environment is missing, they fail and say how to make it."""

from collections.abc import Iterator

import pytest

from tests.e2e.deployment import PARAMETERS, Deployment
from tools.local_aws import deployed_stack, unwinding_on_termination
from tools.payment_gateway import PaymentGateway


@pytest.fixture(scope="session")
def deployment() -> Iterator[Deployment]:
    """Return the application, deployed with SAM to a local AWS that enforces IAM."""
    with (
        unwinding_on_termination(),
        PaymentGateway() as gateway,
        deployed_stack("e2e", {**PARAMETERS, "GatewayUrl": gateway.url}) as stack,
    ):
        yield Deployment(stack, gateway)
