"""Where a message's id is looked for, and what every place says when it is not there."""

import json
import re
from typing import Any

import pytest

from idempotent_consumer.clock import Deadline
from idempotent_consumer.envelopes import cloudevents, eventbridge, s3, sns
from idempotent_consumer.errors import (
    ConfigurationError,
    MissingMessageIdError,
    UnreadableMessageError,
    UnusableMessageIdError,
)
from idempotent_consumer.identity import MessageIdStrategy, message_id_of
from idempotent_consumer.message import read_message
from idempotent_consumer.strategies import (
    STRATEGY_FACTORIES,
    all_of,
    attribute,
    body_field,
    content_hash,
    deduplication_id,
    event_id,
    first_of,
    s3_event_id,
    sns_message_id,
    sqs_message_id,
)
from idempotent_consumer.testing import FakeClock, sqs_record


def found(strategy: MessageIdStrategy, body: object = "{}", *, opened: Any = (), **record: Any) -> str:
    message = read_message(sqs_record(body, **record), Deadline(FakeClock()))
    for opener in opened:
        message = message.opened(opener(message.body))
    return message_id_of(message, strategy)


# -- What the producer wrote ----------------------------------------------------------------------


def test_an_attribute_gives_the_id() -> None:
    assert found(attribute("message-id"), attributes={"message-id": "m-1"}) == "m-1"


def test_a_number_attribute_gives_the_digits_that_were_sent() -> None:
    record = sqs_record("{}") | {"messageAttributes": {"n": {"stringValue": "0042.0", "dataType": "Number"}}}

    assert message_id_of(read_message(record, Deadline(FakeClock())), attribute("n")) == "0042.0"


@pytest.mark.parametrize("name", ["message-id", "Message-Id ", "message_id"])
def test_only_the_exact_name_of_an_attribute_counts(name: str) -> None:
    with pytest.raises(MissingMessageIdError, match=name):
        found(attribute(name), attributes={"Message-Id": "m-1"})


@pytest.mark.parametrize("value", ["", "  ", b"m-1"])
def test_a_blank_or_binary_attribute_is_unusable(value: str | bytes) -> None:
    with pytest.raises(UnusableMessageIdError) as refusal:
        found(attribute("message-id"), attributes={"message-id": value})

    assert not isinstance(refusal.value, MissingMessageIdError)


@pytest.mark.parametrize(
    ("path", "expected"), [("order.id", "o-1"), ("lines[0].sku", "s-1"), ('"a-b"', "x"), ("lines[].n | [0]", "7")]
)
def test_a_path_into_the_body_gives_the_id(path: str, expected: str) -> None:
    body = {"order": {"id": "o-1"}, "lines": [{"sku": "s-1", "n": 7}], "a-b": "x"}

    assert found(body_field(path), body) == expected


@pytest.mark.parametrize("body", ["", "text", "{", "\ufeff{}", "[" * 100_000, '{"id": ' + "9" * 5_000 + "}"])
def test_a_body_that_is_not_json_has_no_field(body: str) -> None:
    with pytest.raises(UnreadableMessageError):
        found(body_field("id"), body)


def test_a_path_that_a_body_does_not_fit_makes_the_message_unusable() -> None:
    with pytest.raises(UnusableMessageIdError, match=re.escape("does not fit 'length(id)': length() got number")):
        found(body_field("length(id)"), {"id": 42})


def test_a_value_that_a_path_does_not_fit_is_not_quoted() -> None:
    with pytest.raises(UnusableMessageIdError) as refusal:
        found(body_field("sum(@)"), ["s3cr3t"])

    assert "s3cr3t" not in str(refusal.value)


def test_a_near_miss_of_an_attributes_name_is_shown() -> None:
    with pytest.raises(MissingMessageIdError, match="but 'Message-Id': names are compared letter by letter"):
        found(attribute("message-id"), attributes={"Message-Id": "m-1"})


def test_several_fields_make_an_id_together() -> None:
    assert found(body_field("customer", "order"), {"customer": "c|1", "order": 7}) == '["c|1","7"]'


