"""What has to be true in the end, each as a function of what was seen that returns the offenders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tools.demo.deliveries import Delivery
from tools.demo.letters import Letter
from tools.demo.outgoing import Order, Outgoing
from tools.demo.queues import Queue
from tools.demo.sending import Sent

OF_A_PAYMENT = "receipt/"
"""How the id of a receipt begins that `charge_payment` has asked for; the payment's own id follows."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Hold a claim, and whatever contradicts it."""

    claim: str
    offenders: Sequence[str]

    @property
    def holds(self) -> bool:
        """Tell whether nothing contradicts the claim."""
        return not self.offenders


@dataclass(frozen=True, slots=True)
class StoredOrder:
    """Hold an order as it was found in the orders table: its status, and quantities by SKU."""

    status: str
    quantities: Mapping[str, int]


def not_sent(planned: Iterable[Outgoing], sent: Iterable[Sent]) -> list[str]:
    """Return each message that was planned and not sent as often as it was planned."""
    missing = Counter(planned) - Counter(message.outgoing for message in sent)
    return [f"{message.queue} {message.business_id}" for message in missing.elements()]


def wrong_orders(expected: Mapping[str, Order], stored: Mapping[str, StoredOrder]) -> list[str]:
    """Return the orders that are missing, that nobody sent, or that were stored otherwise than sent."""
    differing = [
        f"{order_id}: stored {dict(stored[order_id].quantities)}, sent {dict(order.quantities)}"
        for order_id, order in sorted(expected.items())
        if order_id in stored and stored[order_id].quantities != order.quantities
    ]
    return _missing_or_unexpected(expected, stored) + differing


def wrong_stock(initial: Mapping[str, int], stored: Mapping[str, StoredOrder], left: Mapping[str, int]) -> list[str]:
    """Return each SKU whose stock is not what it was at first, less what the placed orders took."""
    sold: Counter[str] = Counter()
    for order in stored.values():
        if order.status == "PLACED":
            sold.update(order.quantities)
    return [
        f"{sku}: {initial.get(sku, 0)} at first, {sold[sku]} sold, {left.get(sku)} left"
        for sku in sorted({*initial, *sold, *left})
        if left.get(sku) != initial.get(sku, 0) - sold[sku]
    ]


def wrongly_refused_orders(stored: Mapping[str, StoredOrder], left: Mapping[str, int]) -> list[str]:
    """Return each refused order for which there would still be enough: stock only ever gets less."""
    return sorted(
        order_id
        for order_id, order in stored.items()
        if order.status == "REFUSED" and all(left.get(sku, 0) >= quantity for sku, quantity in order.quantities.items())
    )


def wrong_charges(expected: Mapping[str, int], charges: Iterable[tuple[str, int]]) -> list[str]:
    """
    Return the payments that were not charged exactly once, or not as much as asked.

    Args:
        expected: amounts by payment id.
        charges: payment id and amount of each charge in the gateway's ledger.
    """
    charges = list(charges)
    amounts = [
        f"{payment_id}: charged {amount}, asked {expected[payment_id]}"
        for payment_id, amount in charges
        if payment_id in expected and amount != expected[payment_id]
    ]
    return not_exactly_once(expected, [payment_id for payment_id, _ in charges]) + amounts


def wrong_receipts(expected: Collection[str], published: Iterable[str]) -> list[str]:
    """Return each receipt that was asked for by its message id and not published exactly once; payments' left out."""
    return not_exactly_once(expected, [each for each in published if not each.startswith(OF_A_PAYMENT)])


def wrong_receipts_of_payments(charged: Iterable[str], published: Iterable[str]) -> list[str]:
    """Return the receipt of each charged payment that was not published exactly once, and those of other payments."""
    expected = {f"{OF_A_PAYMENT}{payment_id}" for payment_id in charged}
    return not_exactly_once(expected, [each for each in published if each.startswith(OF_A_PAYMENT)])


def not_exactly_once(expected: Collection[str], seen: Iterable[str]) -> list[str]:
    """Return each id that was seen more than once, never, or though nobody sent it."""
    counts = Counter(seen)
    repeated = [f"{each}: {count} times" for each, count in sorted(counts.items()) if count > 1]
    return _missing_or_unexpected(expected, counts) + repeated


def wrong_histories(expected: Mapping[str, Sequence[str]], histories: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the shipments whose steps were not applied exactly once and in order."""
    differing = [
        f"{shipment_id}: {', '.join(histories[shipment_id])}"
        for shipment_id, steps in sorted(expected.items())
        if shipment_id in histories and list(histories[shipment_id]) != list(steps)
    ]
    return _missing_or_unexpected(expected, histories) + differing


def lost_messages(sent: Iterable[Sent], acknowledged: Collection[str], dead_letters: Collection[str]) -> list[str]:
    """Return each message that was neither acknowledged by a function nor moved to a dead-letter queue."""
    return [
        _called(message)
        for message in sent
        if message.sqs_message_id not in acknowledged and message.sqs_message_id not in dead_letters
    ]


def left_over_messages(depths: Mapping[Queue, int]) -> list[str]:
    """Return each queue that still holds messages."""
    return [f"{queue}: {depth} messages" for queue, depth in depths.items() if depth]


def wrong_dead_letters(sent: Iterable[Sent], dead_letters: Collection[str]) -> list[str]:
    """Return each poison message that is not in a dead-letter queue, and whatever else is in one."""
    by_id = {message.sqs_message_id: message for message in sent}
    alive = [
        f"{_called(message)} is not there"
        for message in by_id.values()
        if message.outgoing.poison and message.sqs_message_id not in dead_letters
    ]
    innocent = [
        f"{_called(by_id[each]) if each in by_id else each} does not belong there"
        for each in sorted(dead_letters)
        if each not in by_id or not by_id[each].outgoing.poison
    ]
    return alive + innocent


def unexplained(letters: Iterable[Letter]) -> list[str]:
    """Return each dead letter that does not tell its consumer and its reason."""
    return [
        f"{letter.queue} ({letter.sqs_message_id})" for letter in letters if not (letter.consumer and letter.reason)
    ]


def handled_again_before_given_up(
    letters: Iterable[Letter], deliveries: Mapping[Queue, Sequence[Delivery]]
) -> list[str]:
    """Return each dead letter of which more than one delivery got any further than being put off."""
    judged = Counter(
        delivery.sqs_message_id
        for of_queue in deliveries.values()
        for delivery in of_queue
        if delivery.outcome != "DEFERRED"
    )
    return [
        f"{letter.queue} ({letter.sqs_message_id}): {judged[letter.sqs_message_id]} times"
        for letter in letters
        if judged[letter.sqs_message_id] != 1
    ]


def _missing_or_unexpected(expected: Collection[str], seen: Collection[str]) -> list[str]:
    missing = [f"{each}: missing" for each in sorted(expected) if each not in seen]
    return missing + [f"{each}: nobody sent it" for each in sorted(seen) if each not in expected]


def _called(message: Sent) -> str:
    return f"{message.outgoing.queue} {message.outgoing.business_id} ({message.sqs_message_id})"
