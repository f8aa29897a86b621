"""What a handler writes says which message it is about, and nothing of one message reaches another."""

import asyncio
import io
import json
import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from aws_lambda_powertools import Logger
from moto import mock_aws

from idempotent_consumer import DynamoDBStore, Eager, Lazy, Message, Natural, Transactional, UnitOfWork
from idempotent_consumer.modes import Mode
from idempotent_consumer.telemetry import METRICS
from idempotent_consumer.testing import InMemoryStore, create_processed_messages_table, sqs_record
from tests.promises.world import Worker, World

KEYS = ("consumer", "message_id", "key", "sqs_message_id")

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def name() -> str:
    """Return a name of its own, since a logger keeps the output that it was made with."""
    return f"consumer-{uuid.uuid4().hex}"


@pytest.fixture
def written() -> io.StringIO:
    """Return where the user's own logger writes to."""
    return io.StringIO()


@pytest.fixture
def logger(written: io.StringIO) -> Iterator[Logger]:
    theirs = Logger(service=f"shop-{uuid.uuid4().hex}", stream=written)
    yield theirs
    theirs.thread_safe_clear_keys()


@pytest.fixture
def lines(written: io.StringIO, capsys: pytest.CaptureFixture[str]) -> Lines:
    """Return all lines so far, the user's first."""
    return lambda: [json.loads(line) for line in (written.getvalue() + capsys.readouterr().out).splitlines()]


def worker(mode: Mode, handler: Any, name: str, **options: Any) -> Worker:
    return World(InMemoryStore()).worker(mode, handler, name=name, **options)


def records(count: int) -> list[dict[str, Any]]:
    return [sqs_record({"id": f"m{number}"}, sqs_message_id=f"s{number}") for number in range(count)]


def of_handlers(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if line.get("message") == "in the handler"]


# -- log keys -------------------------------------------------------------------------------------


def test_a_line_that_a_handler_writes_names_its_message(logger: Logger, lines: Lines, name: str) -> None:
    worker(Lazy(), lambda message, work: logger.info("in the handler"), name).deliver(*records(2))

    assert [[line[key] for key in KEYS] for line in of_handlers(lines())] == [
        [name, "m0", f"{name}#m0", "s0"],
        [name, "m1", f"{name}#m1", "s1"],
    ]


def test_without_a_message_id_a_line_names_the_sqs_message(logger: Logger, lines: Lines, name: str) -> None:
    worker(Natural(), lambda message, work: logger.info("in the handler"), name).deliver(*records(1))

    [line] = of_handlers(lines())
    assert (line["sqs_message_id"], line.get("message_id")) == ("s0", None)


@pytest.mark.parametrize("mode", [Lazy(), Eager(), Transactional()])
def test_four_handlers_side_by_side_write_each_their_own_messages_keys(
    logger: Logger, lines: Lines, name: str, mode: Mode
) -> None:
    together = threading.Barrier(4)

    def handle(message: Message, work: UnitOfWork) -> None:
        logger.thread_safe_append_keys(**{f"own_{message.id}": message.id})
        together.wait()
        logger.info("in the handler", about=message.id)
        together.wait()

    worker(mode, handle, name, concurrency=4).deliver(*records(8))

    found = of_handlers(lines())
    assert sorted(line["about"] for line in found) == [f"m{number}" for number in range(8)]
    for line in found:
        assert line["message_id"] == line["about"] == line["key"].removeprefix(f"{name}#")
        assert [key for key in line if key.startswith("own_")] == [f"own_{line['about']}"]


def test_async_handlers_write_each_their_own_messages_keys(logger: Logger, lines: Lines, name: str) -> None:
    async def handle(message: Message, work: UnitOfWork) -> None:
        logger.thread_safe_append_keys(**{f"own_{message.id}": message.id})
        await asyncio.sleep(0)
        logger.info("in the handler", about=message.id)

    worker(Lazy(), handle, name, concurrency=4).deliver(*records(8))

    found = of_handlers(lines())
    assert len(found) == 8
    for line in found:
        assert line["message_id"] == line["about"]
        assert [key for key in line if key.startswith("own_")] == [f"own_{line['about']}"]


