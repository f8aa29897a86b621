"""Whatever SDKs, emulators and people write into records, what can be known is handled, the rest concerns itself."""

import json
from typing import Any

import pytest

from idempotent_consumer import (
    DynamoDBStore,
    Eager,
    Lazy,
    Natural,
    Outcome,
    Transactional,
    all_of,
    attribute,
    body_field,
    content_hash,
    deduplication_id,
    sqs_message_id,
)
from idempotent_consumer.modes import Mode
from idempotent_consumer.testing import InMemoryStore, sqs_record
from tests.promises.world import Worker, World

ARN = "arn:aws:sqs:eu-central-1:111122223333:orders"
FIFO = f"{ARN}.fifo"
MODES = [Lazy(), Eager(), Transactional()]


def worker(**options: Any) -> Worker:
    return World(InMemoryStore()).worker(Lazy(), **options)


# -- what records leave out -----------------------------------------------------------------------------------


def test_null_members_of_an_attribute_do_not_hide_its_id() -> None:
    null = {
        "stringValue": "A",
        "binaryValue": None,
        "stringListValues": [],
        "binaryListValues": [],
        "dataType": "String",
    }
    orders = worker(message_id=attribute("message-id"))

    orders.deliver(sqs_record("text") | {"messageAttributes": {"message-id": null}, "md5OfMessageAttributes": None})

    assert orders.handled == ["A"]


@pytest.mark.parametrize(
    "said", [{}, None, {"SentTimestamp": "1767225600"}, {"ApproximateReceiveCount": None}, {"SentTimestamp": "soon"}]
)
def test_system_attributes_that_are_missing_or_odd_keep_no_message_from_being_handled(said: Any) -> None:
    orders = worker()

    assert orders.deliver(sqs_record({"id": "o-1"}) | {"attributes": said}) == []
    assert orders.handled == ["o-1"]


def test_an_attribute_without_a_type_gives_the_id() -> None:
    orders = worker(message_id=attribute("message-id"))

    orders.deliver(sqs_record("text") | {"messageAttributes": {"message-id": {"stringValue": "x"}}})

    assert orders.handled == ["x"]


def test_a_body_that_is_an_object_is_taken_as_its_json() -> None:
    orders = worker()

    orders.deliver(sqs_record("") | {"body": {"id": "o-1", "lines": []}})

    assert orders.handled == ["o-1"]


@pytest.mark.parametrize("sqs_id", ["1", "MessageID_1", "3k144555-9a4f-4ec3-99a0-34ce359b4b5", "\u00e9 "])
def test_an_sqs_message_id_is_any_text(sqs_id: str) -> None:
    orders = worker(message_id=sqs_message_id())

    orders.deliver(sqs_record("text", sqs_message_id=sqs_id))

    assert orders.handled == [sqs_id]


# -- what bodies and attributes hold --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attribute_value", "expected"),
    [
        ({"stringValue": "007", "dataType": "Number"}, ["007"]),
        ({"stringValue": "7", "dataType": "Number.int"}, ["7"]),
        ({"stringValue": "6f9619ff", "dataType": "String.uuid"}, ["6f9619ff"]),
        ({"stringValue": "100", "binaryValue": "base64Str", "dataType": "Number"}, ["100"]),
        ({"stringListValues": ["abc"], "dataType": "String"}, []),
        ({"binaryListValues": ["YWJj"], "dataType": "Binary"}, []),
        ({"binaryValue": "YWJj", "dataType": "Binary"}, []),
    ],
)
def test_the_id_is_the_text_of_an_attribute_whatever_its_custom_type_and_never_a_list(
    attribute_value: dict[str, Any], expected: list[str]
) -> None:
    orders = worker(message_id=attribute("n"))

    orders.deliver(sqs_record("text") | {"messageAttributes": {"n": attribute_value}})

    assert orders.handled == expected


def test_42_and_its_text_are_one_message_and_42_with_a_fraction_is_none() -> None:
    orders = worker(fingerprint=None)
    bodies = ['{"id":42}', '{"id":"42"}', '{"id":42.0}', '{"id":4.2e1}', '{"id":true}', '{"id":12345678901234567890}']

    orders.deliver(*[sqs_record(body) for body in bodies])

    assert sorted(orders.handled) == ["12345678901234567890", "42"]
    assert orders.outcomes == [
        Outcome.PROCESSED,
        Outcome.DUPLICATE,
        Outcome.REJECTED,
        Outcome.REJECTED,
        Outcome.REJECTED,
        Outcome.PROCESSED,
    ]


def test_equal_content_is_one_message_whatever_the_order_of_its_names() -> None:
    orders = worker(message_id=content_hash())

    orders.deliver(
        sqs_record('{"a": 1, "ü": {"x": [1, 2], "y": null}}'),
        sqs_record('{"ü":{"y":null,"x":[1,2]},"a":1}'),
        sqs_record('{"\\u00fc": {"x": [1, 2], "y": null},\n "a": 1.0}'),
        sqs_record('{"a": 1, "ü": {"x": [2, 1], "y": null}}'),
    )

    assert len(orders.handled) == 2


