"""A redrive loses nothing, whatever ends it, and takes what was meant and nothing else."""

from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError

from idempotent_consumer_operator.choosing import Choice
from idempotent_consumer_operator.errors import AwsError
from tests.operator.fake_queues import Killed
from tests.operator.redriving import Ground


def test_every_letter_is_in_the_queue_and_none_is_left() -> None:
    ground = Ground()
    bodies = [f"order {number}" for number in range(25)]
    for body in bodies:
        ground.give_up(body)

    tally = ground.redrive()

    assert (tally.redriven, tally.skipped, tally.failures, tally.unseen) == (25, 0, [], 0)
    assert sorted(ground.sqs.bodies(ground.queue)) == sorted(bodies)
    assert ground.sqs.bodies(ground.dead_letters) == []


@pytest.mark.parametrize(
    ("choice", "taken"),
    [
        (Choice(reason="no LINES"), ["a", "c"]),
        (Choice(error="OutOfStock"), ["b"]),
        (Choice(key="place-order#c"), ["c"]),
        (Choice(reason="lines", key="place-order#b"), []),
    ],
)
def test_only_what_the_filters_name_is_redriven_and_the_rest_is_visible_again(choice: Choice, taken: list[str]) -> None:
    ground = Ground()
    ground.give_up("a", key="place-order#a")
    ground.give_up("b", key="place-order#b", error="OutOfStock", reason="OutOfStock: tea")
    ground.give_up("c", key="place-order#c")

    tally = ground.redrive(choice)

    assert ground.sqs.bodies(ground.queue) == taken
    assert (tally.redriven, tally.skipped) == (len(taken), 3 - len(taken))
    assert ground.sqs.visible(ground.dead_letters) == [body for body in "abc" if body not in taken]


def test_what_is_given_up_again_at_once_is_redriven_once_and_named() -> None:
    """The consumer is as fast as the redrive, and nothing has been mended: round and round it would go."""
    ground = Ground()
    for body in "abc":
        ground.give_up(body, sqs_message_id=f"first-{body}")
    redriving = ground.prepared()

    def reject_what_has_arrived(name: str) -> None:
        for held in ground.sqs.queues.pop(ground.queue, []):
            ground.give_up(held.body, sqs_message_id=f"first-{held.body}")

    ground.sqs.before = reject_what_has_arrived
    tally = redriving.run()

    assert (tally.redriven, tally.skipped, tally.returned) == (3, 3, 3)
    assert sorted(ground.sqs.bodies(ground.dead_letters)) == ["a", "b", "c"]


def test_two_letters_of_one_message_are_both_redriven() -> None:
    """A crash between copy and acknowledgement left two; the consumer makes them one."""
    ground = Ground()
    for _ in range(2):
        ground.give_up("a", sqs_message_id="first")
        ground.clock.sleep_ms(120_000)

    tally = ground.redrive(rate=1)

    assert (tally.redriven, tally.returned) == (2, 0)
    assert ground.sqs.bodies(ground.dead_letters) == []


def test_a_redrive_ends_although_what_it_left_keeps_coming_back() -> None:
    ground = Ground()
    for number in range(30):
        ground.give_up(f"order {number}", error="OutOfStock")

    # Each request takes longer than anything stays hidden.
    ground.sqs.before = lambda name: ground.clock.sleep_ms(1_000_000)
    tally = ground.redrive(Choice(error="InvalidOrder"))

    assert tally.redriven == 0
    assert tally.skipped <= 30
    assert len(ground.sqs.bodies(ground.dead_letters)) == 30