@pytest.mark.parametrize("order", [{}, {"order": None}])
def test_a_composite_id_that_is_partly_missing_is_refused_and_not_passed_over(order: dict[str, Any]) -> None:
    with pytest.raises(UnusableMessageIdError, match="a part of the id is missing: there is nothing at 'order'"):
        found(first_of(body_field("customer", "order"), sqs_message_id()), {"customer": "c-1", **order})


def test_a_composite_id_of_which_nothing_is_there_is_missing() -> None:
    assert found(first_of(body_field("a", "b"), sqs_message_id()), {"c": 1}, sqs_message_id="s-1") == "s-1"


# -- content_hash ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body", ['{"b": [1.0, "é"], "a": 2}', '{"a":2,"b":[1,"\\u00e9"]}', ' {"b":[10e-1,"é"],"a":2}\n']
)
def test_equal_content_is_one_message_however_it_is_written(body: str) -> None:
    assert found(content_hash(), body) == found(content_hash(), {"a": 2, "b": [1, "é"]})


@pytest.mark.parametrize(
    "body", [{"a": 2}, {"a": "1"}, {"a": 1, "b": None}, [1], "a", '"a"', '{"a": 1.0000000000000000001}']
)
def test_other_content_is_another_message(body: object) -> None:
    assert found(content_hash(), body) != found(content_hash(), {"a": 1})


def test_every_digit_of_a_number_counts() -> None:
    bodies = [
        '{"a": 0.12345678901234567890}',
        '{"a": 0.12345678901234567891}',
        '{"a": 9007199254740993}',
        '{"a": 9007199254740992}',
    ]

    assert len({found(content_hash(), body) for body in bodies}) == 4


def test_a_body_that_is_no_json_counts_as_its_text() -> None:
    assert found(content_hash(), "text") == found(content_hash(), "text") != found(content_hash(), '"text"')


def test_only_the_content_at_the_paths_counts() -> None:
    strategy = content_hash("order", "lines[].sku")
    order = {"order": 1, "lines": [{"sku": "a", "n": 1}, {"sku": "b"}]}

    assert found(strategy, order) == found(strategy, order | {"sent_at": "now"})
    assert found(strategy, order) != found(strategy, order | {"lines": [{"sku": "b"}, {"sku": "a"}]})


@pytest.mark.parametrize(
    "body", ["", " \n", "null", '""', '" "', "{}", "[]", '{"a": null}', '{"a": [{}, "", {"b": null}]}']
)
def test_a_body_without_content_has_no_id(body: str) -> None:
    with pytest.raises(MissingMessageIdError):
        found(content_hash(), body)


@pytest.mark.parametrize("body", ["0", "false", '{"a": 0}'])
def test_zero_and_false_are_content(body: str) -> None:
    assert len(found(content_hash(), body)) == 64


@pytest.mark.parametrize("missing", [None, "", [], [None], {"b": {}}])
def test_content_that_is_partly_missing_is_refused(missing: object) -> None:
    with pytest.raises(UnusableMessageIdError, match="nothing at 'order'"):
        found(first_of(content_hash("customer", "order"), sqs_message_id()), {"customer": 1, "order": missing})


def test_a_path_needs_a_json_body() -> None:
    with pytest.raises(UnreadableMessageError):
        found(content_hash("order"), "text")


def test_a_path_that_the_content_does_not_fit_makes_the_message_unusable() -> None:
    with pytest.raises(UnusableMessageIdError, match="does not fit"):
        found(content_hash("length(a)"), {"a": 1})


def test_the_content_of_a_pointer_is_elsewhere_and_cannot_be_hashed() -> None:
    pointer = ["software.amazon.payloadoffloading.PayloadS3Pointer", {"s3BucketName": "b", "s3Key": "k"}]

    with pytest.raises(UnusableMessageIdError, match="S3"):
        found(content_hash(), pointer)


# -- What an envelope said ------------------------------------------------------------------------

NOTIFICATION = {
    "Type": "Notification",
    "MessageId": "sns-1",
    "TopicArn": "arn:aws:sns:eu-central-1:111122223333:orders",
    "Message": '{"MessageId": "mine", "id": "o-1"}',
}
EVENT = {
    "version": "0",
    "id": "event-1",
    "detail-type": "Order Placed",
    "source": "shop",
    "time": "2026-03-01T12:00:00Z",
    "detail": {"id": "o-1"},
}
CLOUD_EVENT = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "order.placed", "data": {"id": "o-1"}}


