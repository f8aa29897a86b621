"""How equal deliveries share one fate, and which deliveries go one after another."""

from itertools import permutations

import pytest

from idempotent_consumer.delivery import Delivery, fold, lanes
from idempotent_consumer.outcome import Outcome, Settlement
from idempotent_consumer.record import SqsRecord
from tests.unit.deliveries import FIFO_QUEUE, delivery, unreadable


def positions(deliveries: list[Delivery]) -> list[int]:
    return [each.position for each in deliveries]


def lane_positions(deliveries: list[Delivery]) -> list[list[int]]:
    return [[each.position for each in lane] for lane in lanes(deliveries)]


# -- Folding --------------------------------------------------------------------------------------


def test_deliveries_with_equal_key_and_equal_fingerprint_are_folded_onto_one() -> None:
    first, second, third = (delivery(position, key="k") for position in range(3))

    assert fold([first, second, third]) == [first]
    assert first.folds == (second, third)


def test_without_fingerprints_an_equal_key_is_enough() -> None:
    first, second = (delivery(position, key="k", fingerprint=None) for position in range(2))

    assert fold([first, second]) == [first]


def test_equal_keys_with_other_content_are_not_folded() -> None:
    deliveries = [delivery(0, key="k", fingerprint="f"), delivery(1, key="k", fingerprint="g")]

    assert fold(deliveries) == deliveries


def test_equal_content_under_other_keys_is_not_folded() -> None:
    deliveries = [delivery(0, key="k"), delivery(1, key="l")]

    assert fold(deliveries) == deliveries


def test_what_has_no_key_is_never_folded() -> None:
    deliveries = [delivery(0), delivery(1), unreadable(2), unreadable(3)]

    assert fold(deliveries) == deliveries


@pytest.mark.parametrize(("receive_counts", "leader"), [((1, 1, 1), 0), ((1, 3, 2), 1), ((1, 2, 2), 1), ((2, 1, 3), 2)])
def test_the_most_received_leads_and_of_equals_the_first(receive_counts: tuple[int, ...], leader: int) -> None:
    deliveries = [delivery(n, key="k", receive_count=count) for n, count in enumerate(receive_counts)]

    assert positions(fold(deliveries)) == [leader]


def test_the_leader_takes_the_place_of_the_first_of_its_equals() -> None:
    deliveries = [delivery(0, key="a"), delivery(1, key="b"), delivery(2, key="a", receive_count=2)]

    assert positions(fold(deliveries)) == [2, 1]


def test_equal_deliveries_of_one_group_are_folded() -> None:
    deliveries = [delivery(n, key="k", group_id="one", queue_arn=FIFO_QUEUE) for n in range(2)]

    assert positions(fold(deliveries)) == [0]


def test_equal_deliveries_of_two_fair_groups_are_folded() -> None:
    deliveries = [delivery(n, key="k", group_id=f"g-{n}") for n in range(2)]

    assert positions(fold(deliveries)) == [0]


def test_a_fold_never_changes_the_order_of_another_group() -> None:
    deliveries = [
        delivery(0, key="k", group_id="one", queue_arn=FIFO_QUEUE),
        delivery(1, key="l", group_id="two", queue_arn=FIFO_QUEUE),
        delivery(2, key="k", group_id="two", queue_arn=FIFO_QUEUE, receive_count=2),
    ]

    assert [1, 2] in lane_positions(fold(deliveries))


def test_a_fold_stays_in_its_group_so_that_its_followers_wait_for_it() -> None:
    deliveries = [
        delivery(0, key="k", group_id="one", queue_arn=FIFO_QUEUE),
        delivery(1, key="k", group_id="two", queue_arn=FIFO_QUEUE),
        delivery(2, key="l", group_id="two", queue_arn=FIFO_QUEUE),
    ]

    assert [1, 2] in lane_positions(fold(deliveries))


# -- One fate -------------------------------------------------------------------------------------


def test_folds_of_a_processed_delivery_are_duplicates() -> None:
    leader, other = fold_of_two()

    leader.settle(Settlement(Outcome.PROCESSED))

    assert other.settlement == Settlement(Outcome.DUPLICATE, "equal to s-0 of the same batch")
    assert other.is_acknowledged


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if not outcome.acknowledged])
def test_folds_of_a_delivery_that_comes_back_come_back(outcome: Outcome) -> None:
    leader, other = fold_of_two()
    error = ValueError("no")

    leader.settle(Settlement(outcome, "no", error))

    assert other.settlement == Settlement(outcome, "equal to s-0 of the same batch: no", error)
    assert not other.is_acknowledged


def fold_of_two() -> tuple[Delivery, Delivery]:
    leader, other = delivery(0, key="k"), delivery(1, key="k")
    fold([leader, other])
    return leader, other


def test_a_later_settlement_replaces_the_first_for_all() -> None:
    leader, other = fold_of_two()

    leader.settle(Settlement(Outcome.FAILED, "interrupted"))
    leader.settle(Settlement(Outcome.PROCESSED))

    assert leader.is_acknowledged
    assert other.is_acknowledged


