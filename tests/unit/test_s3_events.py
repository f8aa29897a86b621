"""What an S3 notification tells of its objects, and what is none."""

import json
from typing import Any
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idempotent_consumer.errors import EmptyEnvelope, UnreadableMessageError
from idempotent_consumer.s3_events import S3Object, s3_objects

TEST_EVENT = {
    "Service": "Amazon S3",
    "Event": "s3:TestEvent",
    "Time": "2026-03-01T12:00:00.000Z",
    "Bucket": "pictures",
    "RequestId": "r",
    "HostId": "h",
}


def record(key: object = "a.jpg", *, event: str = "ObjectCreated:Put", partition: str = "aws", **stored: object) -> Any:
    return {
        "eventVersion": "2.5",
        "eventSource": "aws:s3",
        "awsRegion": "eu-central-1",
        "eventName": event,
        "s3": {
            "s3SchemaVersion": "1.0",
            "bucket": {"name": "pictures", "arn": f"arn:{partition}:s3:::pictures"},
            "object": {"key": key, **stored},
        },
    }


def objects(*records: object) -> tuple[S3Object, ...]:
    return s3_objects(json.dumps({"Records": records}))


def refusal(body: object) -> str:
    with pytest.raises(UnreadableMessageError) as refused:
        s3_objects(body if isinstance(body, str) else json.dumps(body))
    return str(refused.value)


@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov", "aws-eusc"])
def test_an_object_is_read_with_all_that_is_said_of_it_in_every_partition(partition: str) -> None:
    found = record("a.jpg", partition=partition, size=0, eTag="e-1", versionId="v-1", sequencer="0A1B")

    assert objects(found) == (S3Object("ObjectCreated:Put", "pictures", "a.jpg", "v-1", "e-1", "0A1B", 0),)


def test_what_a_deletion_does_not_say_is_absent() -> None:
    assert objects(record("a.jpg", event="ObjectRemoved:Delete", sequencer="0A1B")) == (
        S3Object("ObjectRemoved:Delete", "pictures", "a.jpg", sequencer="0A1B"),
    )


@pytest.mark.parametrize("odd", [None, "", [], {}, True, 1.5])
def test_what_is_null_or_odd_is_absent(odd: object) -> None:
    found = record("a.jpg", size=odd, eTag=odd, versionId=odd, sequencer=odd) | {"eventName": odd}

    assert objects(found) == (S3Object("", "pictures", "a.jpg"),)


def test_one_notification_may_tell_of_several_objects() -> None:
    assert [found.key for found in objects(record("a"), record("b"), record("a"))] == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        ("red+flower.jpg", "red flower.jpg"),
        ("a%2Bb", "a+b"),
        ("2026/03/caf%C3%A9%20%F0%9F%90%91", "2026/03/café 🐑"),
        ("100%25", "100%"),
        ("%2525", "%25"),
        ("é", "é"),
        ("+", " "),
    ],
)
def test_a_key_is_what_it_is_in_the_bucket_not_as_it_was_sent(sent: str, key: str) -> None:
    assert objects(record(sent))[0].key == key


@given(key=st.text(min_size=1), safe=st.sampled_from(["", "/", "/!*'()"]))
def test_every_key_is_read_back(key: str, safe: str) -> None:
    assert objects(record(quote_plus(key, safe=safe)))[0].key == key


@pytest.mark.parametrize("sent", ["%", "%4", "%zz", "a%", "%FF", "%C3", "%ED%A0%80"])
def test_a_key_that_could_be_read_as_another_objects_is_refused(sent: str) -> None:
    assert "Records[1].s3.object.key is not form-encoded" in refusal({"Records": [record("a"), record(sent)]})


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (None, "Records[1].eventSource"),
        ("text", "Records[1].eventSource"),
        ({}, "Records[1].eventSource"),
        (record() | {"eventSource": "aws:sqs"}, "Records[1].eventSource"),
        (record() | {"eventSource": ["aws:s3"]}, "Records[1].eventSource"),
        (record() | {"s3": None}, "Records[1].s3.bucket.name"),
        (record() | {"s3": {"bucket": {"name": ""}, "object": {"key": "a"}}}, "Records[1].s3.bucket.name"),
        (record() | {"s3": {"bucket": {"name": "b"}, "object": "a"}}, "Records[1].s3.object.key"),
        (record(""), "Records[1].s3.object.key"),
        (record(42), "Records[1].s3.object.key"),
        (record(None), "Records[1].s3.object.key"),
    ],
)
def test_one_record_that_is_no_object_of_s3_makes_the_whole_no_notification(broken: object, problem: str) -> None:
    assert problem in refusal({"Records": [record(), broken]})


@pytest.mark.parametrize(
    "body", [{}, [], None, 42, "text", [record()], {"Records": []}, {"Records": {}}, {"Records": None}, record()]
)
def test_what_has_no_records_is_no_notification(body: object) -> None:
    assert "no list of Records" in refusal(json.dumps(body))


@pytest.mark.parametrize(
    "body", ["", "text", "{", "[" * 100_000, '{"Records": ' + "9" * 5_000 + "}", "\ufeff{}", "\ud800"]
)
def test_what_is_no_json_is_no_notification(body: str) -> None:
    assert "not JSON" in refusal(body)


def test_the_event_by_which_s3_tests_a_notification_carries_no_message() -> None:
    with pytest.raises(EmptyEnvelope):
        s3_objects(json.dumps(TEST_EVENT))


@pytest.mark.parametrize(
    "change",
    [{"Event": "s3:ObjectCreated"}, {"Service": "Amazon"}, {"Event": None}, {"Records": []}, {"Records": ["x"]}],
)
def test_what_only_resembles_a_test_event_is_never_acknowledged_as_one(change: dict[str, Any]) -> None:
    assert "no S3 notification" in refusal(TEST_EVENT | change)


def test_a_body_with_records_is_a_notification_whatever_else_it_says() -> None:
    assert s3_objects(json.dumps(TEST_EVENT | {"Records": [record()]})) == objects(record())