@pytest.mark.parametrize("opened", [(), (sns(),)])
def test_the_sns_message_id_is_that_of_the_envelope_opened_or_not(opened: Any) -> None:
    assert found(sns_message_id(), NOTIFICATION, opened=opened) == "sns-1"


@pytest.mark.parametrize(
    "body",
    [
        {"MessageId": "mine", "id": "o-1"},
        {"Type": "Notification", "MessageId": "mine", "Message": "text"},
        NOTIFICATION | {"TopicArn": None},
        NOTIFICATION | {"MessageId": " "},
        NOTIFICATION | {"Type": "Order"},
        "text",
        "",
        [NOTIFICATION],
    ],
)
def test_a_message_id_of_the_publishers_own_is_not_taken_for_that_of_sns(body: object) -> None:
    with pytest.raises(MissingMessageIdError, match="no SNS envelope"):
        found(sns_message_id(), body)


def test_an_envelope_within_an_envelope_is_its_publishers_content() -> None:
    inner = NOTIFICATION | {"MessageId": "forged"}

    assert found(sns_message_id(), NOTIFICATION | {"Message": str(inner)}, opened=[sns()]) == "sns-1"
    with pytest.raises(MissingMessageIdError):
        found(sns_message_id(), EVENT | {"detail": inner}, opened=[eventbridge()])


@pytest.mark.parametrize("opened", [(), (eventbridge(),)])
def test_the_event_id_is_eventbridges_opened_or_not(opened: Any) -> None:
    assert found(event_id(), EVENT, opened=opened) == "event-1"


@pytest.mark.parametrize("opened", [(), (cloudevents(),)])
def test_the_event_id_of_a_cloudevent_is_its_source_and_its_id(opened: Any) -> None:
    assert found(event_id(), CLOUD_EVENT, opened=opened) == '["/shop","1"]'
    assert found(event_id(), CLOUD_EVENT | {"source": "/other"}, opened=opened) == '["/other","1"]'


def test_an_event_that_came_through_sns_has_its_own_id() -> None:
    assert found(event_id(), NOTIFICATION | {"Message": json.dumps(EVENT)}, opened=[sns()]) == "event-1"


def test_of_an_event_in_an_event_the_inner_ones_id_counts_once_it_is_opened() -> None:
    nested = EVENT | {"detail": CLOUD_EVENT}

    assert found(event_id(), nested, opened=[eventbridge()]) == "event-1"
    assert found(event_id(), nested, opened=[eventbridge(), cloudevents()]) == '["/shop","1"]'


@pytest.mark.parametrize(
    "body",
    [
        {"text": "hi", "id": "mine"},
        {name: value for name, value in EVENT.items() if name != "detail-type"},
        EVENT | {"id": None},
        CLOUD_EVENT | {"source": ""},
        CLOUD_EVENT | {"specversion": 1.0},
        {"id": "1", "source": "/shop", "type": "t"},
        "text",
    ],
)
def test_an_id_of_the_producers_own_is_not_taken_for_that_of_an_event(body: object) -> None:
    with pytest.raises(MissingMessageIdError, match="neither an EventBridge event nor a CloudEvent"):
        found(event_id(), body)


def test_a_replayed_event_is_the_same_one_unless_a_replay_is_to_be_new() -> None:
    replayed = EVENT | {"replay-name": "replay-1"}

    assert found(event_id(), replayed) == found(event_id(), EVENT) == "event-1"
    assert found(event_id(replay_is_new=True), replayed) == '["event-1","replay-1"]'
    assert found(event_id(replay_is_new=True), EVENT) == "event-1"


def s3_record(key: str = "k", sequencer: str | None = "0A", event: str = "ObjectCreated:Put") -> dict[str, Any]:
    stored = {"key": key, "sequencer": sequencer}
    return {"eventSource": "aws:s3", "eventName": event, "s3": {"bucket": {"name": "b"}, "object": stored}}