@pytest.mark.parametrize("mode", MODES)
def test_a_body_of_the_largest_size_is_remembered_like_any_other(table: DynamoDBStore, mode: Mode) -> None:
    """The item holds neither body nor result, so that its size never fails a completion."""
    body = json.dumps({"id": "o-1", "padding": "x" * (1024 * 1024 - 1024)})
    orders = World(table).worker(mode, lambda message, work: "y" * 500_000)

    assert (orders.deliver(sqs_record(body)), orders.deliver(sqs_record(body))) == ([], [])
    assert orders.handled == ["o-1"]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "0.1", "1e400", "1e-400", "1e99999999999999999999", "1.10"])
@pytest.mark.parametrize("mode", MODES)
def test_whatever_numbers_a_body_holds_its_message_is_remembered(table: DynamoDBStore, mode: Mode, number: str) -> None:
    orders = World(table).worker(mode)
    body = f'{{"id": "o-1", "x": {number}}}'

    assert (orders.deliver(sqs_record(body)), orders.deliver(sqs_record(body))) == ([], [])
    assert orders.outcomes == [Outcome.DUPLICATE]


def test_a_lone_surrogate_in_an_id_rejects_its_own_record_and_the_log_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    orders = worker(name="surrogate-ids")
    lone = sqs_record('{"id": "\\ud83d"}', sqs_message_id="lone")

    assert orders.deliver(sqs_record({"id": "a"}), lone, sqs_record({"id": "b"})) == ["lone"]
    logged = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "REJECTED" in [line.get("outcome") for line in logged]


# -- queues ---------------------------------------------------------------------------------------------------


def test_a_group_of_a_fair_queue_is_no_lane_and_its_others_go_on() -> None:
    """As in published samples of FIFO events whose queue has no .fifo in its name."""
    records = [sqs_record({"id": id_}, sqs_message_id=id_, group_id="tenant-1", queue_arn=ARN) for id_ in "abc"]

    def fail_first(message: Any, work: Any) -> None:
        if message.id == "a":
            raise ValueError

    orders = World(InMemoryStore()).worker(Lazy(), fail_first)

    assert orders.deliver(*records) == ["a"]
    assert sorted(orders.handled) == ["a", "b", "c"]


@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov", "aws-eusc", "aws-iso-b", "{partition}"])
def test_a_queue_is_fifo_by_its_name_in_every_partition(partition: str) -> None:
    arn = f"arn:{partition}:sqs:somewhere-1: 111122223333:orders.fifo"
    records = [sqs_record({"id": id_}, sqs_message_id=id_, group_id="g", queue_arn=arn) for id_ in "ab"]

    def fail(message: Any, work: Any) -> None:
        raise ValueError

    orders = World(InMemoryStore()).worker(Natural(), fail)

    assert orders.deliver(*records) == ["a", "b"]
    assert orders.handled == ["a"]


def fifo(body: object, deduplication: str, sqs_id: str, **options: Any) -> dict[str, Any]:
    options = {"group_id": "g", "queue_arn": FIFO, **options}
    return sqs_record(body, deduplication_id=deduplication, sqs_message_id=sqs_id, **options)


def test_a_deduplication_id_that_is_lawfully_used_again_is_only_told_apart_by_more() -> None:
    """SQS forgets it after five minutes. The page on identities says so in bold."""
    first, later = fifo({"sent_at": 0}, "d", "m1"), fifo({"sent_at": 600}, "d", "m2")
    alone = worker(message_id=deduplication_id())
    together = worker(message_id=all_of(deduplication_id(), body_field("sent_at")))

    for orders in (alone, together):
        orders.deliver(first)
        orders.deliver(later)

    assert (len(alone.handled), alone.outcomes) == (1, [Outcome.REJECTED])  # seen, and not silently dropped
    assert len(together.handled) == 2


def test_the_same_deduplication_id_in_another_group_or_queue_is_another_message() -> None:
    orders = worker(message_id=deduplication_id(), fingerprint=None)
    elsewhere = "arn:aws:sqs:eu-central-1:111122223333:returns.fifo"

    orders.deliver(
        fifo("x", "d", "m1"),
        fifo("x", "d", "m2", group_id="h"),
        fifo("x", "d", "m3", queue_arn=elsewhere),
        fifo("x", "d", "m4"),
    )

    assert len(orders.handled) == 3


def test_a_message_out_of_a_dead_letter_queue_is_read_like_any_other() -> None:
    by_field, by_deduplication = worker(), worker(message_id=deduplication_id())
    first = fifo({"id": "o-1"}, "d1", "m1")
    moved = fifo({"id": "o-1"}, "m1", "m1")  # SQS has replaced its deduplication id by its message id
    moved["attributes"]["DeadLetterQueueSourceArn"] = FIFO

    for orders in (by_field, by_deduplication):
        orders.deliver(first)
        orders.deliver(moved)

    assert by_field.handled == ["o-1"]
    assert len(by_deduplication.handled) == 2