@pytest.mark.parametrize("concurrency", [1, 4])
def test_no_key_outlives_its_message(logger: Logger, lines: Lines, name: str, concurrency: int) -> None:
    def handle(message: Message, work: UnitOfWork) -> None:
        logger.thread_safe_append_keys(left_behind=message.id)
        if message.id in ("m1", "m5"):
            raise ValueError("no")

    one = worker(Lazy(), handle, name, concurrency=concurrency)
    one.deliver(*records(6))
    logger.info("after the invocation")
    one.deliver(sqs_record("no json", sqs_message_id="s9"))

    found = lines()
    [after] = [line for line in found if line.get("message") == "after the invocation"]
    assert not {*KEYS, "left_behind"} & set(after)
    deliveries = [line for line in found if line.get("message") == "delivery"]
    assert len(deliveries) == 7
    assert all("left_behind" not in line for line in deliveries)
    assert {line["sqs_message_id"]: line.get("message_id") for line in deliveries} == {
        **{f"s{number}": f"m{number}" for number in range(6)},
        "s9": None,
    }


def test_keys_from_before_the_invocation_are_seen_in_handlers_and_are_there_afterwards(
    logger: Logger, lines: Lines, name: str
) -> None:
    logger.thread_safe_append_keys(request="r-1", key="theirs")
    worker(Lazy(), lambda message, work: logger.info("in the handler"), name, concurrency=2).deliver(*records(3))
    logger.info("after the invocation")

    found = lines()
    assert {line["request"] for line in of_handlers(found)} == {"r-1"}
    [after] = [line for line in found if line.get("message") == "after the invocation"]
    assert (after["request"], after["key"], after.get("message_id")) == ("r-1", "theirs", None)


def test_keys_that_a_handler_appends_for_the_whole_process_do_not_hide_whose_line_it_is(
    logger: Logger, lines: Lines, name: str
) -> None:
    together = threading.Barrier(4)

    def handle(message: Message, work: UnitOfWork) -> None:
        logger.append_keys(message_id=f"not {message.id}", key="k", last=message.id)
        together.wait()
        logger.info("in the handler", about=message.id)

    worker(Lazy(), handle, name, concurrency=4).deliver(*records(4))

    found = of_handlers(lines())
    assert [line["message_id"] for line in found] == [line["about"] for line in found]
    assert {line["key"] for line in found} == {f"{name}#m{number}" for number in range(4)}


def test_lines_of_the_standard_library_stay_as_they_are(name: str) -> None:
    written = io.StringIO()
    plain, output = logging.getLogger(f"plain-{name}"), logging.StreamHandler(written)
    output.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    plain.addHandler(output)

    worker(Lazy(), lambda message, work: plain.warning("in the handler"), name).deliver(*records(2))

    assert written.getvalue() == "WARNING in the handler\n" * 2


# -- metrics --------------------------------------------------------------------------------------


@pytest.fixture
def store() -> Iterator[DynamoDBStore]:
    with mock_aws():
        yield DynamoDBStore(create_processed_messages_table(boto3.client("dynamodb")))


@pytest.mark.parametrize(
    ("mode", "requests"), [(Lazy(), 1 + 3), (Eager(), 2 * 3), (Transactional(), 1 + 3)], ids=lambda value: str(value)
)
def test_the_metrics_tell_what_a_batch_costs(
    store: DynamoDBStore, lines: Lines, name: str, mode: Mode, requests: int
) -> None:
    World(store).worker(mode, name=name, concurrency=2).deliver(*records(3))

    [line] = [line for line in lines() if "_aws" in line]
    assert line["StoreRequests"] == [requests]
    assert len(line["StoreTime"]) == requests
    if mode != Transactional():  # moto does not tell what a transaction consumes
        assert line["WriteUnits"][0] >= 3
    assert len(line["MessageAge"]) == len(line["HandlerTime"]) == 3
    assert set(line) - {"_aws", "service"} <= set(METRICS)
