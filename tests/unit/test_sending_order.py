"""Requests are as large as SQS takes them, and no group loses its order, whatever fails."""

from collections.abc import Iterator
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as some

from idempotent_consumer.clock import Deadline
from idempotent_consumer.outgoing import size_of
from idempotent_consumer.sending import GROUP_ENDED, UNSENDABLE, Entry, requests_of, send_entries
from idempotent_consumer.targets import MOST_ENTRIES, NotTaken, QueueTarget, Taken
from idempotent_consumer.testing import FakeClock
from tests.unit.fake_sqs import (
    LOST,
    NOBODY_THERE,
    Answering,
    FakeSqs,
    entry,
    losing_the_answer,
    refusing,
    send,
    silent_about,
    taken,
)

# -- Splitting ------------------------------------------------------------------------------------


def test_messages_go_in_tens_and_are_answered_in_their_order() -> None:
    sqs, bodies = FakeSqs(), [str(number) for number in range(23)]

    assert send(sqs, *bodies) == taken(*bodies)
    assert sqs.asked == [bodies[:10], bodies[10:20], bodies[20:]]


def test_no_messages_make_no_request() -> None:
    sqs = FakeSqs()

    assert send(sqs) == []
    assert sqs.requests == []


def test_what_is_too_large_together_goes_apart() -> None:
    large = "é" * (QueueTarget.largest_request_bytes * 6 // 10 // 2)  # 60 % of what a request takes, and two bytes each

    assert [len(request) for request in requests_of([entry(large), entry(large), entry("small")], QueueTarget)] == [
        1,
        2,
    ]


ATTRIBUTES = some.dictionaries(
    some.text("ab", min_size=1, max_size=3),
    some.builds(lambda value: {"DataType": "Binary", "BinaryValue": bytes(value)}, some.integers(0, 400_000)),
    max_size=2,
)
ENTRIES = some.builds(
    lambda size, attributes, group: Entry({"MessageBody": "x" * size, "MessageAttributes": attributes}, group),
    some.one_of(some.integers(1, 100), some.integers(100_000, QueueTarget.largest_request_bytes // 5)),
    ATTRIBUTES,
    some.sampled_from([None, None, "a", "b", "c"]),
)


@given(some.lists(ENTRIES, max_size=35))
def test_requests_hold_all_messages_once_in_order_and_as_many_as_sqs_takes(entries: list[Entry]) -> None:
    requests = list(requests_of(entries, QueueTarget))

    assert [id(each) for request in requests for each in request] == [id(each) for each in entries]
    assert all(is_fitting(request) for request in requests)
    assert not any(is_fitting([*one, other[0]]) for one, other in pairwise(requests))


def is_fitting(request: list[Entry]) -> bool:
    groups = [each.group for each in request if each.group is not None]
    size = sum(size_of(each.fields) for each in request)
    return (
        1 <= len(request) <= MOST_ENTRIES
        and size <= QueueTarget.largest_request_bytes
        and len(groups) == len(set(groups))
    )


def test_messages_are_asked_for_only_when_they_are_needed() -> None:
    sqs, made = FakeSqs(), []

    def messages() -> Iterator[Entry]:
        for number in range(25):
            made.append(number)
            yield entry(str(number))

    answers = send_entries(QueueTarget(sqs, "queue"), messages(), Deadline(FakeClock()))  # type: ignore[arg-type]

    assert (next(answers), len(made), len(sqs.requests)) == (Taken("sqs-0"), 10, 1)


# -- Groups ---------------------------------------------------------------------------------------


def test_no_two_messages_of_one_group_are_in_one_request() -> None:
    sqs = FakeSqs()

    send(sqs, entry("a1", "a"), entry("b1", "b"), entry("a2", "a"), entry("c1", "c"), entry("c2", "c"))

    assert sqs.asked == [["a1", "b1"], ["a2", "c1"], ["c2"]]


def test_what_comes_after_an_unsent_message_of_its_group_is_not_sent_and_other_groups_go_on() -> None:
    sqs = FakeSqs(refusing("a1", sender_fault=True))

    answers = send(sqs, entry("a1", "a"), entry("b1", "b"), entry("a2", "a"), entry("b2", "b"), entry("a3", "a"))

    assert [each.code for each in answers if isinstance(each, NotTaken)] == ["InternalError", GROUP_ENDED, GROUP_ENDED]
    assert sqs.arrived == ["b1", "b2"]
    assert [each for each in answers if isinstance(each, Taken)] == taken("b1", "b2")


def test_a_message_that_must_not_be_sent_ends_its_group_and_no_other() -> None:
    sqs = FakeSqs()

    answers = send(sqs, entry("a1", "a"), Entry({}, "a", refusal="too large"), entry("a3", "a"), entry("b1", "b"))

    assert answers[1] == NotTaken(UNSENDABLE, "too large")
    assert [isinstance(each, Taken) for each in answers] == [True, False, False, True]
    assert sqs.arrived == ["a1", "b1"]


def test_without_groups_an_unsent_message_stops_nothing() -> None:
    sqs = FakeSqs(LOST, for_ever=True)

    assert [isinstance(each, NotTaken) for each in send(sqs, Entry({}, refusal="no"), "a", "b")] == [True, True, True]
    assert sqs.asked[0] == ["a", "b"]


HAPPENINGS: dict[str, Exception | Answering] = {
    "taken": FakeSqs.take,
    "lost": losing_the_answer,
    "unreached": NOBODY_THERE,
    "first refused": lambda sqs, entries: refusing(entries[0]["MessageBody"], sender_fault=True)(sqs, entries),
    "first failed": lambda sqs, entries: refusing(entries[0]["MessageBody"])(sqs, entries),
    "first forgotten": lambda sqs, entries: silent_about(entries[0]["MessageBody"])(sqs, entries),
}


@given(
    some.lists(some.sampled_from("abc"), max_size=30),
    some.lists(some.sampled_from(list(HAPPENINGS)), max_size=40),
)
def test_whatever_fails_the_messages_of_a_group_arrive_in_order_without_a_gap(
    groups: list[str], happenings: list[str]
) -> None:
    sqs = FakeSqs(*(HAPPENINGS[each] for each in happenings))

    answers = send(sqs, *(entry(f"{at:02}", group) for at, group in enumerate(groups)))

    for group in set(groups):
        own = [f"{at:02}" for at, each in enumerate(groups) if each == group]
        arrived = list(dict.fromkeys(body for body in sqs.arrived if body in own))  # SQS folds a repetition
        known = [body for body in own if isinstance(answers[int(body)], Taken)]
        assert arrived == own[: len(arrived)]
        assert known == own[: len(known)]
        assert len(known) <= len(arrived) <= len(known) + 1
