"""Run consumers of every mode through all that can become of a delivery, and collect the metrics that they write."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from idempotent_consumer import Eager, Lazy, Message, Natural, Reject, Settings, Transactional, UnitOfWork
from idempotent_consumer.dynamodb import DynamoDBStore
from idempotent_consumer.modes import Mode
from idempotent_consumer.store import Store
from idempotent_consumer.testing import InMemoryStore, sqs_record
from tests.promises.faults import FaultyStore, Wire
from tests.promises.world import TIMEOUT_MS, World

MODES: Mapping[str, Mode] = {
    "Lazy": Lazy(),
    "Eager": Eager(),
    "Transactional": Transactional(),
    "Natural": Natural(),
}


class TakingSqs:
    """Take dead letters and waits."""

    def send_message_batch(self, *, QueueUrl: str, Entries: Any) -> Any:  # noqa: N803 - boto3's names
        return {"Successful": [{"Id": entry["Id"], "MessageId": "letter"} for entry in Entries]}

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: Any) -> Any:  # noqa: N803
        return {}


def emitted(name: str, mode: Mode, capsys: pytest.CaptureFixture[str], store: DynamoDBStore) -> set[str]:
    """Return the names of all metrics that a consumer of a mode writes under its own name."""
    outcomes(name, mode)
    on_dynamodb(name, mode, store)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    of_metrics = [line for line in lines if "_aws" in line]
    assert {line["service"] for line in of_metrics} == {name}
    assert {
        (one["Namespace"], str(one["Dimensions"])) for line in of_metrics for one in line["_aws"]["CloudWatchMetrics"]
    } == {("IdempotentConsumer", "[['service']]")}
    return {
        metric["Name"] for line in of_metrics for one in line["_aws"]["CloudWatchMetrics"] for metric in one["Metrics"]
    }


def outcomes(name: str, mode: Mode) -> None:
    """Let everything happen that can happen to a delivery."""
    world = World(InMemoryStore())
    settings = Settings(dead_letter_queue_url="https://sqs/1/dead", queue_urls=("https://sqs/1/orders",))

    def start(handler: Any, store: Store | None = None, **options: Any) -> Any:
        return world.worker(mode, handler, name=name, store=store, settings=settings, sqs=TakingSqs(), **options)

    def handle(message: Message, work: UnitOfWork) -> None:
        if message.body == '{"id": "fails"}':
            raise ValueError("no")
        if message.body == '{"id": "rejects"}':
            raise Reject("no")
        if message.body == '{"id": "lasts"}':
            world.pass_ms(TIMEOUT_MS - 4_000)

    one = start(handle)
    one.deliver(*[sqs_record({"id": each}) for each in ("done", "done", "fails", "rejects")])
    one.deliver(  # the one that lasts is most received, and so the first
        *[sqs_record({"id": each}, receive_count=count) for each, count in (("lasts", 3), ("done", 2), ("late", 2))]
    )
    world.dying_worker(Eager(lease=timedelta(hours=1)), name=name).deliver(sqs_record({"id": "held"}))
    one.deliver(sqs_record({"id": "held"}))
    failing = FaultyStore(world.store)
    for method in ("complete", "remember", "commit"):
        failing.fail(method)
    start(handle, failing).deliver(sqs_record({"id": "unrecorded"}))

    def overtaken(message: Message, work: UnitOfWork) -> None:
        ahead_ms = one.clock.now_ms() - world.workers[0].clock.now_ms() + 2 * TIMEOUT_MS
        world.worker(Eager(), name=name, clock_ahead_ms=ahead_ms).deliver(sqs_record({"id": "overtaken"}))

    start(overtaken).deliver(sqs_record({"id": "overtaken"}))


def on_dynamodb(name: str, mode: Mode, store: DynamoDBStore) -> None:
    """Let the store be asked, throttle, and refuse."""
    worker = World(store).worker(mode, name=name)
    worker.deliver(sqs_record({"id": "1"}))
    operation = "PutItem" if mode == Eager() else "BatchGetItem"
    wire = Wire(store)
    wire.refuse(operation, "ThrottlingException", times=1)
    worker.deliver(sqs_record({"id": "2"}))
    wire.refuse(operation, "InternalServerError", times=1)
    worker.deliver(sqs_record({"id": "3"}))
    wire.repair()
