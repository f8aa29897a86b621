"""The demo from the first build to the last proof."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.live import Live

from tools.demo.observing import Observer, Snapshot
from tools.demo.outgoing import Outgoing
from tools.demo.plan import Plan
from tools.demo.proofs import (
    Proof,
    handled_again_before_given_up,
    left_over_messages,
    lost_messages,
    not_sent,
    unexplained,
    wrong_charges,
    wrong_dead_letters,
    wrong_histories,
    wrong_orders,
    wrong_receipts,
    wrong_receipts_of_payments,
    wrong_stock,
    wrongly_refused_orders,
)
from tools.demo.queues import Queue
from tools.demo.report import standing
from tools.demo.sending import Sent, send
from tools.demo.traffic import LATE_SKU
from tools.local_aws import LocalStack
from tools.payment_gateway import PaymentGateway

SHORT_WAITS: dict[str, str | int] = {
    "FunctionTimeout": 10,  # a dead letter is written only while one try of that cannot outlast the invocation
    "VisibilityTimeout": 12,  # AWS wants six times the timeout; here what a crash leaves shall be back in seconds
    "BatchWindow": 0,
    "MaximumConcurrency": 2,
    "MaxReceiveCount": 5,
    "RedriveReceiveCount": 10,
    "BackoffBase": 2,
    "BackoffCap": 8,
    "LogRetentionDays": 1,
}
PATIENCE_SECONDS = 90.0
POLL_SECONDS = 0.5


class Run:
    """
    Send a plan to a deployed stack and see it through.

    Args:
        plan: what to send, and when.
        stack: where to send it.
        gateway: the gateway that the stack's function charges at.
    """

    def __init__(self, plan: Plan, stack: LocalStack, gateway: PaymentGateway) -> None:
        self.sent: list[Sent] = []
        self.observer = Observer(stack)
        self._plan = plan
        self._stack = stack
        self._gateway = gateway
        self._is_late_stock_loaded = False
        self._is_second_wave_sent = False

    def start(self) -> None:
        """Fill the stock and send the first wave."""
        self.observer.subscribe()
        self.observer.load_stock(self._plan.stock)
        self._send(self._plan.first_wave)

    def see_through(self, console: Console) -> Snapshot:
        """
        Show the queues, and go on as the plan wants it, until every message is settled or patience has ended.

        Returns:
            How the queues stood in the end.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        with Live(standing(self.sent, None), console=console, auto_refresh=False) as live:
            while not self._is_settled(snapshot := self.observer.snapshot()) and time.monotonic() < deadline:
                self._go_on(snapshot)
                live.update(standing(self.sent, snapshot), refresh=True)
                time.sleep(POLL_SECONDS)
            self._stack.wake_functions()  # for log lines that come late
            snapshot = self.observer.snapshot()
            live.update(standing(self.sent, snapshot), refresh=True)
        console.print()
        return snapshot

    def proofs(self, snapshot: Snapshot) -> list[Proof]:
        """Compare what was sent with what is there now."""
        plan, observer = self._plan, self.observer
        orders, stock = observer.orders(), observer.stock()
        published = observer.published_receipts()
        charges = [(charge.payment_id, charge.amount_cents) for charge in self._gateway.ledger.charges()]
        acknowledged = {
            delivery.sqs_message_id
            for deliveries in snapshot.deliveries.values()
            for delivery in deliveries
            if delivery.acknowledged
        }
        letters = observer.dead_letters()
        dead_letters = {letter.sqs_message_id for letter in letters}
        initial = {**plan.stock, **plan.late_stock}
        return [
            Proof("everything that was planned has been sent", not_sent(plan.messages, self.sent)),
            Proof("each order is there exactly once, as it was sent", wrong_orders(plan.orders, orders)),
            Proof("the stock is what it was, less what was sold", wrong_stock(initial, orders, stock)),
            Proof("orders were refused for want of stock only", wrongly_refused_orders(orders, stock)),
            Proof("each payment was charged exactly once", wrong_charges(plan.payments, charges)),
            Proof("each receipt was published exactly once", wrong_receipts(plan.receipts, published)),
            Proof(
                "each payment that was charged has exactly one receipt",
                wrong_receipts_of_payments([payment_id for payment_id, _ in charges], published),
            ),
            Proof(
                "each step of a shipment was applied exactly once and in order",
                wrong_histories(plan.shipments, observer.histories()),
            ),
            Proof("no queue holds a message any more", left_over_messages(snapshot.depths)),
            Proof(
                "each message was acknowledged or is in a dead-letter queue: none is lost",
                lost_messages(self.sent, acknowledged, dead_letters),
            ),
            Proof("the dead-letter queues hold exactly the poison", wrong_dead_letters(self.sent, dead_letters)),
            Proof("each dead letter says who gave it up, and why", unexplained(letters)),
            Proof(
                "no dead letter was handled more than once before it was given up",
                handled_again_before_given_up(letters, snapshot.deliveries),
            ),
        ]

    def _send(self, messages: Sequence[Outgoing]) -> None:
        self.sent += send(self._stack.clients.sqs, self.observer.channels, messages)

    def _go_on(self, snapshot: Snapshot) -> None:
        if not self._is_late_stock_loaded and self._has_failed_at_first(snapshot):
            self.observer.load_stock(self._plan.late_stock)
            self._is_late_stock_loaded = True
        if not self._is_second_wave_sent and self._are_receipts_handled(snapshot):
            self._send(self._plan.second_wave)
            self._is_second_wave_sent = True

    def _has_failed_at_first(self, snapshot: Snapshot) -> bool:
        late = {order.order_id for order in self._plan.orders.values() if LATE_SKU in order.quantities}
        # Not all of them: in a long run the first would spend their receives before the last has its turn.
        return any(each.outcome == "FAILED" and each.message_id in late for each in snapshot.deliveries[Queue.ORDERS])

    def _are_receipts_handled(self, snapshot: Snapshot) -> bool:
        receipts = snapshot.deliveries[Queue.RECEIPTS]
        return self._plan.receipts <= {each.message_id for each in receipts if each.acknowledged}

    def _is_settled(self, snapshot: Snapshot) -> bool:
        return self._is_late_stock_loaded and self._is_second_wave_sent and not any(snapshot.depths.values())
