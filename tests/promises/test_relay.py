"""What is promised of the relay: what is stored is sent, always under the same ids, and nothing blocks the rest."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from idempotent_consumer.errors import ConfigurationError, NotAStreamEventError
from idempotent_consumer.outbound import Outgoing, ToBus, ToQueue, ToTopic
from idempotent_consumer.relay import OutboxRelay
from idempotent_consumer.settings import RELAY_PATIENCE_MS, Settings
from idempotent_consumer.stored_outbox import write_message, write_outbox
from tests.promises.services import NOBODY_THERE, PARKING, Relay, refusal

A = "https://sqs.eu-central-1.amazonaws.com/111122223333/a"
B = "https://sqs.eu-central-1.amazonaws.com/111122223333/b"
FIFO = "https://sqs.eu-central-1.amazonaws.com/111122223333/c.fifo"
TOPIC = "arn:aws:sns:eu-central-1:111122223333:topic"
GONE = refusal("AWS.SimpleQueueService.NonExistentQueue")
COMMITTED_MS = 1_767_225_600_000


@pytest.fixture
def relay() -> Relay:
    return Relay()


def to(target: str, body: str = "x", **options: Any) -> Outgoing:
    if target.startswith("https"):
        return ToQueue(queue_url=target, body=body, **options)
    return ToTopic(topic_arn=target, message=body, **options)


def in_lane(body: str, group: str = "g") -> Outgoing:
    return to(FIFO, body, group_id=group)


def event(detail: Mapping[str, Any], bus: str = "default") -> Outgoing:
    return ToBus(bus=bus, source="com.example", detail_type="Placed", detail=json.dumps(detail))


def record(number: int, *messages: Outgoing, outbox: str | None = None, **image: Any) -> dict[str, Any]:
    """Return a record of the stream; its sequence number is the number, its key `c#<number>`."""
    if messages:
        outbox = write_outbox([write_message(message) for message in messages], None)
    new = {"id": {"S": f"c#{number}"}, "status": {"S": "COMPLETED"}, "updated_at": {"N": str(COMMITTED_MS)}, **image}
    if outbox is not None:
        new["outbox"] = {"S": outbox}
    return {
        "eventSource": "aws:dynamodb",
        "eventName": "MODIFY",
        "dynamodb": {"SequenceNumber": str(number), "NewImage": new, "StreamViewType": "NEW_IMAGE"},
    }


def parked(relay: Relay) -> list[dict[str, Any]]:
    return [json.loads(entry["MessageBody"]) for entry in relay.services.arrived[PARKING]]


# -- Sent -----------------------------------------------------------------------------------------


def test_messages_of_many_records_leave_in_batches_of_ten_per_target_under_stable_ids(relay: Relay) -> None:
    records = [record(number, to(A), to(A)) for number in range(10)]

    assert relay.deliver(*records) == []
    assert [len(entries) for _, entries in relay.services.requests] == [10, 10]
    assert relay.services.ids_at(A) == [f"c#{number}/{place}" for number in range(10) for place in (1, 2)]


def test_replaying_a_record_sends_the_same_messages_under_the_same_ids(relay: Relay) -> None:
    """TIMELINE 18: the record is touched, or the table restored, and the stream tells of its outbox again."""
    once = record(1, to(A, "x", attributes={"kind": "new"}), in_lane("y"), to(TOPIC, "z"), event({"n": 1}))

    for _ in range(3):
        assert relay.deliver(once) == []

    for target in (A, FIFO, TOPIC, "default"):
        first, second, third = relay.services.arrived[target]
        assert first == second == third


def test_the_id_goes_along_in_the_attribute_and_in_the_detail_of_an_event(relay: Relay) -> None:
    relay.deliver(record(1, to(A), to(TOPIC), event({"n": 1.10}), in_lane("x")))

    assert relay.services.ids_at(A) == ["c#1/1"]
    assert relay.services.ids_at(TOPIC) == ["c#1/2"]
    (put,) = relay.services.arrived["default"]
    assert json.loads(put["Detail"]) == {"message-id": "c#1/3", "n": 1.10}
    assert put["Time"] == datetime.fromtimestamp(COMMITTED_MS / 1000, tz=UTC)
    (ordered,) = relay.services.arrived[FIFO]
    assert len(ordered["MessageDeduplicationId"]) == 64


@pytest.mark.parametrize(
    "other",
    [
        {"eventSource": "aws:dynamodb", "eventName": "REMOVE", "dynamodb": {"SequenceNumber": "1", "OldImage": {}}},
        record(1),
        record(1, to(A), status={"S": "IN_PROGRESS"}),
    ],
)
def test_what_has_nothing_to_send_sends_nothing(relay: Relay, other: dict[str, Any]) -> None:
    assert relay.deliver(other) == []
    assert relay.services.requests == []


def test_messages_of_one_record_leave_in_the_order_of_the_calls(relay: Relay) -> None:
    relay.deliver(record(1, to(A, "1"), to(B, "2"), to(A, "3"), to(TOPIC, "4")), record(2, to(A, "5")))

    assert [target for target, _ in relay.services.requests] == [A, B, A, TOPIC]


def test_a_fifo_group_keeps_the_order_of_the_stream_over_records(relay: Relay) -> None:
    relay.deliver(record(1, to(A), in_lane("1"), in_lane("2")), record(2, in_lane("3")), record(3, in_lane("4", "h")))

    bodies = [entry["MessageBody"] for entry in relay.services.arrived[FIFO]]
    assert [body for body in bodies if body != "4"] == ["1", "2", "3"]
    assert "4" in bodies


# -- What may pass --------------------------------------------------------------------------------


def test_a_target_that_may_answer_later_is_reported_by_sequence_number_and_the_rest_leaves(relay: Relay) -> None:
    relay.services.faults[A] = NOBODY_THERE

    assert relay.deliver(record(1, to(B)), record(2, to(A), to(B)), record(3, to(B)), record(4, to(A))) == ["2", "4"]
    assert relay.services.ids_at(B) == ["c#1/1", "c#3/1"]
    assert parked(relay) == []


def test_a_message_behind_one_that_is_held_up_does_not_overtake_it_in_its_group(relay: Relay) -> None:
    relay.services.refused[FIFO, "first"] = "InternalError"

    failed = relay.deliver(record(1, in_lane("first")), record(2, in_lane("second")), record(3, in_lane("other", "h")))

    assert failed == ["1", "2"]
    assert [entry["MessageBody"] for entry in relay.services.arrived[FIFO]] == ["other"]


def test_once_the_target_answers_again_everything_has_left_under_its_ids(relay: Relay) -> None:
    records = [record(number, to(A)) for number in range(3)]
    relay.services.faults[A] = refusal("ServiceUnavailable", 503)
    assert relay.deliver(*records) == ["0", "1", "2"]

    relay.services.faults.clear()

    assert relay.deliver(*records) == []
    assert relay.services.ids_at(A) == ["c#0/1", "c#1/1", "c#2/1"]


def test_a_target_out_of_reach_takes_the_time_of_one_request_only(relay: Relay) -> None:
    relay.services.faults[A] = NOBODY_THERE
    relay.services.on_request = lambda: relay.clock.sleep_ms(1_000)

    relay.deliver(*(record(number, to(A)) for number in range(100)), record(100, to(B)))

    assert relay.services.ids_at(B) == ["c#100/1"]
    assert len({str(entries) for target, entries in relay.services.requests if target == A}) == 1


def test_a_target_that_stays_out_of_reach_holds_the_others_up_for_a_quarter_of_an_hour_at_most(relay: Relay) -> None:
    relay.services.faults[A] = NOBODY_THERE
    assert relay.deliver(record(1, to(A))) == ["1"]
    relay.clock.sleep_ms(RELAY_PATIENCE_MS)
    relay.clock.sleep_ms(60_000)

    assert relay.deliver(record(1, to(A)), record(2, to(B))) == []
    assert [each["id"] for each in parked(relay)] == ["c#1/1"]
    assert relay.services.ids_at(B) == ["c#2/1"]


def test_what_there_is_no_time_for_comes_back(relay: Relay) -> None:
    relay.services.on_request = lambda: relay.clock.sleep_ms(1_000)

    failed = relay.deliver(*(record(number, to(A)) for number in range(100)), left_ms=6_000)

    assert failed == [str(number) for number in range(len(relay.services.arrived[A]), 100)]
    assert 10 <= len(relay.services.arrived[A]) < 100


def test_one_request_is_made_however_little_time_there_is(relay: Relay) -> None:
    assert relay.deliver(record(1, to(A)), left_ms=1_000) == []


# -- What will not --------------------------------------------------------------------------------


def test_a_thousand_later_records_leave_although_one_target_was_deleted_and_its_messages_are_parked_whole(
    relay: Relay,
) -> None:
    """TIMELINE 16."""
    relay.services.faults[A] = GONE
    records = [record(number, to(A, f"bad {number}") if number % 100 == 0 else to(B)) for number in range(1_001)]

    for at in range(0, len(records), 100):
        assert relay.deliver(*records[at : at + 100]) == []

    assert len(relay.services.arrived[B]) == 990
    bad = parked(relay)
    assert [each["id"] for each in bad] == [f"c#{number}/1" for number in range(0, 1_001, 100)]
    assert bad[0]["message"] == {"queue": A, "body": "bad 0"}
    assert bad[0]["code"] == "AWS.SimpleQueueService.NonExistentQueue"


@pytest.mark.parametrize(
    "fault",
    [GONE, refusal("AccessDenied", 403), refusal("KMS.DisabledException"), refusal("NotFound", 404)],
)
def test_a_refusal_that_stays_is_parked_and_what_comes_behind_it_leaves(relay: Relay, fault: Exception) -> None:
    relay.services.faults[A] = fault

    assert relay.deliver(record(1, to(B, "0"), to(A, "1"), to(B, "2"))) == []
    assert [each["number"] for each in parked(relay)] == [2]
    assert relay.services.ids_at(B) == ["c#1/1", "c#1/3"]


def test_a_refused_entry_is_parked_and_its_neighbours_leave(relay: Relay) -> None:
    relay.services.refused[A, "bad"] = "Refused"

    assert relay.deliver(record(1, to(A, "good")), record(2, to(A, "bad")), record(3, to(A, "good"))) == []
    assert relay.services.ids_at(A) == ["c#1/1", "c#3/1"]
    assert [each["id"] for each in parked(relay)] == ["c#2/1"]


@pytest.mark.parametrize("outbox", ["", "no json", "[]", '{"messages": 1}', '{"messages": ["x"]}', "[" * 100_000])
def test_an_outbox_that_cannot_be_read_is_parked_and_harms_no_neighbour(relay: Relay, outbox: str) -> None:
    assert relay.deliver(record(1, outbox=outbox), record(2, to(A))) == []
    assert relay.services.ids_at(A) == ["c#2/1"]
    assert [each["message"]["outbox"] for each in parked(relay)] == ([outbox] if outbox else [])


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"pigeon": "coop"},
        {"queue": A},
        {"queue": 5, "body": "x"},
        {"queue": A, "body": "x", "of_tomorrow": True},
        {"queue": A, "body": "x", "attributes": {"a": {"base64": "?"}}},
        {"queue": A, "body": "x", "attributes": [1]},
        {"queue": A, "body": "x", "delay_s": 1e300},
        {"queue": f"{A}.fifo", "body": "no group"},
        {"bus": "default", "source": "s", "detail_type": "t", "detail": 5},
        {"topic": "no arn", "message": "x"},
    ],
)
def test_a_message_of_a_form_that_is_not_known_is_parked_alone(relay: Relay, message: dict[str, Any]) -> None:
    outbox = json.dumps({"messages": [{"queue": B, "body": "1"}, message, {"queue": B, "body": "3"}]})

    assert relay.deliver(record(1, outbox=outbox)) == []
    assert relay.services.ids_at(B) == ["c#1/1", "c#1/3"]
    assert [(each["id"], each["message"]) for each in parked(relay)] == [("c#1/2", message)]


def test_what_cannot_be_parked_comes_back(relay: Relay) -> None:
    relay.services.faults |= {A: GONE, PARKING: GONE}

    assert relay.deliver(record(1, to(A), to(B)), record(2, to(B))) == ["1"]
    assert relay.services.ids_at(B) == ["c#2/1"]


def test_the_next_of_a_group_leaves_only_when_the_refused_one_before_it_is_parked(relay: Relay) -> None:
    relay.services.refused[FIFO, "bad"] = "Refused"
    relay.services.faults[PARKING] = NOBODY_THERE
    records = [record(1, in_lane("bad")), record(2, in_lane("good"))]
    assert relay.deliver(*records) == ["1", "2"]
    assert relay.services.arrived[FIFO] == []

    relay.services.faults.clear()

    assert relay.deliver(*records) == []
    assert relay.services.ids_at(FIFO) == ["c#2/1"]


def test_without_its_queue_for_what_is_refused_the_relay_does_not_start() -> None:
    with pytest.raises(ConfigurationError, match="OUTBOX_DEAD_LETTER_QUEUE_URL"):
        OutboxRelay(settings=Settings())


@pytest.mark.parametrize(
    "event", [None, {}, {"Records": 1}, {"Records": [{"eventSource": "aws:sqs"}]}, {"Records": [1]}]
)
def test_an_event_that_is_no_streams_is_refused(relay: Relay, event: Any) -> None:
    with pytest.raises(NotAStreamEventError):
        relay._relay.relay(event)