def test_letters_of_another_queue_are_left_and_those_that_name_none_are_taken() -> None:
    ground = Ground()
    ground.give_up("of orders", queue_arn="arn:aws:sqs:::orders")
    ground.give_up("of payments", queue_arn="arn:aws:sqs:::payments")
    ground.sqs.put(ground.dead_letters, "moved", system={"DeadLetterQueueSourceArn": "arn:aws:sqs:::payments"})
    ground.give_up("of nobody")

    tally = ground.redrive(Choice(queue_arn="arn:aws:sqs:::orders"))

    assert ground.sqs.bodies(ground.queue) == ["of orders", "of nobody"]
    assert (tally.redriven, tally.skipped, tally.elsewhere) == (2, 2, 2)
    assert ground.sqs.visible(ground.dead_letters) == ["of payments", "moved"]


def test_what_others_hold_is_waited_for_no_longer_than_it_is_held() -> None:
    ground = Ground()
    for body in ("a", "b", "c"):
        ground.give_up(body)
    ground.sqs.receive_message(QueueUrl=ground.dead_letters, MaxNumberOfMessages=2, VisibilityTimeout=30)
    began_ms = ground.clock.now_ms()

    assert ground.redrive(wait_s=40).redriven == 3
    assert 30_000 <= ground.clock.now_ms() - began_ms <= 31_000


def test_what_was_not_seen_is_counted() -> None:
    ground, fifo = Ground(), Ground(fifo=True)
    ground.give_up("a")
    ground.give_up("b")
    ground.sqs.receive_message(QueueUrl=ground.dead_letters, MaxNumberOfMessages=1, VisibilityTimeout=600)
    for number in range(12):
        fifo.give_up(str(number), group="customer")

    assert ground.redrive().unseen == 1
    assert fifo.redrive(Choice(error="OutOfStock")).unseen == 2  # behind ten of their group


@pytest.mark.parametrize("fifo", [False, True])
def test_a_count_that_lags_is_not_believed_where_everything_was_redriven(fifo: bool) -> None:
    ground = Ground(fifo=fifo)
    ground.give_up("order", group="customer" if fifo else None)
    ground.sqs.lag = 1

    tally = ground.redrive()

    assert (tally.redriven, tally.unseen) == (1, 0)


def test_what_is_left_is_received_once() -> None:
    ground = Ground()
    for number in range(23):
        ground.give_up(f"order {number}")

    ground.redrive(Choice(error="OutOfStock"))

    assert [held.receives for held in ground.sqs.queues[ground.dead_letters]] == [1] * 23


def test_no_more_than_the_limit_is_redriven() -> None:
    ground = Ground()
    for number in range(25):
        ground.give_up(f"order {number}")

    tally = ground.redrive(limit=12)

    assert tally.redriven == len(ground.sqs.bodies(ground.queue)) == 12
    assert len(ground.sqs.visible(ground.dead_letters)) == 13


def test_a_dry_run_says_how_many_and_changes_nothing() -> None:
    ground = Ground()
    for body in ("a", "b", "c"):
        ground.give_up(body, error=body)

    tally = ground.redrive(Choice(error="b"), is_dry=True)

    assert (tally.redriven, tally.skipped) == (1, 2)
    assert ground.sqs.visible(ground.dead_letters) == ["a", "b", "c"]
    assert not {"send", "delete"} & set(ground.sqs.requests)


def test_letters_go_no_faster_than_the_rate() -> None:
    ground = Ground()
    for number in range(20):
        ground.give_up(f"order {number}")
    began_ms = ground.clock.now_ms()

    ground.redrive(rate=2)

    assert 8_900 <= ground.clock.now_ms() - began_ms <= 10_100
    assert ground.sqs.requests.count("send") == 10


def test_a_slow_redrive_holds_no_letter_while_it_waits() -> None:
    ground = Ground()
    for number in range(3):
        ground.give_up(f"order {number}")
    waiting: list[int] = []

    def count(name: str) -> None:
        if name == "receive":
            waiting.append(len(ground.sqs.visible(ground.dead_letters)))

    ground.sqs.before = count
    ground.redrive(rate=0.1)

    assert waiting == [3, 2, 1, 0]


