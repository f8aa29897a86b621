"""Each envelope is opened to what its producer sent, and what is not that envelope is refused with what it is."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idempotent_consumer import envelopes
from idempotent_consumer.envelopes import OPENER_FACTORIES, Opener
from idempotent_consumer.errors import EmptyEnvelope, UnreadableMessageError
from idempotent_consumer.message import Envelope, Opened

SNS: dict[str, Any] = {
    "Type": "Notification",
    "MessageId": "n-1",
    "TopicArn": "arn:aws-cn:sns:cn-north-1:111122223333:orders",
    "Message": "hello",
    "Timestamp": "2026-03-01T12:00:00.000Z",
}
SIGNED = {
    "SignatureVersion": "1",
    "Signature": "c2ln",
    "SigningCertURL": "https://sns.example/cert.pem",
    "UnsubscribeURL": "https://sns.example/?Action=Unsubscribe",
}
EVENT: dict[str, Any] = {"id": "e-1", "source": "shop.orders", "detail-type": "Order Placed", "detail": {"n": 1}}
CLOUD_EVENT: dict[str, Any] = {"specversion": "1.0", "id": "c-1", "source": "/orders", "type": "order.placed"}
S3: dict[str, Any] = {
    "Records": [{"eventSource": "aws:s3", "s3": {"bucket": {"name": "pictures"}, "object": {"key": "a.jpg"}}}]
}
TEST_EVENT = {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "pictures", "RequestId": "r", "HostId": "h"}
NO_JSON_OBJECT = ["", "text", "{", "[]", "null", "[" * 100_000, '{"a":' * 100_000, "9" * 5_000, "\ud800", "\ufeff{}"]
NUMBERS = ["0.1234567890123456789012345", "1.10", "1e400", "12345678901234567890", "9" * 5_000]
EVERY_OPENER = [
    envelopes.sns(),
    envelopes.eventbridge(),
    envelopes.cloudevents(),
    envelopes.s3(),
    envelopes.base64_text(),
    envelopes.gzip_base64(),
]


def opened(opener: Opener, body: object) -> Opened:
    inside = opener(body if isinstance(body, str) else json.dumps(body))
    assert isinstance(inside, Opened)
    return inside


def refusal(opener: Opener, body: object) -> str:
    with pytest.raises(UnreadableMessageError) as refused:
        opener(body if isinstance(body, str) else json.dumps(body))
    return str(refused.value)


def without(body: dict[str, Any], member: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != member}


# -- SNS ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "envelope",
    [
        pytest.param(SNS | SIGNED, id="standard topic"),
        pytest.param(SNS | {"SequenceNumber": "10000000000000004000"}, id="FIFO topic, which signs nothing"),
        pytest.param(SNS | SIGNED | {"Subject": None}, id="no subject"),
        pytest.param(SNS | SIGNED | {"Subject": "Order"}, id="subject"),
        pytest.param(without(SNS, "Timestamp") | {"SigningCertUrl": "x", "New": [1, {"a": None}]}, id="other members"),
    ],
)
@pytest.mark.parametrize(
    "message", ["hello", '{"order_id": "o-1", "price": 1.10}', "", "\u00e9\U0001f411 \ud800", "null"]
)
@pytest.mark.parametrize("indent", [None, 2])
def test_an_sns_envelope_is_opened_to_what_was_published(envelope: Any, message: str, indent: int | None) -> None:
    inside = opened(envelopes.sns(), json.dumps(envelope | {"Message": message}, indent=indent))

    assert inside == Opened(message, Envelope("sns", without(envelope, "Message")), {})


def test_message_attributes_that_travelled_in_an_sns_envelope_are_opened_with_it() -> None:
    attributes = {
        "message-id": {"Type": "String", "Value": "m-1"},
        "price": {"Type": "Number", "Value": "1.10"},
        "uuid": {"Type": "String.uuid", "Value": "u-1"},
        "tags": {"Type": "String.Array", "Value": '["a", "b"]'},
        "raw": {"Type": "Binary", "Value": "AP8="},
        "picture": {"Type": "Binary.png", "Value": "AP8="},
        "no base64": {"Type": "Binary", "Value": "binary"},
        "no type": {"Value": "x"},
    }

    assert opened(envelopes.sns(), SNS | {"MessageAttributes": attributes}).attributes == {
        "message-id": "m-1",
        "price": "1.10",
        "uuid": "u-1",
        "tags": '["a", "b"]',
        "raw": b"\x00\xff",
        "picture": b"\x00\xff",
        "no base64": "binary",
        "no type": "x",
    }


@pytest.mark.parametrize(
    "odd", [None, [], "text", 42, {"a": None}, {"a": {}}, {"a": {"Type": "String", "Value": None}}, {"a": {"Value": 1}}]
)
def test_attributes_that_are_null_or_odd_are_absent(odd: object) -> None:
    assert opened(envelopes.sns(), SNS | {"MessageAttributes": odd}).attributes == {}


@pytest.mark.parametrize("kind", ["SubscriptionConfirmation", "UnsubscribeConfirmation"])
@pytest.mark.parametrize("opener", [envelopes.sns(), envelopes.sns(optional=True)])
def test_what_sns_wants_confirmed_is_never_taken_for_a_message(kind: str, opener: Opener) -> None:
    body = SNS | {"Type": kind, "Token": "t", "SubscribeURL": "https://sns.example/?Action=ConfirmSubscription"}

    assert "someone has to" in refusal(opener, body)


def test_without_an_envelope_the_refusal_thinks_of_raw_message_delivery() -> None:
    assert "raw message delivery" in refusal(envelopes.sns(), {"order_id": "o-1"})


# -- Events ---------------------------------------------------------------------------------------


def test_an_event_is_opened_to_its_detail() -> None:
    inside = opened(envelopes.eventbridge(), EVENT | {"replay-name": "again"})

    assert inside == Opened('{"n": 1}', Envelope("eventbridge", without(EVENT, "detail") | {"replay-name": "again"}))


@pytest.mark.parametrize("detail", ["{}", "null", '"text"', "[ ]", '{"b":1 ,\n "a":"\\u00e9"}', *NUMBERS])
def test_the_detail_of_an_event_is_passed_on_character_for_character(detail: str) -> None:
    body = json.dumps(without(EVENT, "detail"))[:-1] + f',"detail" :\t{detail}\r\n}}'

    assert opened(envelopes.eventbridge(), body).body == detail


@pytest.mark.parametrize("data", ["{}", "null", "[ ]", "true", '{"b":1 ,\n "a":"\\u00e9"}', *NUMBERS])
def test_the_data_of_a_cloudevent_is_passed_on_character_for_character(data: str) -> None:
    body = f'{{"data" : {data} ,' + json.dumps(CLOUD_EVENT)[1:]

    assert opened(envelopes.cloudevents(), body) == Opened(data, Envelope("cloudevents", CLOUD_EVENT))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, ""),
        ({"data": "<order/>"}, "<order/>"),
        ({"data": '{"order_id": "o-1"}'}, '{"order_id": "o-1"}'),
        ({"data": ""}, ""),
        ({"data": "text", "data_base64": None}, "text"),
        ({"data_base64": "w6k="}, "é"),
        ({"data_base64": "w6k=", "data": None}, "é"),
        ({"data_base64": ""}, ""),
    ],
)
def test_data_that_is_text_encoded_or_missing_is_opened_to_that_text(data: dict[str, Any], expected: str) -> None:
    assert opened(envelopes.cloudevents(), CLOUD_EVENT | data).body == expected


@pytest.mark.parametrize(
    "data", [{"data_base64": "w6k"}, {"data_base64": "/w=="}, {"data_base64": 1}, {"data": 1, "data_base64": "w6k="}]
)
def test_data_that_cannot_be_read_makes_a_cloudevent_unreadable(data: dict[str, Any]) -> None:
    assert "data_base64" in refusal(envelopes.cloudevents(), CLOUD_EVENT | data)
    assert "data_base64" in refusal(envelopes.cloudevents(optional=True), CLOUD_EVENT | data)


# -- What is not the envelope ---------------------------------------------------------------------

OPTIONAL: list[Callable[..., Opener]] = [envelopes.sns, envelopes.eventbridge, envelopes.cloudevents]


@pytest.mark.parametrize("factory", OPTIONAL)
@pytest.mark.parametrize(
    "body", [*NO_JSON_OBJECT, "{}", json.dumps(S3), '{"id": "e-1", "MessageId": "n-1", "source": "/"}']
)
def test_what_is_not_the_envelope_is_refused_or_where_that_is_optional_taken_as_it_is(
    factory: Callable[..., Opener], body: str
) -> None:
    assert "the body is not a" in refusal(factory(), body)
    assert factory(optional=True)(body) is body


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (SNS, "envelopes.sns() opens"),
        (EVENT, "envelopes.eventbridge() opens"),
        (CLOUD_EVENT, "envelopes.cloudevents() opens"),
        (S3, "envelopes.s3() takes"),
        (["software.amazon.payloadoffloading.PayloadS3Pointer", {"s3BucketName": "b", "s3Key": "k"}], "large message"),
    ],
)
def test_a_refusal_says_what_the_body_is_instead(body: object, hint: str) -> None:
    for opener in EVERY_OPENER:
        if not isinstance(body, dict) or opener is not EVERY_OPENER[[SNS, EVENT, CLOUD_EVENT, S3].index(body)]:
            assert hint in refusal(opener, body)


def test_a_refusal_names_the_member_that_is_missing() -> None:
    assert "its TopicArn is missing" in refusal(envelopes.sns(), without(SNS, "TopicArn"))
    assert "its detail is missing" in refusal(envelopes.eventbridge(), without(EVENT, "detail"))
    assert "its specversion is not 1.x" in refusal(envelopes.cloudevents(), CLOUD_EVENT | {"specversion": "0.3"})


@pytest.mark.parametrize("opener", EVERY_OPENER)
@given(
    st.text()
    | st.dictionaries(
        st.sampled_from([*SNS, *EVENT, *CLOUD_EVENT, "data", "data_base64", "Records", "MessageAttributes"]),
        st.none()
        | st.integers()
        | st.text(max_size=3)
        | st.sampled_from(["Notification", "1.0", {"a": {}}, [{}], "QQ=="]),
    ).map(json.dumps)
)
def test_whatever_a_body_holds_an_opener_opens_it_or_finds_it_unreadable(opener: Opener, body: str) -> None:
    try:
        assert isinstance(opener(body), Opened)
    except UnreadableMessageError as error:
        assert str(error)  # noqa: PT017 - most bodies are refused, and a few are not


@pytest.mark.parametrize("opener", EVERY_OPENER)
@pytest.mark.parametrize("body", [*NO_JSON_OBJECT, '{"Records": [' + "9" * 5_000 + "]}", '{"Records":' + "[" * 100_000])
def test_bodies_that_the_interpreter_refuses_are_unreadable_to_every_opener(opener: Opener, body: str) -> None:
    if body or opener is not EVERY_OPENER[4]:  # nothing at all is base64 of nothing
        assert refusal(opener, body)


# -- S3 -------------------------------------------------------------------------------------------


def test_an_s3_notification_stays_as_it_is() -> None:
    body = json.dumps(S3, indent=1)

    assert opened(envelopes.s3(), body) == Opened(body, Envelope("s3", {}))


def test_the_event_by_which_s3_tests_a_notification_carries_no_message() -> None:
    with pytest.raises(EmptyEnvelope, match="S3 tests"):
        envelopes.s3()(json.dumps(TEST_EVENT))


def test_s3_through_sns_is_opened_by_both() -> None:
    inside = opened(envelopes.sns(), SNS | {"Message": json.dumps(S3)})

    assert opened(envelopes.s3(), inside.body).body == json.dumps(S3)


# -- All of them ----------------------------------------------------------------------------------


def test_every_public_function_that_makes_an_opener_is_known_as_one() -> None:
    assert {getattr(envelopes, name) for name in envelopes.__all__} - {Opener, envelopes.hint_for} == set(
        OPENER_FACTORIES
    )
