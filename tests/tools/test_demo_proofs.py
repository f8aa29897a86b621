"""Each proof of the demo fails where it has to, and names the offender."""

import json

from tools.demo.deliveries import Delivery
from tools.demo.letters import Letter
from tools.demo.outgoing import Order, Outgoing
from tools.demo.proofs import (
    StoredOrder,
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
from tools.demo.sending import Sent

ORDERS = {"o-1": Order(order_id="o-1", quantities={"egg": 2}), "o-2": Order(order_id="o-2", quantities={"egg": 9})}
STORED = {"o-1": StoredOrder("PLACED", {"egg": 2}), "o-2": StoredOrder("REFUSED", {"egg": 9})}
STEPS = ("packed", "shipped")


def sent(sqs_message_id: str, *, poison: bool = False) -> Sent:
    message = Outgoing(queue=Queue.PAYMENTS, business_id=f"p-{sqs_message_id}", body="{}", poison=poison)
    return Sent(message, sqs_message_id)


def test_messages_sent_as_often_as_planned_have_no_offender() -> None:
    message, again = sent("1"), sent("1")

    assert not_sent([message.outgoing, again.outgoing], [message, again]) == []


def test_message_sent_less_often_than_planned_offends() -> None:
    message = sent("1")

    assert not_sent([message.outgoing, message.outgoing], [message]) == ["payments p-1"]


def test_orders_that_are_all_there_as_sent_have_no_offender() -> None:
    assert wrong_orders(ORDERS, STORED) == []


def test_missing_order_offends() -> None:
    assert wrong_orders(ORDERS, {"o-1": STORED["o-1"]}) == ["o-2: missing"]


def test_order_that_nobody_sent_offends() -> None:
    assert wrong_orders({"o-1": ORDERS["o-1"]}, STORED) == ["o-2: nobody sent it"]


def test_order_that_was_changed_offends() -> None:
    stored = STORED | {"o-1": StoredOrder("PLACED", {"egg": 3})}

    assert wrong_orders(ORDERS, stored) == ["o-1: stored {'egg': 3}, sent {'egg': 2}"]


def test_stock_less_what_was_placed_has_no_offender() -> None:
    assert wrong_stock({"egg": 10, "date": 5}, STORED, {"egg": 8, "date": 5}) == []


def test_stock_that_was_taken_twice_offends() -> None:
    assert wrong_stock({"egg": 10}, STORED, {"egg": 6}) == ["egg: 10 at first, 2 sold, 6 left"]


def test_stock_that_vanished_or_appeared_offends() -> None:
    assert wrong_stock({"egg": 10}, {}, {"date": 1}) == [
        "date: 0 at first, 0 sold, 1 left",
        "egg: 10 at first, 0 sold, None left",
    ]


def test_order_refused_for_want_of_stock_has_no_offender() -> None:
    assert wrongly_refused_orders(STORED, {"egg": 8}) == []


def test_order_refused_though_there_was_enough_offends() -> None:
    assert wrongly_refused_orders(STORED, {"egg": 9}) == ["o-2"]


def test_payments_charged_once_have_no_offender() -> None:
    assert wrong_charges({"p-1": 5, "p-2": 7}, [("p-2", 7), ("p-1", 5)]) == []


def test_payment_charged_twice_never_or_wrongly_offends() -> None:
    charges = [("p-1", 5), ("p-1", 5), ("p-3", 1), ("p-declined", 9)]

    assert wrong_charges({"p-1": 5, "p-2": 7, "p-3": 2}, charges) == [
        "p-2: missing",
        "p-declined: nobody sent it",
        "p-1: 2 times",
        "p-3: charged 1, asked 2",
    ]


def test_receipts_published_once_have_no_offender() -> None:
    assert wrong_receipts({"r-1", "r-2"}, ["r-2", "receipt/p-1", "r-1"]) == []


def test_receipt_published_twice_never_or_unasked_offends() -> None:
    assert wrong_receipts({"r-1", "r-2"}, ["r-2", "r-2", "r-9"]) == [
        "r-1: missing",
        "r-9: nobody sent it",
        "r-2: 2 times",
    ]


def test_charged_payments_with_one_receipt_each_have_no_offender() -> None:
    assert wrong_receipts_of_payments(["p-1", "p-2"], ["receipt/p-2", "r-1", "receipt/p-1", "r-1"]) == []


def test_charged_payment_without_receipt_or_with_two_and_receipt_without_charge_offend() -> None:
    published = ["receipt/p-2", "receipt/p-2", "receipt/p-declined"]

    assert wrong_receipts_of_payments(["p-1", "p-2"], published) == [
        "receipt/p-1: missing",
        "receipt/p-declined: nobody sent it",
        "receipt/p-2: 2 times",
    ]


def test_steps_applied_once_and_in_order_have_no_offender() -> None:
    assert wrong_histories({"s-1": STEPS}, {"s-1": ["packed", "shipped"]}) == []


def test_steps_repeated_skipped_or_out_of_order_offend() -> None:
    expected = dict.fromkeys(("s-1", "s-2", "s-3", "s-4"), STEPS)
    histories = {
        "s-1": ["packed", "packed", "shipped"],
        "s-2": ["shipped"],
        "s-3": ["shipped", "packed"],
    }

    assert wrong_histories(expected, histories) == [
        "s-4: missing",
        "s-1: packed, packed, shipped",
        "s-2: shipped",
        "s-3: shipped, packed",
    ]


def test_messages_acknowledged_or_dead_are_not_lost() -> None:
    assert lost_messages([sent("1"), sent("2")], {"1"}, {"2"}) == []


def test_message_neither_acknowledged_nor_dead_is_lost() -> None:
    assert lost_messages([sent("1"), sent("2")], {"1"}, set()) == ["payments p-2 (2)"]


def test_empty_queues_hold_nothing() -> None:
    assert left_over_messages(dict.fromkeys(Queue, 0)) == []


def test_queue_that_still_holds_messages_offends() -> None:
    assert left_over_messages({Queue.ORDERS: 0, Queue.PAYMENTS: 3}) == ["payments: 3 messages"]


def test_poison_alone_in_the_dead_letter_queue_has_no_offender() -> None:
    assert wrong_dead_letters([sent("1"), sent("2", poison=True)], {"2"}) == []


def test_missing_poison_and_innocent_dead_letters_offend() -> None:
    messages = [sent("1"), sent("2", poison=True)]

    assert wrong_dead_letters(messages, {"1", "unknown"}) == [
        "payments p-2 (2) is not there",
        "payments p-1 (1) does not belong there",
        "unknown does not belong there",
    ]


def test_dead_letter_with_consumer_and_reason_has_no_offender() -> None:
    assert unexplained([Letter(Queue.ORDERS, "1", "place-order", "InvalidOrder: no lines")]) == []


def test_dead_letter_that_sqs_has_moved_without_a_word_offends() -> None:
    message = {"MessageId": "1", "MessageAttributes": {"message-id": {"StringValue": "o-1"}}}

    assert unexplained([Letter.of(Queue.ORDERS, message)]) == ["orders (1)"]
    assert unexplained([Letter(Queue.ORDERS, "2", "place-order", "")]) == ["orders (2)"]


def test_letter_is_known_by_the_id_that_its_message_had_in_its_queue() -> None:
    explanation = {"sqs_message_id": "first", "consumer": "place-order", "reason": "no"}
    message = {
        "MessageId": "of-the-copy",
        "MessageAttributes": {"dead-letter": {"DataType": "String", "StringValue": json.dumps(explanation)}},
    }

    assert Letter.of(Queue.ORDERS, message) == Letter(Queue.ORDERS, "first", "place-order", "no")


def test_dead_letter_that_was_judged_once_has_no_offender_however_often_it_was_put_off() -> None:
    outcomes = ["DEFERRED", "DEFERRED", "REJECTED"]
    deliveries = {Queue.ORDERS: [Delivery("1", None, outcome, False, "") for outcome in outcomes]}

    assert handled_again_before_given_up([Letter(Queue.ORDERS, "1")], deliveries) == []


def test_dead_letter_that_was_judged_again_or_never_offends() -> None:
    deliveries = {Queue.ORDERS: [Delivery("1", None, "REJECTED", False, "")] * 2}
    letters = [Letter(Queue.ORDERS, "1"), Letter(Queue.ORDERS, "2")]

    assert handled_again_before_given_up(letters, deliveries) == ["orders (1): 2 times", "orders (2): 0 times"]