# -- what ends it -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moment", "step", "most_copies"),
    [
        ("before", "receive", 25),
        ("after", "receive", 25),
        ("before", "send", 25),
        ("after", "send", 35),
        ("before", "delete", 30),
        ("after", "delete", 25),
    ],
)
def test_killed_at_any_step_and_run_again_nothing_is_lost_and_only_what_was_under_way_goes_twice(
    moment: str, step: str, most_copies: int
) -> None:
    ground = Ground()
    bodies = {f"order {number}" for number in range(25)}
    for body in bodies:
        ground.give_up(body)
    ground.sqs.killing = (moment, step, 2)

    with pytest.raises(Killed):
        ground.redrive()
    ground.sqs.revive()
    tally = ground.redrive(wait_s=120)

    arrived = ground.sqs.bodies(ground.queue)
    assert set(arrived) == bodies
    assert len(arrived) == most_copies
    assert ground.sqs.bodies(ground.dead_letters) == []
    assert tally.failures == []


def test_killed_between_send_and_delete_and_run_again_within_minutes_a_fifo_queue_has_each_once() -> None:
    ground = Ground(fifo=True)
    for number in range(12):
        ground.give_up(f"order {number}", group=f"customer {number % 3}")
    ground.sqs.killing = ("before", "delete", 0)

    with pytest.raises(Killed):
        ground.redrive()
    ground.sqs.revive()
    ground.redrive(wait_s=120)

    assert sorted(ground.sqs.bodies(ground.queue)) == sorted(f"order {number}" for number in range(12))
    assert ground.sqs.bodies(ground.dead_letters) == []


def test_both_copies_of_a_letter_that_was_sent_twice_have_the_same_first_id() -> None:
    ground = Ground()
    moved_by_sqs = ground.sqs.put(ground.dead_letters, "order")
    ground.sqs.killing = ("before", "delete", 0)

    with pytest.raises(Killed):
        ground.redrive()
    ground.sqs.revive()
    ground.redrive(wait_s=120)

    copies = ground.arrived()
    assert len(copies) == 2
    for copy in copies:
        assert moved_by_sqs in copy.attributes["dead-letter"]["StringValue"]


def test_asked_to_stop_it_ends_in_between_and_holds_nothing() -> None:
    ground = Ground()
    for number in range(40):
        ground.give_up(f"order {number}")

    tally = ground.redrive(should_stop=lambda: ground.sqs.requests.count("delete") >= 2)

    assert tally.redriven == len(ground.sqs.bodies(ground.queue)) == 20
    assert len(ground.sqs.visible(ground.dead_letters)) == 20


def test_asked_to_stop_while_it_waits_for_its_rate_it_does_not_wait_to_the_end() -> None:
    ground = Ground()
    for number in range(3):
        ground.give_up(f"order {number}")
    began_ms = ground.clock.now_ms()

    ground.redrive(rate=0.01, should_stop=lambda: ground.clock.now_ms() - began_ms >= 1_000)

    assert ground.clock.now_ms() - began_ms < 2_000
    assert len(ground.sqs.visible(ground.dead_letters)) == 2


def refusing(step: str) -> Callable[[str], None]:
    def refuse(name: str) -> None:
        if name == step:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, step)

    return refuse


def test_asked_to_stop_while_it_waits_for_what_others_hold_it_does_not_wait_to_the_end() -> None:
    ground = Ground()
    ground.give_up("order")
    ground.sqs.receive_message(QueueUrl=ground.dead_letters, MaxNumberOfMessages=1, VisibilityTimeout=600)
    began_ms = ground.clock.now_ms()

    tally = ground.redrive(wait_s=60, should_stop=lambda: ground.clock.now_ms() - began_ms >= 1_000)

    assert ground.clock.now_ms() - began_ms < 2_000
    assert (tally.redriven, tally.unseen) == (0, 1)


# -- what fails ---------------------------------------------------------------------------------------


