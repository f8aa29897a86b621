"""The application on a local AWS, as the end-to-end tests talk to it and look at it."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar
from uuid import uuid4

import psutil

from tools.demo.deliveries import Delivery, read_deliveries
from tools.demo.letters import Letter
from tools.demo.observing import Observer
from tools.demo.outgoing import Outgoing
from tools.demo.queues import Queue
from tools.demo.run import SHORT_WAITS
from tools.demo.sending import send
from tools.local_aws import LocalStack
from tools.payment_gateway import PaymentGateway

PARAMETERS = SHORT_WAITS
PATIENCE_SECONDS = 60.0
POLL_SECONDS = 0.2

Seen = TypeVar("Seen")


def eventually(look: Callable[[], Seen]) -> Seen:
    """
    Look again and again until there is something to be seen: the one way in which these tests wait.

    Returns:
        The first that is true.

    Raises:
        AssertionError: nothing was to be seen in time.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (seen := look()):
        assert time.monotonic() < deadline, f"not within {PATIENCE_SECONDS:.0f} s; last seen: {seen!r}"
        time.sleep(POLL_SECONDS)  # noqa: TID251 - only here may a test wait
    return seen


class Deployment:
    """Send messages to the application and see what it makes of them."""

    def __init__(self, stack: LocalStack, gateway: PaymentGateway) -> None:
        self.stack = stack
        self.gateway = gateway
        self.observer = Observer(stack)
        self.functions = dict(zip(Queue, stack.outputs.function_names, strict=True))

    def send(self, *messages: Outgoing) -> list[str]:
        """Send messages of one queue in one batch, and return the ids that SQS gives them."""
        sent = send(self.stack.clients.sqs, self.observer.channels, messages)
        return [each.sqs_message_id for each in sent]

    def deliveries(self, queue: Queue, *sqs_message_ids: str) -> list[Delivery]:
        """Return what was logged of the deliveries of these messages, in the order it was logged."""
        logged = read_deliveries(self.stack.clients.logs, self.observer.channels[queue].log_group_name)
        return [delivery for delivery in logged if delivery.sqs_message_id in sqs_message_ids]

    def outcomes(self, queue: Queue, sqs_message_id: str) -> list[str]:
        """Return the outcomes of a message's deliveries so far."""
        return [delivery.outcome for delivery in self.deliveries(queue, sqs_message_id)]

    def is_acknowledged(self, queue: Queue, sqs_message_id: str) -> bool:
        """Tell whether a function is done with a message."""
        return any(delivery.acknowledged for delivery in self.deliveries(queue, sqs_message_id))

    def dead_letters(self, queue: Queue) -> dict[str, Letter]:
        """Return the messages in a dead-letter queue by their first SQS message id, and leave them as they are."""
        url = self.observer.channels[queue].dead_letter_url
        answer = self.stack.clients.sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0, MessageAttributeNames=["All"]
        )
        letters = [Letter.of(queue, message) for message in answer.get("Messages", [])]
        return {letter.sqs_message_id: letter for letter in letters}

    @contextmanager
    def redelivery(self, queue: Queue, *, receives: int, after_seconds: int) -> Iterator[None]:
        """Let SQS move a message after so many receives, and deliver it again by itself only after so long."""
        sqs, url = self.stack.clients.sqs, self.observer.channels[queue].url
        answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy", "VisibilityTimeout"])
        before = answer["Attributes"]
        limited = json.dumps({**json.loads(before["RedrivePolicy"]), "maxReceiveCount": receives})
        now = {"RedrivePolicy": limited, "VisibilityTimeout": str(after_seconds)}
        sqs.set_queue_attributes(QueueUrl=url, Attributes=now)
        try:
            yield
        finally:
            sqs.set_queue_attributes(QueueUrl=url, Attributes=before)

    def charges(self, payment_id: str) -> int:
        """Return how often a payment was charged."""
        return sum(charge.payment_id == payment_id for charge in self.gateway.ledger.charges())

    def role_of(self, queue: Queue) -> str:
        """Return the name of the role that a queue's function runs with."""
        configuration = self.stack.clients.functions.get_function_configuration(FunctionName=self.functions[queue])
        return configuration["Role"].rsplit("/", 1)[-1]

    @contextmanager
    def one_batch(self, queue: Queue) -> Iterator[None]:
        """Keep the poller away, so that it finds all that is sent meanwhile at once."""
        functions = self.stack.clients.functions
        (mapping,) = functions.list_event_source_mappings(FunctionName=self.functions[queue])["EventSourceMappings"]
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
        try:
            yield
        finally:
            functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)

    @contextmanager
    def without_grants(self, queue: Queue) -> Iterator[None]:
        """Take from a queue's function all that the template lets its role do."""
        iam, role = self.stack.clients.iam, self.role_of(queue)
        names = iam.list_role_policies(RoleName=role)["PolicyNames"]
        documents = {name: iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for name in names}
        for name in names:
            iam.delete_role_policy(RoleName=role, PolicyName=name)
        try:
            yield
        finally:
            for name, document in documents.items():
                iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps(document))

    def kill(self, queue: Queue) -> int:
        """Kill the processes of a queue's function, as an out-of-memory does, and return how many there were."""
        name = self.functions[queue]
        killed = 0
        for process in psutil.Process(self.stack.aws.pid).children(recursive=True):
            with suppress(psutil.Error):  # it has ended by itself meanwhile, such as one that was idle for long
                if any(name in argument for argument in process.cmdline()):
                    process.kill()
                    killed += 1
        return killed


def payment(payment_id: str | None = None) -> Outgoing:
    """Return a payment that nobody has sent yet."""
    payment_id = payment_id or f"p-{uuid4().hex[:8]}"
    fields = {"payment_id": payment_id, "order_id": "o-1", "amount_cents": 1999, "currency": "EUR"}
    return Outgoing(queue=Queue.PAYMENTS, business_id=payment_id, body=json.dumps(fields), message_id=payment_id)


def order(sku: str, quantity: int = 1) -> Outgoing:
    """Return an order that nobody has sent yet."""
    order_id = f"o-{uuid4().hex[:8]}"
    fields = {"order_id": order_id, "customer_id": "c-1", "lines": [{"sku": sku, "quantity": quantity}]}
    return Outgoing(queue=Queue.ORDERS, business_id=order_id, body=json.dumps(fields), message_id=order_id)


def receipt() -> Outgoing:
    """Return a receipt that nobody has sent yet."""
    message_id = f"r-{uuid4().hex[:8]}"
    fields = {"order_id": "o-1", "email": "a@example.com", "amount_cents": 1999, "currency": "EUR"}
    return Outgoing(queue=Queue.RECEIPTS, business_id=message_id, body=json.dumps(fields), message_id=message_id)


def step(shipment_id: str, name: str) -> Outgoing:
    """Return one step of a shipment."""
    fields = {"shipment_id": shipment_id, "step": name, "at": "2026-01-31T12:00:00+00:00"}
    return Outgoing(
        queue=Queue.SHIPMENTS,
        business_id=f"{shipment_id} {name}",
        body=json.dumps(fields),
        message_id=f"{shipment_id}/{name}",
        group_id=shipment_id,
    )
