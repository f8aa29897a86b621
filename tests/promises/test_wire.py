"""What goes over the wire to the table of processed messages, and what stays there."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from idempotent_consumer import Eager, Lazy, Message, Outcome, Transactional, UnitOfWork
from idempotent_consumer.dynamodb import DynamoDBStore
from idempotent_consumer.modes import Mode
from idempotent_consumer.settings import CONNECT_TIMEOUT_S, READ_TIMEOUT_S, Settings
from idempotent_consumer.store import ITEM_VERSION
from idempotent_consumer.testing import sqs_record
from tests.promises.faults import Wire
from tests.promises.world import World

APPROVED = Path(__file__).parents[1] / "approved" / "processed_message.json"
WRITES = {"PutItem", "UpdateItem", "DeleteItem"}


def arrival(id_: str = "1", **options: Any) -> dict[str, Any]:
    return sqs_record({"id": id_}, **options)


def unstable(message: Message, work: UnitOfWork) -> None:
    if message.receive_count == 1:
        raise ConnectionError


def send_each_kind(work: UnitOfWork) -> None:
    work.send(
        "https://sqs.eu-central-1.amazonaws.com/111122223333/payments",
        {"order_id": "1"},
        attributes={"kind": "new", "weight": 3, "seal": b"\x00\x01"},
        group_id="tenant-7",
        delay=timedelta(minutes=1),
    )
    work.publish("arn:aws:sns:eu-central-1:111122223333:receipts", "Thank you.", subject="Receipt")
    work.put_event("OrderPlaced", {"order_id": "1"}, source="com.example.orders", resources=["arn:aws:s3:::orders/1"])


@pytest.mark.parametrize("mode", [Lazy(), Eager(), Transactional()])
def test_every_write_to_the_table_is_conditional(table: DynamoDBStore, wire: Wire, mode: Mode) -> None:
    """Claims, completions, records, releases and transactions, of messages that succeed, fail and return."""
    worker = World(table).worker(mode, unstable)
    for receive_count in (1, 2, 3):
        worker.deliver(*(arrival(str(number), receive_count=receive_count) for number in range(3)))

    seen = set()
    for operation, params in wire.requests:
        writes = [params] if operation in WRITES else []
        if operation == "TransactWriteItems":
            writes = [write for action in params["TransactItems"] for write in action.values()]
        seen |= {operation for _ in writes}
        assert all(write["ConditionExpression"] for write in writes)
        assert operation in {*WRITES, "TransactWriteItems", "BatchGetItem", "GetItem"}
    assert seen


def test_the_stored_item_is_the_approved_one(table: DynamoDBStore, dynamodb: Any) -> None:
    """When it changes: raise ITEM_VERSION, write a decision record, and say how old items are read."""
    world = World(table)
    record = arrival(sqs_message_id="00000000-0000-0000-0000-000000000001")
    seen: dict[str, Any] = {}

    def look(message: Message, work: UnitOfWork) -> None:
        send_each_kind(work)
        seen["claimed"] = dynamodb.get_item(TableName=table.table_name, Key={"id": {"S": "consumer#1"}})["Item"]

    world.worker(Eager(), look, settings=Settings(outbox_relay="relay")).deliver(record)
    seen["completed"] = dynamodb.get_item(TableName=table.table_name, Key={"id": {"S": "consumer#1"}})["Item"]
    for item in seen.values():
        item["owner"]["S"] = "minted for each delivery"

    assert json.loads(APPROVED.read_text(encoding="utf-8")) == seen
    assert seen["completed"]["v"] == {"N": str(ITEM_VERSION)}


def test_neither_body_nor_anything_that_grows_with_it_is_stored(table: DynamoDBStore, dynamodb: Any) -> None:
    world = World(table)

    world.worker(Lazy(), fingerprint=("@",)).deliver(sqs_record({"id": "1", "text": "x" * 1_000_000}))

    item = dynamodb.get_item(TableName=table.table_name, Key={"id": {"S": "consumer#1"}})["Item"]
    assert len(json.dumps(item)) < 1_000


def test_a_look_up_sees_everything_that_was_stored_before_it(table: DynamoDBStore, wire: Wire) -> None:
    """No later condition protects a verdict that ends a delivery: a stale one could acknowledge what was forgotten."""
    for mode in (Lazy(), Transactional()):
        World(table).worker(mode).deliver(arrival())

    read = [params["RequestItems"] for operation, params in wire.requests if operation == "BatchGetItem"]
    assert [request[table.table_name]["ConsistentRead"] for request in read] == [True, True]


def test_keys_that_dynamodb_did_not_get_round_to_are_asked_for_again(table: DynamoDBStore, wire: Wire) -> None:
    world = World(table)
    worker = world.worker(Lazy())
    worker.deliver(*(arrival(str(number)) for number in range(3)))
    wire.leave_unprocessed(table.table_name, 2)

    worker.deliver(*(arrival(str(number)) for number in range(3)))

    assert worker.outcomes == [Outcome.DUPLICATE] * 3


def test_an_item_of_unknown_form_is_never_taken_for_permission(table: DynamoDBStore, dynamodb: Any) -> None:
    dynamodb.put_item(TableName=table.table_name, Item={"id": {"S": "consumer#1"}, "status": {"S": "PAUSED"}})
    worker = World(table).worker(Lazy())

    worker.deliver(arrival("1"), arrival("2"))

    assert worker.outcomes == [Outcome.IN_FLIGHT, Outcome.PROCESSED]


@pytest.mark.parametrize("mode", [Lazy(), Eager(), Transactional()])
@pytest.mark.parametrize(
    ("item", "outcome"),
    [
        ({"status": {"S": "IN_PROGRESS"}, "lease_until": {"N": "1000"}}, Outcome.PROCESSED),
        ({"status": {"S": "IN_PROGRESS"}}, Outcome.IN_FLIGHT),
        ({"status": {"S": "IN_PROGRESS"}, "lease_until": {"N": "999999999999999"}}, Outcome.IN_FLIGHT),
        ({"status": {"S": "COMPLETED"}, "expires_at": {"N": "1000"}}, Outcome.PROCESSED),
        ({"status": {"S": "COMPLETED"}}, Outcome.DUPLICATE),
        ({"lease_until": {"N": "1000"}}, Outcome.IN_FLIGHT),
        ({"status": {"N": "1"}}, Outcome.IN_FLIGHT),
    ],
)
def test_conditions_and_judgement_agree_on_whatever_is_stored(
    table: DynamoDBStore, dynamodb: Any, mode: Mode, item: dict[str, Any], outcome: Outcome
) -> None:
    dynamodb.put_item(TableName=table.table_name, Item={"id": {"S": "consumer#1"}, **item})
    worker = World(table).worker(mode)

    worker.deliver(arrival("1"), arrival("2"))

    assert worker.outcomes == [outcome, Outcome.PROCESSED]


def test_a_request_ends_after_seconds_and_the_sdk_adds_no_tries_of_its_own(table: DynamoDBStore) -> None:
    config = table._client.meta.config

    assert (config.connect_timeout, config.read_timeout) == (CONNECT_TIMEOUT_S, READ_TIMEOUT_S)
    assert CONNECT_TIMEOUT_S + READ_TIMEOUT_S <= 3
    assert config.retries["total_max_attempts"] == 1


def test_an_endpoint_from_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")

    assert DynamoDBStore("any")._client.meta.endpoint_url == "http://127.0.0.1:4566"


def test_disabled_for_development_the_table_still_takes_everything(table: DynamoDBStore, wire: Wire) -> None:
    worker = World(table).worker(Transactional(), settings=Settings(idempotency_disabled=True))

    worker.deliver(arrival(), arrival())

    assert wire.operations == ["BatchGetItem", "TransactWriteItems", "TransactWriteItems"]


def test_disabled_for_development_long_ids_are_as_good_as_ever(table: DynamoDBStore) -> None:
    worker = World(table).worker(Lazy(), settings=Settings(idempotency_disabled=True))

    worker.deliver(arrival("x" * 2_030))

    assert worker.outcomes == [Outcome.PROCESSED]
