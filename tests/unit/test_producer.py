"""Each message is accounted for, by its id, and may be sent again."""

from datetime import timedelta
from typing import Any

import pytest

from idempotent_consumer.errors import NotSentError, UnsendableMessageError
from idempotent_consumer.producer import OutgoingMessage, Producer, Sent, Unsent
from idempotent_consumer.testing import FakeClock
from tests.unit.fake_sqs import LOST, FakeSqs, losing_the_answer, refusing

STANDARD = "https://sqs.eu-central-1.amazonaws.com/111122223333/orders"
FIFO = f"{STANDARD}.fifo"


def producer(sqs: FakeSqs, url: str = STANDARD) -> Producer:
    return Producer(url, client=sqs, clock=FakeClock())  # type: ignore[arg-type]


def order(message_id: str = "o-1", body: Any = "{}", **options: Any) -> OutgoingMessage:
    return OutgoingMessage(message_id=message_id, body=body, **options)


def test_a_message_that_was_sent_comes_with_the_id_that_sqs_gave_it() -> None:
    message = order(body="a")

    assert producer(FakeSqs()).send(message) == Sent(message, "sqs-a")


def test_a_message_that_sqs_would_refuse_is_not_sent_and_says_what_to_do() -> None:
    sqs = FakeSqs()

    with pytest.raises(UnsendableMessageError, match=r"^the body is empty"):
        producer(sqs).send(order(body=""))

    assert sqs.requests == []


def test_a_message_that_was_not_sent_raises_and_says_whether_it_may_have_arrived() -> None:
    message = order(body="a")

    with pytest.raises(NotSentError, match=r"^1 not sent: 'o-1' \(ReadTimeoutError: Read timeout") as raised:
        producer(FakeSqs(LOST, for_ever=True)).send(message)

    (unsent,) = raised.value.unsent
    assert (unsent.message, unsent.message_id, unsent.may_have_arrived) == (message, "o-1", True)


def test_a_report_has_a_result_for_each_message_in_order() -> None:
    sqs = FakeSqs(refusing("b", code="InvalidMessageContents", sender_fault=True))
    messages = [order("o-1", "a"), order("o-2", "b"), order("o-3", ""), order("o-4", "d")]

    report = producer(sqs).send_all(iter(messages))

    assert [each.message for each in report.results] == messages
    assert [each.sqs_message_id for each in report.sent] == ["sqs-a", "sqs-d"]
    assert [(each.message_id, each.code) for each in report.unsent] == [
        ("o-2", "InvalidMessageContents"),
        ("o-3", "Unsendable"),
    ]
    assert report.unsent[1].reason == "the body is empty: SQS takes one character at least"


def test_a_message_is_found_in_the_report_by_its_id_as_often_as_it_was_given() -> None:
    sqs = FakeSqs(refusing("b", sender_fault=True))
    report = producer(sqs).send_all([order("o-1", "a"), order("o-1", "b"), order("o-2", "c")])

    assert [type(each) for each in report.of("o-1")] == [Sent, Unsent]
    assert [each.message_id for each in report.of("o-2")] == ["o-2"]
    assert report.of("o-3") == []


def test_a_report_raises_for_all_that_was_not_sent_and_only_then() -> None:
    producer(FakeSqs()).send_all([order()]).raise_for_unsent()

    with pytest.raises(NotSentError, match=r"^12 not sent: 'o-0' .*'o-9' .* and 2 more$") as raised:
        producer(FakeSqs()).send_all(order(f"o-{at}", "") for at in range(12)).raise_for_unsent()

    assert [each.message_id for each in raised.value.unsent] == [f"o-{at}" for at in range(12)]


def test_no_messages_are_all_sent() -> None:
    assert producer(FakeSqs()).send_all([]).results == []


def test_what_is_unsent_may_be_sent_again_as_it_is() -> None:
    sqs = FakeSqs(losing_the_answer, *[LOST] * 7)
    report = producer(sqs).send_all([order(body="a")])

    again = producer(sqs).send_all(each.message for each in report.unsent)

    assert [each.sqs_message_id for each in again.sent] == ["sqs-a"]
    assert sqs.requests[0] == sqs.requests[-1]


def test_a_message_that_cannot_be_sent_holds_its_group_up_and_no_other() -> None:
    messages = [
        order("a1", group_id="a"),
        order("a2", "", group_id="a"),
        order("a3", group_id="a"),
        order("b1", group_id="b"),
    ]

    report = producer(FakeSqs(), FIFO).send_all(messages)

    assert [each.message_id for each in report.sent] == ["a1", "b1"]
    assert [(each.message_id, each.code) for each in report.unsent] == [
        ("a2", "Unsendable"),
        ("a3", "EarlierMessageNotSent"),
    ]


@pytest.mark.parametrize("group_id", [None, [], 7, ""])
def test_a_message_without_a_usable_group_harms_no_neighbour(group_id: Any) -> None:
    report = producer(FakeSqs(), FIFO).send_all([order("o-1", group_id=group_id), order("o-2", group_id="g")])

    assert [each.message_id for each in report.sent] == ["o-2"]


def test_on_a_standard_queue_a_group_holds_nothing_up() -> None:
    sqs = FakeSqs()

    report = producer(sqs).send_all(order(body=body, group_id="tenant-1") for body in ("a", "", "c"))

    assert [each.sqs_message_id for each in report.sent] == ["sqs-a", "sqs-c"]
    assert sqs.asked == [["a", "c"]]


def test_a_message_that_would_pass_for_a_redriven_one_is_refused_and_harms_no_neighbour() -> None:
    """A handler that sends to its own queue with all attributes of a redriven message would make it a DUPLICATE."""
    letter = '{"sqs_message_id": "the-first", "queue_arn": "arn:aws:sqs:eu-central-1:111122223333:orders"}'
    sqs = FakeSqs()

    report = producer(sqs).send_all([order("o-1", attributes={"dead-letter": letter}), order("o-2", body="b")])

    assert [(each.message_id, each.code) for each in report.unsent] == [("o-1", "Unsendable")]
    assert sqs.arrived == ["b"]


def test_a_producer_that_has_lived_for_hours_tries_again_as_a_new_one_does() -> None:
    sqs, clock = FakeSqs(LOST), FakeClock()
    long_lived = Producer(STANDARD, client=sqs, clock=clock)  # type: ignore[arg-type]
    clock.advance(timedelta(hours=5))

    assert long_lived.send(order(body="a")).sqs_message_id == "sqs-a"


def test_an_error_of_the_source_comes_out_as_it_is() -> None:
    def source() -> Any:
        yield order()
        raise LookupError("no more orders")

    with pytest.raises(LookupError, match="no more orders"):
        producer(FakeSqs()).send_all(source())