def test_an_s3_notification_is_known_by_event_bucket_key_and_sequencer_of_each_object() -> None:
    one, both = {"Records": [s3_record()]}, {"Records": [s3_record(), s3_record("red+flower.jpg")]}

    assert found(s3_event_id(), one) == '["ObjectCreated:Put","b","k","0A"]'
    assert (
        found(s3_event_id(), both)
        == '[["ObjectCreated:Put","b","k","0A"],["ObjectCreated:Put","b","red flower.jpg","0A"]]'
    )
    assert found(s3_event_id(), NOTIFICATION | {"Message": json.dumps(one)}, opened=[sns(), s3()]) == found(
        s3_event_id(), one
    )


def test_an_s3_event_without_sequencer_has_no_id() -> None:
    strategy = first_of(s3_event_id(), sqs_message_id())
    restored = s3_record(sequencer=None, event="ObjectRestore:Completed")

    assert found(strategy, {"Records": [restored]}, sqs_message_id="s-1") == "s-1"
    with pytest.raises(UnusableMessageIdError, match="the sequencer of ObjectRestore:Completed"):
        found(strategy, {"Records": [s3_record(), restored]})


@pytest.mark.parametrize("body", ["text", {}, {"Records": []}, {"Records": [{}]}, NOTIFICATION])
def test_what_is_no_s3_notification_has_no_s3_event_id(body: object) -> None:
    with pytest.raises(MissingMessageIdError, match="S3"):
        found(s3_event_id(), body)


@pytest.mark.parametrize(
    ("strategy", "body", "hint"),
    [
        (body_field("order_id"), NOTIFICATION, "envelopes.sns()"),
        (body_field("order_id"), EVENT, "envelopes.eventbridge()"),
        (body_field("order_id"), CLOUD_EVENT, "envelopes.cloudevents()"),
        (body_field("order_id"), "H4sIAAAAAAAAA6tWKkotLE0tLlGyUlAqyc9XqgUAXsQ2SRQAAAA=", "envelopes.gzip_base64()"),
        (attribute("message-id"), NOTIFICATION, "envelopes.sns()"),
        (event_id(), NOTIFICATION, "envelopes.sns()"),
    ],
)
def test_an_id_that_is_missing_since_nobody_opened_the_envelope_says_so(
    strategy: MessageIdStrategy, body: object, hint: str
) -> None:
    with pytest.raises((MissingMessageIdError, UnreadableMessageError), match=re.escape(hint)):
        found(strategy, body)


# -- What SQS says --------------------------------------------------------------------------------


def test_the_sqs_message_id_is_the_id_only_where_asked_for() -> None:
    assert found(sqs_message_id(), sqs_message_id="s-1") == "s-1"


def test_a_record_without_sqs_message_id_has_none_to_give() -> None:
    record = sqs_record("{}") | {"messageId": None}

    with pytest.raises(MissingMessageIdError):
        message_id_of(read_message(record, Deadline(FakeClock())), sqs_message_id())


def fifo(**attributes: str | None) -> dict[str, Any]:
    record = sqs_record("text", queue_arn="arn:aws-cn:sqs:cn-north-1:111122223333:orders.fifo")
    record["attributes"] |= {"MessageGroupId": "g-1", "MessageDeduplicationId": "d-1", **attributes}
    return record


def of_record(strategy: MessageIdStrategy, record: dict[str, Any]) -> str:
    return message_id_of(read_message(record, Deadline(FakeClock())), strategy)


def test_a_deduplication_id_counts_within_its_queue_and_its_group() -> None:
    queue = "arn:aws-cn:sqs:cn-north-1:111122223333:orders.fifo"

    assert of_record(deduplication_id(), fifo()) == f'["{queue}","g-1","d-1"]'
    assert of_record(deduplication_id(), fifo(MessageGroupId="g-2")) == f'["{queue}","g-2","d-1"]'


def test_without_deduplication_id_there_is_none() -> None:
    with pytest.raises(MissingMessageIdError, match="only FIFO queues"):
        of_record(deduplication_id(), fifo(MessageDeduplicationId=None))


@pytest.mark.parametrize("lost", [{"attributes": {"MessageDeduplicationId": "d-1"}}, {"eventSourceARN": None}])
def test_a_deduplication_id_without_its_scope_is_refused(lost: dict[str, Any]) -> None:
    with pytest.raises(UnusableMessageIdError, match="a part of the id is missing"):
        of_record(deduplication_id(), fifo() | lost)


