"""What a body is, told by its members and never guessed; and what an error says of a body that is something else."""

import base64
import gzip
import json
import tracemalloc
from typing import Any

import pytest

from idempotent_consumer.recognition import event_envelope, hint_for, pointer_in, sns_envelope

SNS: dict[str, Any] = {
    "Type": "Notification",
    "MessageId": "n-1",
    "TopicArn": "arn:aws:sns:eu-west-1:111122223333:orders",
    "Message": "hello",
}
EVENT: dict[str, Any] = {"id": "e-1", "source": "shop.orders", "detail-type": "Order Placed", "detail": {"n": 1}}
CLOUD_EVENT: dict[str, Any] = {"specversion": "1.0", "id": "c-1", "source": "/orders", "type": "order.placed"}
S3: dict[str, Any] = {
    "Records": [{"eventSource": "aws:s3", "s3": {"bucket": {"name": "pictures"}, "object": {"key": "a.jpg"}}}]
}
TEST_EVENT: dict[str, Any] = {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "pictures"}
POINTER = ["software.amazon.payloadoffloading.PayloadS3Pointer", {"s3BucketName": "large", "s3Key": "k-1"}]
OLD_POINTER = ["com.amazon.sqs.javamessaging.MessageS3Pointer", {"s3BucketName": "large", "s3Key": "k-1"}]
GZIP = base64.b64encode(gzip.compress(b"{}")).decode()
UNREADABLE = ["", "text", "{", "[" * 100_000, '{"a":' * 100_000, '{"a": ' + "9" * 5_000 + "}", "\ud800", "\ufeff{}"]
BLANK_OR_NO_TEXT = [None, "", " \t", 42, True, ["x"], {"x": 1}]


def kind_of(body: object) -> str | None:
    text = json.dumps(body)
    found = [envelope for envelope in (sns_envelope(text), event_envelope(text)) if envelope]
    assert len(found) < 2
    return found[0].kind if found else None


def without(body: dict[str, Any], member: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != member}


@pytest.mark.parametrize(("body", "kind"), [(SNS, "sns"), (EVENT, "eventbridge"), (CLOUD_EVENT, "cloudevents")])
def test_an_envelope_is_recognised_without_being_opened(body: dict[str, Any], kind: str) -> None:
    assert kind_of(body) == kind


@pytest.mark.parametrize(
    "body", [S3, TEST_EVENT, POINTER, {}, [], [SNS], {"Sns": SNS}, "text", None, {"MessageId": "m"}]
)
def test_what_is_no_envelope_is_not_taken_for_one(body: object) -> None:
    assert kind_of(body) is None


@pytest.mark.parametrize("body", [SNS, EVENT, CLOUD_EVENT])
@pytest.mark.parametrize("odd", BLANK_OR_NO_TEXT)
def test_without_one_of_its_members_as_a_text_that_is_not_blank_there_is_no_envelope(
    body: dict[str, Any], odd: object
) -> None:
    for member in without(without(body, "detail"), "Message"):
        assert kind_of(body | {member: odd}) is None
        assert kind_of(without(body, member)) is None


@pytest.mark.parametrize(
    "change", [{"Type": "notification"}, {"Type": "SubscriptionConfirmation"}, {"Message": None}, {"Message": {"a": 1}}]
)
def test_what_only_resembles_an_sns_envelope_is_none(change: dict[str, Any]) -> None:
    assert kind_of(SNS | change) is None


def test_what_an_input_transformer_leaves_of_an_event_is_no_event() -> None:
    assert kind_of({"text": "hi", "id": "the user's own"}) is None
    assert kind_of(without(EVENT, "detail")) is None


@pytest.mark.parametrize("version", ["0.3", "2.0", "1", "v1.0", "11.0"])
def test_a_cloudevent_of_another_version_is_none(version: str) -> None:
    assert kind_of(CLOUD_EVENT | {"specversion": version}) is None


def test_an_event_of_both_kinds_is_neither_since_its_id_could_be_of_either() -> None:
    assert kind_of(EVENT | CLOUD_EVENT) is None
    assert kind_of(EVENT | {"specversion": "0.3"}) is None


