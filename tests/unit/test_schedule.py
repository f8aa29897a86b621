"""The three rules of the schedule, each by itself; test_schedule_model.py has them all at once."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from idempotent_consumer.delivery import Delivery
from idempotent_consumer.outcome import Outcome, Settlement
from idempotent_consumer.schedule import Schedule
from tests.unit.deliveries import delivery

PROCESSED, FAILED = Settlement(Outcome.PROCESSED), Settlement(Outcome.FAILED, "no")


def admit(schedule: Schedule, *expected: Delivery, most: int = 25) -> None:
    assert schedule.take(most) == list(expected)
    schedule.admitted(expected, 0)


def handle(schedule: Schedule, expected: Delivery, settlement: Settlement = PROCESSED) -> None:
    assert schedule.take(25) is expected
    expected.settle(settlement)
    schedule.settled(expected)


def reason_of(one: Delivery) -> str:
    assert one.settlement is not None
    assert one.settlement.outcome is Outcome.DEFERRED
    return one.settlement.reason


@pytest.mark.parametrize("heads_only", [True, False])
def test_an_empty_batch_is_done_at_once(heads_only: bool) -> None:
    assert Schedule([], heads_only=heads_only).take(25) is None


def test_a_window_holds_no_more_than_was_asked_for() -> None:
    one, two, three = (delivery(n) for n in range(3))
    schedule = Schedule([[one], [two], [three]], heads_only=False)

    assert schedule.take(2) == [one, two]
    assert schedule.take(2) == [three]


def test_what_is_admitted_is_handled_before_more_is_admitted() -> None:
    one, two = delivery(0), delivery(1)
    schedule = Schedule([[one], [two]], heads_only=False)

    admit(schedule, one, most=1)

    assert schedule.take(1) is one


def test_an_admitted_delivery_knows_since_when() -> None:
    one, two = delivery(0), delivery(1)
    schedule = Schedule([[one], [two]], heads_only=False)
    assert schedule.take(25) == [one, two]

    two.settle(Settlement(Outcome.IN_FLIGHT))
    schedule.admitted([one, two], 7)

    assert (one.admitted_ms, two.admitted_ms) == (7, None)


def test_what_its_mode_has_settled_is_not_handled() -> None:
    one, two = delivery(0), delivery(1)
    schedule = Schedule([[one], [two]], heads_only=False)
    window = schedule.take(25)

    one.settle(Settlement(Outcome.DUPLICATE))
    schedule.admitted([one, two], 0)

    assert window == [one, two]
    assert schedule.take(25) is two


def test_what_is_settled_from_the_start_is_not_admitted() -> None:
    one, two = delivery(0), delivery(1)
    one.settle(Settlement(Outcome.REJECTED))

    admit(Schedule([[one], [two]], heads_only=False), two)


def test_in_a_lane_each_waits_for_the_one_before_it() -> None:
    one, two = delivery(0), delivery(1)
    schedule = Schedule([[one, two]], heads_only=False)

    admit(schedule, one, two)

    handle(schedule, one)
    handle(schedule, two)
    assert schedule.take(25) is None


@pytest.mark.parametrize("heads_only", [True, False])
def test_a_lane_stops_at_its_first_delivery_that_is_not_acknowledged(heads_only: bool) -> None:
    one, two, three, other = (delivery(n) for n in range(4))
    schedule = Schedule([[one, two, three], [other]], heads_only=heads_only)

    admit(schedule, *([one, other] if heads_only else [one, two, three, other]))
    handle(schedule, one, FAILED)

    assert reason_of(two) == reason_of(three) == "s-0, before it in its group, was not acknowledged"
    handle(schedule, other)
    assert schedule.take(25) is None


def test_a_lane_goes_on_after_a_duplicate() -> None:
    one, two = delivery(0), delivery(1)
    one.settle(Settlement(Outcome.DUPLICATE))
    schedule = Schedule([[one, two]], heads_only=True)

    admit(schedule, two)
    handle(schedule, two)


def test_with_heads_only_a_lane_that_stops_leaves_nothing_admitted() -> None:
    one, two = delivery(0), delivery(1)
    schedule = Schedule([[one, two]], heads_only=True)

    admit(schedule, one)
    handle(schedule, one, FAILED)

    assert schedule.take(25) is None
    assert two.admitted_ms is None


def test_equal_keys_are_never_in_one_window() -> None:
    one, two, three = delivery(0, key="k"), delivery(1, key="k"), delivery(2, key="l")
    schedule = Schedule([[one], [two], [three]], heads_only=False)

    admit(schedule, one, three)
    handle(schedule, one)

    handle(schedule, three)
    admit(schedule, two)
    handle(schedule, two)


def test_the_later_of_equal_keys_is_admitted_even_if_the_earlier_failed() -> None:
    one, two = delivery(0, key="k"), delivery(1, key="k")
    schedule = Schedule([[one], [two]], heads_only=False)

    admit(schedule, one)
    handle(schedule, one, FAILED)

    admit(schedule, two)


@pytest.mark.parametrize("stops_first", [True, False])
def test_a_lane_that_stops_while_it_waits_for_a_key_leaves_the_key_to_the_next(stops_first: bool) -> None:
    holder, failing, waiting, last = delivery(0, key="k"), delivery(1), delivery(2, key="k"), delivery(3, key="k")
    schedule = Schedule([[holder], [failing, waiting], [last]], heads_only=False)
    admit(schedule, holder, failing)
    assert [schedule.take(25), schedule.take(25)] == [holder, failing]

    holder.settle(PROCESSED)
    failing.settle(FAILED)
    for one in [failing, holder] if stops_first else [holder, failing]:
        schedule.settled(one)

    admit(schedule, last)
    assert reason_of(waiting)


def test_what_is_settled_already_never_waits_for_a_key() -> None:
    holder, head, settled, last = delivery(0, key="k"), delivery(1), delivery(2, key="k"), delivery(3, key="k")
    settled.settle(Settlement(Outcome.REJECTED))
    schedule = Schedule([[holder], [head, settled], [last]], heads_only=False)

    admit(schedule, holder, head)
    handle(schedule, holder)
    handle(schedule, head)

    admit(schedule, last)


def test_what_has_no_key_never_waits_for_a_key() -> None:
    deliveries = [delivery(n) for n in range(3)]

    admit(Schedule([[each] for each in deliveries], heads_only=False), *deliveries)


# -- Several workers ------------------------------------------------------------------------------


def test_a_worker_admits_the_rest_of_a_lane_while_another_handles_its_head() -> None:
    one, two, three = (delivery(n) for n in range(3))
    schedule = Schedule([[one, two, three]], heads_only=False)

    admit(schedule, one, most=1)

    assert schedule.take(2) is one
    assert schedule.take(2) == [two, three]


def test_a_worker_waits_for_what_only_another_workers_result_can_tell() -> None:
    one, two = delivery(0), delivery(1)
    schedule = Schedule([[one, two]], heads_only=True)
    admit(schedule, one)
    assert schedule.take(25) is one

    other = in_thread(lambda: schedule.take(25))
    one.settle(PROCESSED)
    schedule.settled(one)

    assert other.result(timeout=30) == [two]


def test_every_waiting_worker_learns_that_all_is_done() -> None:
    one = delivery(0)
    schedule = Schedule([[one]], heads_only=True)
    admit(schedule, one)
    assert schedule.take(25) is one

    others = [in_thread(lambda: schedule.take(25)) for _ in range(3)]
    one.settle(PROCESSED)
    schedule.settled(one)

    assert [other.result(timeout=30) for other in others] == [None, None, None]


@pytest.mark.parametrize("heads_only", [True, False])
def test_workers_in_threads_handle_everything_once_and_each_lane_in_its_order(heads_only: bool) -> None:
    lanes = [[delivery(20 * lane + n, key=f"k-{(lane + n) % 7}") for n in range(20)] for lane in range(10)]
    schedule, handled = Schedule(lanes, heads_only=heads_only), list[Delivery]()

    def work() -> None:
        while taken := schedule.take(3):
            if isinstance(taken, Delivery):
                handled.append(taken)
                taken.settle(PROCESSED)
                schedule.settled(taken)
            else:
                schedule.admitted(taken, 0)

    for worker in [in_thread(work) for _ in range(4)]:
        worker.result(timeout=60)

    assert [[one for one in handled if one in lane] for lane in lanes] == lanes


def in_thread(work: Callable[[], Any]) -> Future[Any]:
    """Start a worker, one that does not keep the tests from ending should it wait for ever."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
