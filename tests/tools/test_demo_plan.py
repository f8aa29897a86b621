"""The demo sends what it says: duplicates, failures at first, poison, and groups in order."""

import json
from collections import Counter

import pytest

from tools.demo.outgoing import Outgoing
from tools.demo.plan import SHARES, Plan, make_plan
from tools.demo.queues import Queue
from tools.demo.traffic import LATE_SKU, SCARCE_SKU, STEPS

SIZES = [40, 41, 300, 2_000]


@pytest.fixture(params=SIZES)
def plan(request: pytest.FixtureRequest) -> Plan:
    return make_plan(request.param, seed=7)


@pytest.mark.parametrize("messages", SIZES)
def test_exactly_as_many_messages_are_sent_as_asked_for(messages: int) -> None:
    assert len(make_plan(messages, seed=1).messages) == messages


def test_same_seed_makes_the_same_plan_and_another_one_another() -> None:
    assert make_plan(100, seed=1) == make_plan(100, seed=1)
    assert make_plan(100, seed=1) != make_plan(100, seed=2)


def test_too_few_messages_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 40"):
        make_plan(39, seed=1)


def test_at_least_a_quarter_of_the_messages_are_duplicates_by_business_id(plan: Plan) -> None:
    messages = plan.messages
    distinct = {(message.queue, message.business_id) for message in messages}

    assert len(messages) - len(distinct) >= len(messages) / 4


@pytest.mark.parametrize("queue", list(Queue))
def test_each_queue_gets_plain_messages_duplicates_and_poison(plan: Plan, queue: Queue) -> None:
    own = [message for message in plan.messages if message.queue == queue]
    counts = Counter(message.business_id for message in own)

    assert any(message.poison for message in own)
    assert any(count > 1 for count in counts.values())
    assert abs(len(own) - SHARES[queue] * len(plan.messages)) <= 2


def test_duplicates_are_equal_to_what_they_duplicate(plan: Plan) -> None:
    by_id: dict[tuple[Queue, str], set[Outgoing]] = {}
    for message in plan.messages:
        by_id.setdefault((message.queue, message.business_id), set()).add(message)

    assert all(len(messages) == 1 for messages in by_id.values())


def test_what_is_expected_is_what_is_sent_less_the_poison(plan: Plan) -> None:
    wanted: dict[Queue, set[str]] = {queue: set() for queue in Queue}
    for message in plan.messages:
        if not message.poison:
            wanted[message.queue].add(message.business_id)
    steps = {f"{shipment_id} {step}" for shipment_id, steps in plan.shipments.items() for step in steps}

    assert wanted == {
        Queue.ORDERS: set(plan.orders),
        Queue.PAYMENTS: set(plan.payments),
        Queue.RECEIPTS: set(plan.receipts),
        Queue.SHIPMENTS: steps,
    }


def test_some_orders_want_what_is_scarce_and_some_what_comes_late(plan: Plan) -> None:
    wanted = Counter(sku for order in plan.orders.values() for sku in order.quantities)

    assert wanted[SCARCE_SKU]
    assert wanted[LATE_SKU]
    assert LATE_SKU in plan.late_stock
    assert LATE_SKU not in plan.stock


def test_some_payments_fail_at_first_but_none_too_often(plan: Plan) -> None:
    assert plan.unavailable_first
    assert set(plan.unavailable_first) <= set(plan.payments)
    assert set(plan.unavailable_first.values()) <= {1, 2}


def test_every_message_has_an_id_but_for_one_poison_payment(plan: Plan) -> None:
    nameless = [message for message in plan.messages if message.message_id is None]

    assert [(message.queue, message.poison) for message in nameless] == [(Queue.PAYMENTS, True)]


def test_every_payment_asks_for_a_receipt(plan: Plan) -> None:
    payments = [json.loads(message.body) for message in plan.messages if message.queue == Queue.PAYMENTS]

    assert all(payment["email"] for payment in payments)


def test_second_wave_repeats_receipts_of_the_first_only(plan: Plan) -> None:
    assert plan.second_wave
    assert set(plan.second_wave) <= set(plan.first_wave)
    assert {message.queue for message in plan.second_wave} == {Queue.RECEIPTS}


def test_first_arrivals_of_a_shipments_steps_are_in_order(plan: Plan) -> None:
    for shipment_id, steps in plan.shipments.items():
        group = [
            json.loads(message.body)["step"]
            for message in plan.first_wave
            if message.group_id == shipment_id and not message.poison
        ]

        assert list(dict.fromkeys(group)) == list(steps)


def test_unknown_step_has_others_of_its_group_before_and_after_it(plan: Plan) -> None:
    group = [message for message in plan.first_wave if message.group_id == "s-poisoned"]

    assert [message.poison for message in group] == [False, True, False]
    assert json.loads(group[1].body)["step"] not in STEPS