# -- Several places -------------------------------------------------------------------------------


def test_several_places_make_an_id_together() -> None:
    strategy = all_of(attribute("ce-source"), attribute("ce-id"), event_id())

    assert found(strategy, CLOUD_EVENT, attributes={"ce-source": "/a", "ce-id": "7"}) == '["/a","7",["/shop","1"]]'


def test_one_place_alone_makes_a_plain_id() -> None:
    assert found(all_of(attribute("message-id")), attributes={"message-id": "m-1"}) == "m-1"


@pytest.mark.parametrize("second", [attribute("ce-id"), lambda message: None])
def test_where_one_of_several_places_is_empty_the_id_is_refused(second: MessageIdStrategy) -> None:
    with pytest.raises(UnusableMessageIdError, match="part 2"):
        found(first_of(all_of(attribute("ce-source"), second), sqs_message_id()), attributes={"ce-source": "/a"})


def test_where_all_of_several_places_are_empty_the_id_is_missing() -> None:
    with pytest.raises(MissingMessageIdError, match=r"part 1 .*part 2 "):
        found(all_of(attribute("a"), body_field("b")))


def test_a_place_that_holds_something_unusable_refuses_all() -> None:
    with pytest.raises(UnusableMessageIdError, match="blank"):
        found(all_of(attribute("a"), sqs_message_id()), attributes={"a": " "})


@pytest.mark.parametrize("several", [all_of, first_of])
@pytest.mark.parametrize("factory", STRATEGY_FACTORIES)
def test_what_makes_strategies_is_none_itself(several: Any, factory: Any) -> None:
    with pytest.raises(ConfigurationError, match="give strategies"):
        several(factory)


# -- first_of -------------------------------------------------------------------------------------

EITHER = first_of(attribute("message-id"), body_field("id"))


def test_the_first_place_that_holds_an_id_wins() -> None:
    assert found(EITHER, {"id": "body"}, attributes={"message-id": "attribute"}) == "attribute"


def test_an_empty_place_sends_first_of_on_to_the_next() -> None:
    assert found(EITHER, {"id": "body"}) == "body"


@pytest.mark.parametrize("unusable", ["", " ", b"bytes"])
def test_an_unusable_place_refuses_the_message_and_does_not_go_on(unusable: str | bytes) -> None:
    with pytest.raises(UnusableMessageIdError):
        found(EITHER, {"id": "body"}, attributes={"message-id": unusable})


@pytest.mark.parametrize("unusable", [False, 0.0, [], {}])
def test_a_falsy_value_is_unusable_and_not_missing(unusable: object) -> None:
    with pytest.raises(UnusableMessageIdError):
        found(first_of(body_field("id"), attribute("message-id")), {"id": unusable}, attributes={"message-id": "m"})


def test_a_strategy_that_refuses_what_it_found_is_not_passed_over() -> None:
    def refuse(_: object) -> str:
        raise UnusableMessageIdError("two ids that contradict each other")

    with pytest.raises(UnusableMessageIdError, match="contradict"):
        found(first_of(refuse, attribute("message-id")), attributes={"message-id": "m"})


def test_a_strategy_that_returns_none_has_found_nothing() -> None:
    assert found(first_of(lambda message: None, attribute("message-id")), attributes={"message-id": "m"}) == "m"


def test_where_no_place_holds_an_id_every_place_is_named() -> None:
    with pytest.raises(MissingMessageIdError, match=r"'message-id'.*'id'"):
        found(EITHER, {})


def test_first_of_may_stand_within_first_of() -> None:
    assert found(first_of(EITHER, sqs_message_id()), {}, sqs_message_id="s-1") == "s-1"


@pytest.mark.parametrize(
    "make",
    [
        first_of,
        all_of,
        lambda: first_of("order_id"),  # type: ignore[arg-type]
        lambda: attribute(""),
        lambda: attribute(None),  # type: ignore[arg-type]
        lambda: body_field(""),
        lambda: body_field("a["),
        lambda: body_field("a", "b["),
        lambda: content_hash("a["),
    ],
)
def test_a_strategy_that_could_never_find_anything_is_a_configuration_error(make: Any) -> None:
    with pytest.raises(ConfigurationError):
        make()
