"""However a message was wrapped, it is known by its producer's id, and nothing is opened that was not asked for."""

import base64
import gzip
import json
from typing import Any

import pytest

from idempotent_consumer import (
    Eager,
    Lazy,
    Natural,
    Outcome,
    Transactional,
    all_of,
    attribute,
    body_field,
    envelopes,
    event_id,
    first_of,
    s3_event_id,
    s3_objects,
    sns_message_id,
    sqs_message_id,
)
from idempotent_consumer.modes import Mode
from idempotent_consumer.testing import InMemoryStore, sqs_record
from tests.promises.world import Worker, World
from tests.promises.wrapped import S3_TEST_EVENT, in_cloudevent, in_eventbridge, in_sns, s3_notification

ORDER = {"id": "o-1", "amount": 10}
MODES = [Lazy(), Eager(), Transactional()]


def worker(mode: Mode | None = None, **options: Any) -> Worker:
    return World(InMemoryStore()).worker(mode or Lazy(), **options)


# -- the same business message, wrapped twice -----------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_business_message_that_sns_publishes_twice_is_one_message_of_the_same_content(mode: Mode) -> None:
    mailer = worker(mode, envelope=envelopes.sns())
    first, again = (sqs_record(in_sns(ORDER, name)) for name in ("sns-1", "sns-2"))

    assert (mailer.deliver(first), mailer.deliver(again)) == ([], [])
    assert (mailer.handled, mailer.outcomes) == (["o-1"], [Outcome.DUPLICATE])


@pytest.mark.parametrize("mode", MODES)
def test_a_business_message_that_eventbridge_delivers_as_two_events_is_one_message_of_the_same_content(
    mode: Mode,
) -> None:
    mailer = worker(mode, envelope=envelopes.eventbridge())
    first, again = (sqs_record(in_eventbridge(ORDER, name)) for name in ("event-1", "event-2"))

    assert (mailer.deliver(first), mailer.deliver(again)) == ([], [])
    assert (mailer.handled, mailer.outcomes) == (["o-1"], [Outcome.DUPLICATE])


@pytest.mark.parametrize("mode", MODES)
def test_a_message_that_is_compressed_anew_each_time_is_one_message_of_the_same_content(mode: Mode) -> None:
    mailer = worker(mode, envelope=envelopes.gzip_base64())
    bodies = [base64.b64encode(gzip.compress(json.dumps(ORDER).encode(), mtime=at)).decode() for at in (1, 2)]

    assert [mailer.deliver(sqs_record(body)) for body in bodies] == [[], []]
    assert (mailer.handled, mailer.outcomes) == (["o-1"], [Outcome.DUPLICATE])


def test_other_content_under_the_same_id_is_a_mismatch_within_envelopes_too() -> None:
    mailer = worker(envelope=envelopes.sns())
    mailer.deliver(sqs_record(in_sns(ORDER)))

    assert mailer.deliver(sqs_record(in_sns(ORDER | {"amount": 99}), sqs_message_id="m")) == ["m"]
    assert mailer.outcomes == [Outcome.REJECTED]


@pytest.mark.parametrize(
    ("wrapped", "opener"),
    [(in_sns(ORDER), "sns"), (in_eventbridge(ORDER), "eventbridge"), (in_cloudevent(ORDER), "cloudevents")],
)
def test_an_id_that_is_in_an_envelope_which_nobody_opens_is_missing_and_the_reason_says_what_opens_it(
    wrapped: dict[str, Any], opener: str
) -> None:
    mailer = worker(message_id=body_field("amount"))

    mailer.deliver(sqs_record(wrapped))

    assert (mailer.outcomes, mailer.handled) == ([Outcome.REJECTED], [])
    assert f"envelopes.{opener}() opens" in mailer.reports[0].reason


# -- SNS ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opener", [(), envelopes.sns()])
def test_the_id_of_sns_is_taken_without_looking_into_what_was_published(opener: Any) -> None:
    mailer = worker(message_id=sns_message_id(), envelope=opener)

    mailer.deliver(sqs_record(in_sns("plain text", "s1")), sqs_record(in_sns('{"MessageId": "mine"}', "s2")))

    assert sorted(mailer.handled) == ["s1", "s2"]


def test_on_a_queue_that_changes_to_raw_delivery_the_raw_message_has_no_id_of_sns() -> None:
    mailer = worker(message_id=sns_message_id())
    raw = sqs_record({"MessageId": "the publisher's own"}, sqs_message_id="raw")

    assert mailer.deliver(sqs_record(in_sns(ORDER, "s1")), raw) == ["raw"]
    assert mailer.handled == ["s1"]


def test_on_a_queue_that_changes_to_raw_delivery_both_kinds_are_read_if_the_envelope_is_optional() -> None:
    mailer = worker(envelope=envelopes.sns(optional=True))

    assert mailer.deliver(sqs_record(in_sns({"id": "wrapped"})), sqs_record({"id": "raw"})) == []
    assert sorted(mailer.handled) == ["raw", "wrapped"]


def test_without_optional_a_raw_message_is_rejected_and_the_reason_thinks_of_raw_delivery() -> None:
    mailer = worker(envelope=envelopes.sns())

    mailer.deliver(sqs_record(ORDER))

    assert mailer.outcomes == [Outcome.REJECTED]
    assert "raw message delivery" in mailer.reports[0].reason


def test_message_attributes_that_sns_carried_in_its_envelope_give_the_id_once_it_is_opened() -> None:
    record = sqs_record(in_sns("text", **{"message-id": "a-1"}))
    opening, closed = (
        worker(message_id=attribute("message-id"), **with_) for with_ in ({"envelope": envelopes.sns()}, {})
    )

    opening.deliver(record)
    closed.deliver(record)

    assert opening.handled == ["a-1"]
    assert (closed.handled, closed.outcomes) == ([], [Outcome.REJECTED])
    assert "envelopes.sns() opens" in closed.reports[0].reason