def test_of_two_members_with_one_name_the_last_counts_for_what_a_body_is_too() -> None:
    written = json.dumps(SNS)[:-1]

    assert sns_envelope(written + ', "MessageId": "n-2"}').members["MessageId"] == "n-2"  # type: ignore[union-attr]
    assert sns_envelope(written + ', "MessageId": null}') is None


def test_what_an_envelope_says_is_its_members_without_the_content() -> None:
    envelope = event_envelope(json.dumps(EVENT | {"replay-name": "again", "resources": ["arn"]}))

    assert envelope is not None
    assert envelope.members == without(EVENT, "detail") | {"replay-name": "again", "resources": ["arn"]}


@pytest.mark.parametrize("body", [POINTER, OLD_POINTER])
def test_a_pointer_to_a_large_message_is_recognised_with_bucket_and_key(body: object) -> None:
    assert pointer_in(f" {json.dumps(body, indent=1)}\n") == ("large", "k-1")


@pytest.mark.parametrize(
    "body",
    [
        [],
        POINTER[:1],
        [*POINTER, {}],
        [POINTER],
        ["another.Pointer", POINTER[1]],
        [POINTER[0], {"s3BucketName": "large"}],
        [POINTER[0], {"s3BucketName": "", "s3Key": "k"}],
        [POINTER[0], {"s3BucketName": "large", "s3Key": 42}],
        [42, POINTER[1]],
        dict([POINTER]),
        [POINTER[0], {"s3BucketName": "large", "s3Key": "k" * 20_000}],
    ],
)
def test_what_only_resembles_a_pointer_is_none(body: object) -> None:
    assert pointer_in(json.dumps(body)) is None


# -- Hints ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (json.dumps(SNS), "an SNS envelope, which envelopes.sns() opens"),
        (json.dumps(SNS | {"Type": "SubscriptionConfirmation"}), "confirm a subscription"),
        (json.dumps(SNS | {"Type": "UnsubscribeConfirmation"}), "confirm a subscription"),
        (json.dumps(EVENT), "an EventBridge event, which envelopes.eventbridge() opens"),
        (json.dumps(CLOUD_EVENT), "a CloudEvent, which envelopes.cloudevents() opens"),
        (json.dumps(S3), "an S3 notification, which envelopes.s3() takes"),
        (json.dumps(TEST_EVENT), "S3 tests a new notification, which envelopes.s3() acknowledges"),
        (GZIP, "gzip in base64, which envelopes.gzip_base64() opens"),
        (json.dumps(POINTER), "in S3, in bucket 'large' under key 'k-1', and an envelope function of your own"),
    ],
)
def test_a_hint_says_what_a_body_looks_like_and_what_opens_it(body: str, hint: str) -> None:
    assert hint in (hint_for(body) or "")


@pytest.mark.parametrize(
    "body", [*UNREADABLE, "{}", "[]", "null", '{"order_id": "o-1"}', '{"TopicArn": 1}', "{'\"aws:s3\"'}"]
)
def test_a_body_that_looks_like_nothing_that_is_known_gets_no_hint(body: str) -> None:
    assert hint_for(body) is None


@pytest.mark.parametrize("body", UNREADABLE)
@pytest.mark.parametrize("mark", ['"TopicArn"', '"detail-type"', '"aws:s3"', '["', "H4sI", "\ud800"])
def test_recognising_and_hinting_never_raise(body: str, mark: str) -> None:
    for text in (body, mark + body, body + mark):
        assert sns_envelope(text) is event_envelope(text) is pointer_in(text) is None
        hint_for(text)


def test_a_hint_shows_no_more_of_a_hostile_pointer_than_a_line_takes_and_no_control_characters() -> None:
    hint = hint_for(json.dumps([POINTER[0], {"s3BucketName": "b\n\ud800", "s3Key": "k" * 10_000}]))

    assert hint is not None
    assert len(hint) < 600
    assert hint.isprintable()


@pytest.mark.parametrize("body", ['{"a": [' + "[]," * 300_000 + "1]}", "[" + "[]," * 300_000 + "1]"])
def test_a_large_body_that_is_none_of_these_costs_a_search_and_is_not_read(body: str) -> None:
    tracemalloc.start()
    hint = hint_for(body)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert hint is None
    assert peak < 10_000