def test_a_report_tells_what_became_of_the_delivery() -> None:
    one, error = delivery(0, key="k"), ValueError("no")
    one.is_handled, one.duration_ms = True, 12
    one.settle(Settlement(Outcome.FAILED, "no", error))

    report = one.report("orders", 0)

    assert (report.consumer, report.outcome, report.acknowledged, report.handled) == ("orders", "FAILED", False, True)
    assert (report.reason, report.error, report.duration_ms) == ("no", error, 12)
    assert (report.sqs_message_id, report.record, report.message) == ("s-0", one.record, one.message)


@pytest.mark.parametrize(
    ("sent", "age_ms"),
    [("1767225600000", 2_500), ("1767225602500", 0), ("1767225609999", 0), ("soon", None), (None, None)],
)
def test_a_report_tells_how_old_the_message_is(sent: str | None, age_ms: int | None) -> None:
    record = SqsRecord.of({"messageId": "s-0", "attributes": {"SentTimestamp": sent}})

    assert Delivery(0, record).report("orders", 1_767_225_602_500).age_ms == age_ms


def test_what_was_never_settled_is_reported_as_failed() -> None:
    report = unreadable(0).report("orders", 0)

    assert (report.outcome, report.acknowledged, report.message) == (Outcome.FAILED, False, None)


# -- Lanes ----------------------------------------------------------------------------------------


def test_a_group_of_a_fifo_queue_is_one_lane_in_its_order() -> None:
    groups = ["one", "two", "one", "two", "one"]

    found = lane_positions([delivery(n, group_id=group, queue_arn=FIFO_QUEUE) for n, group in enumerate(groups)])

    assert sorted(found) == [[0, 2, 4], [1, 3]]


@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov", "aws-iso", "aws-eusc"])
def test_the_ending_of_its_arn_makes_a_queue_fifo_in_every_partition(partition: str) -> None:
    arn = f"arn:{partition}:sqs:eu-central-1:111122223333:orders.fifo"

    assert lane_positions([delivery(n, group_id="one", queue_arn=arn) for n in range(3)]) == [[0, 1, 2]]


@pytest.mark.parametrize("name", ["orders", "orders-fifo", "fifo", "orders.fifo.copy", ""])
def test_a_group_id_on_another_queue_makes_it_fair_and_no_lane(name: str) -> None:
    arn = f"arn:aws:sqs:eu-central-1:111122223333:{name}"

    assert sorted(lane_positions([delivery(n, group_id="one", queue_arn=arn) for n in range(3)])) == [[0], [1], [2]]


def test_a_record_of_a_fifo_queue_without_group_goes_alone() -> None:
    deliveries = [delivery(n, group_id=group, queue_arn=FIFO_QUEUE) for n, group in enumerate([None, "one", None])]

    assert sorted(lane_positions(deliveries)) == [[0], [1], [2]]


def test_groups_of_the_same_name_in_two_queues_are_two_lanes() -> None:
    other_queue = FIFO_QUEUE.replace("orders", "payments")

    deliveries = [delivery(n, group_id="one", queue_arn=arn) for n, arn in enumerate([FIFO_QUEUE, other_queue])]

    assert sorted(lane_positions(deliveries)) == [[0], [1]]


def test_what_could_not_be_read_goes_alone_on_a_standard_queue() -> None:
    assert sorted(lane_positions([unreadable(0), unreadable(1)])) == [[0], [1]]


def test_what_could_not_be_read_keeps_its_place_in_its_group() -> None:
    fifo = {"group_id": "one", "queue_arn": FIFO_QUEUE}

    assert lane_positions([delivery(0, **fifo), unreadable(1, **fifo), delivery(2, **fifo)]) == [[0, 1, 2]]


def test_the_most_received_lane_comes_first() -> None:
    deliveries = [delivery(n, receive_count=count) for n, count in enumerate([1, 5, 2, 4, 3])]

    assert lane_positions(deliveries) == [[1], [3], [4], [2], [0]]


def test_a_group_counts_as_received_as_often_as_its_head() -> None:
    deliveries = [
        delivery(0, receive_count=2),
        delivery(1, receive_count=1, group_id="one", queue_arn=FIFO_QUEUE),
        delivery(2, receive_count=9, group_id="one", queue_arn=FIFO_QUEUE),
    ]

    assert lane_positions(deliveries) == [[0], [1, 2]]


def test_ties_come_in_an_order_of_their_own_wherever_they_stand_in_the_batch() -> None:
    deliveries = [delivery(n) for n in range(4)]

    orders = {tuple(map(tuple, lane_positions(list(order)))) for order in permutations(deliveries)}

    assert len(orders) == 1


def test_no_neighbour_is_ahead_of_another_at_every_receive() -> None:
    def first_at(receive_count: int) -> int:
        [[first], _] = lane_positions([delivery(n, receive_count=receive_count) for n in range(2)])
        return first

    assert {first_at(receive_count) for receive_count in range(1, 6)} == {0, 1}