# -- EventBridge and CloudEvents ------------------------------------------------------------------------------


def test_a_replayed_event_is_a_duplicate_unless_replays_are_to_be_processed() -> None:
    event, replayed = in_eventbridge(ORDER), in_eventbridge(ORDER, **{"replay-name": "replay-1"})
    usual = worker(message_id=event_id(), envelope=envelopes.eventbridge())
    on_purpose = worker(message_id=event_id(replay_is_new=True), envelope=envelopes.eventbridge())

    for one in (usual, on_purpose):
        one.deliver(sqs_record(event))
        one.deliver(sqs_record(replayed))

    assert usual.handled == ["event-1"]
    assert on_purpose.handled == ["event-1", '["event-1","replay-1"]']


def test_the_own_id_in_a_body_that_an_input_transformer_left_is_not_taken_for_the_events() -> None:
    mailer = worker(message_id=event_id())

    mailer.deliver(sqs_record({"text": "hi", "id": "user-field"}))

    assert (mailer.handled, mailer.outcomes) == ([], [Outcome.REJECTED])


def test_cloudevents_of_two_sources_are_two_messages_though_their_ids_are_equal() -> None:
    mailer = worker(message_id=event_id())
    by_fields = worker(message_id=body_field("source", "id"))
    events = [sqs_record(in_cloudevent("text", "x", source)) for source in ("/a", "/b", "/a")]

    mailer.deliver(*events)
    by_fields.deliver(*events)

    assert sorted(mailer.handled) == sorted(by_fields.handled) == ['["/a","x"]', '["/b","x"]']


def test_a_cloudevent_in_binary_mode_is_known_by_its_attributes_together() -> None:
    mailer = worker(message_id=all_of(attribute("ce-source"), attribute("ce-id")))

    mailer.deliver(
        sqs_record("1", attributes={"ce-source": "/a", "ce-id": "x"}),
        sqs_record("1", attributes={"ce-source": "/a,x", "ce-id": "x"}),
    )

    assert sorted(mailer.handled) == ['["/a","x"]', '["/a,x","x"]']


# -- S3 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [*MODES, Natural()])
@pytest.mark.parametrize("through_sns", [True, False])
def test_the_event_by_which_s3_tests_a_notification_is_acknowledged_and_not_handled(
    mode: Mode, through_sns: bool
) -> None:
    body = in_sns(S3_TEST_EVENT) if through_sns else S3_TEST_EVENT
    opener = (envelopes.sns(), envelopes.s3()) if through_sns else envelopes.s3()
    options = {"message_id": s3_event_id()} if mode.remembers else {}
    uploads = worker(mode, envelope=opener, **options)

    assert uploads.deliver(sqs_record(body)) == []
    assert (uploads.handled, uploads.outcomes) == ([], [Outcome.PROCESSED])
    assert "nothing to do" in uploads.reports[0].reason


def test_a_test_event_that_nobody_expects_harms_no_neighbour() -> None:
    by_field, by_sqs = worker(), worker(message_id=sqs_message_id())
    batch = [sqs_record(S3_TEST_EVENT, sqs_message_id="t"), sqs_record(ORDER, sqs_message_id="m")]

    assert by_field.deliver(*batch) == ["t"]
    assert by_sqs.deliver(*batch) == []
    assert (by_field.handled, sorted(by_sqs.handled)) == (["o-1"], ["m", "t"])


def test_a_notification_that_s3_sends_twice_is_caught_by_the_objects_and_not_by_sqs() -> None:
    twice = [sqs_record(s3_notification("red+flower.jpg")) for _ in range(2)]
    by_object, by_sqs = worker(message_id=s3_event_id()), worker(message_id=sqs_message_id())

    by_object.deliver(*twice)
    by_sqs.deliver(*twice)

    assert (len(by_object.handled), len(by_sqs.handled)) == (1, 2)


def test_a_notification_of_several_objects_is_one_message_and_another_than_that_of_one_of_them() -> None:
    seen: list[list[str]] = []
    uploads = World(InMemoryStore()).worker(
        Lazy(),
        lambda message, work: seen.append([one.key for one in message.payload]),
        message_id=first_of(s3_event_id(), sqs_message_id()),
        envelope=envelopes.s3(),
        parse=s3_objects,
    )

    uploads.deliver(sqs_record(s3_notification("a", "b+c")), sqs_record(s3_notification("a")))

    assert sorted(seen) == [["a"], ["a", "b c"]]


# -- one's own ------------------------------------------------------------------------------------------------


def test_a_function_of_ones_own_opens_what_only_it_knows() -> None:
    mailer = worker(envelope=lambda text: text.removeprefix("v1:"))

    mailer.deliver(sqs_record('v1:{"id": "o-1"}'), sqs_record('{"id": "o-2"}'))

    assert sorted(mailer.handled) == ["o-1", "o-2"]


def test_a_bomb_in_a_message_is_refused_before_it_takes_memory_and_harms_no_neighbour() -> None:
    bomb = base64.b64encode(gzip.compress(b" " * 50_000_000)).decode()
    sound = base64.b64encode(gzip.compress(b'{"id": "o-1"}')).decode()
    mailer = worker(envelope=envelopes.gzip_base64(largest=1_000_000))

    assert mailer.deliver(sqs_record(bomb, sqs_message_id="bomb"), sqs_record(sound)) == ["bomb"]
    assert mailer.handled == ["o-1"]
    assert "largest=" in mailer.reports[0].reason