def test_a_letter_that_sqs_does_not_take_stays_and_is_named() -> None:
    ground = Ground()
    for body in ("a", "b", "c"):
        ground.give_up(body)
    ground.sqs.refused["send"] = {"b"}

    tally = ground.redrive()

    assert ground.sqs.bodies(ground.queue) == ["a", "c"]
    assert ground.sqs.visible(ground.dead_letters) == ["b"]
    assert [(failure.letter.body, failure.is_sent) for failure in tally.failures] == [("b", False)]
    assert tally.redriven == 2


def test_a_letter_that_sqs_does_not_delete_is_named_and_not_sent_twice() -> None:
    ground = Ground()
    for body in ("a", "b"):
        ground.give_up(body)
    ground.sqs.refused["delete"] = {"b"}

    tally = ground.redrive(wait_s=120)

    assert ground.sqs.bodies(ground.queue) == ["a", "b"]
    assert ground.sqs.bodies(ground.dead_letters) == ["b"]
    assert [(failure.letter.body, failure.is_sent) for failure in tally.failures] == [("b", True)]
    assert (tally.redriven, tally.failed) == (2, 0)


def test_letters_that_sqs_does_not_delete_count_for_the_limit() -> None:
    ground = Ground()
    for body in ("a", "b", "c"):
        ground.give_up(body)
    ground.sqs.refused["delete"] = {"a", "b", "c"}

    ground.redrive(limit=1)

    assert len(ground.sqs.bodies(ground.queue)) == 1


def test_what_was_sent_is_named_where_no_request_to_delete_succeeds_and_is_visible_again() -> None:
    ground = Ground()
    for body in ("a", "b", "c"):
        ground.give_up(body)
    ground.sqs.before = refusing("delete")
    work = ground.prepared()

    with pytest.raises(AwsError, match="AccessDenied"):
        work.run()

    assert sorted(ground.sqs.bodies(ground.queue)) == ["a", "b", "c"]
    assert [failure.is_sent for failure in work.tally.failures] == [True, True, True]
    assert (work.tally.redriven, work.tally.failed) == (3, 0)
    assert ground.sqs.visible(ground.dead_letters) == ["a", "b", "c"]


def test_where_sqs_takes_nothing_the_redrive_gives_up_and_lets_all_go() -> None:
    ground = Ground()
    bodies = {f"order {number}" for number in range(100)}
    for body in bodies:
        ground.give_up(body)
    ground.sqs.refused["send"] = bodies

    with pytest.raises(AwsError, match="SQS takes no letter: Refused"):
        ground.redrive()

    assert ground.sqs.requests.count("send") == 3
    assert len(ground.sqs.visible(ground.dead_letters)) == 100


# -- order --------------------------------------------------------------------------------------------


def test_letters_of_a_group_arrive_in_their_order() -> None:
    ground = Ground(fifo=True)
    for number in range(40):
        ground.give_up(f"{number:02}", group=f"customer {number % 3}")

    ground.redrive()

    for group in range(3):
        arrived = [held.body for held in ground.arrived() if held.system["MessageGroupId"] == f"customer {group}"]
        assert arrived == [f"{number:02}" for number in range(40) if number % 3 == group]


def test_what_follows_a_letter_that_was_not_sent_stays_behind_it_and_other_groups_go_on() -> None:
    ground = Ground(fifo=True)
    for number in range(30):
        ground.give_up(f"{number:02}", group="ab"[number % 2])
    ground.sqs.refused["send"] = {"04"}

    ground.redrive()

    arrived = ground.sqs.bodies(ground.queue)
    assert [body for body in arrived if int(body) % 2 == 0] == ["00", "02"]
    assert [body for body in arrived if int(body) % 2] == [f"{number:02}" for number in range(1, 30, 2)]
    assert ground.sqs.visible(ground.dead_letters) == [f"{number:02}" for number in range(4, 30, 2)]
