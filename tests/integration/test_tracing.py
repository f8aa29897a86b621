"""A message's part of the traces: in the invocation's and in its producer's, with the right parent, or none at all."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
import types
import uuid
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest
from aws_lambda_powertools import Logger
from aws_xray_sdk.core import xray_recorder
from aws_xray_sdk.core.emitters.udp_emitter import UDPEmitter
from aws_xray_sdk.core.lambda_launcher import LambdaContext

from idempotent_consumer import Lazy, Message, Reject, UnitOfWork
from idempotent_consumer.testing import InMemoryStore, sqs_record
from tests.promises.world import Worker, World, do_nothing

INVOCATION = "1-67891233-abcdef012345678912345678"
HEADER = f"Root={INVOCATION};Parent=53995c3f42cd8ad8;Sampled=1"

Documents = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def daemon() -> Iterator[socket.socket]:
    """Listen where X-Ray's daemon would."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.setblocking(False)
        yield listener


@pytest.fixture
def documents(daemon: socket.socket, monkeypatch: pytest.MonkeyPatch) -> Iterator[Documents]:
    """Trace as in Lambda, and return all documents that were sent so far; loopback has them when `sendto` returns."""
    monkeypatch.setenv("LAMBDA_TASK_ROOT", "/var/task")
    monkeypatch.setenv("_X_AMZN_TRACE_ID", HEADER)
    monkeypatch.setattr(xray_recorder, "_context", LambdaContext())
    monkeypatch.setattr(xray_recorder.streaming, "streaming_threshold", 0)  # as the SDK does in Lambda
    emitter = UDPEmitter(f"127.0.0.1:{daemon.getsockname()[1]}")
    monkeypatch.setattr(xray_recorder, "_emitter", emitter)

    def received() -> list[dict[str, Any]]:
        found = []
        while True:
            try:
                found.append(json.loads(daemon.recv(65_536).decode().split("\n", 1)[1]))
            except BlockingIOError:
                return found

    yield received
    emitter._socket.close()


def worker(handler: Any = do_nothing, **options: Any) -> Worker:
    return World(InMemoryStore()).worker(Lazy(), handler, name=f"consumer-{uuid.uuid4().hex[:8]}", **options)


def sent_by(number: int, *, sampled: str = "1") -> dict[str, Any]:
    record = sqs_record({"id": f"m{number}", "secret": "s3cr3t"}, sqs_message_id=f"s{number}")
    header = f"Root={producer(number)};Parent={number:016x};Sampled={sampled}"
    record["attributes"]["AWSTraceHeader"] = header
    return record


def producer(number: int) -> str:
    return f"1-5f84c7a5-{number:024x}"


def flat(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return documents with those that were sent inside of them, each with its parent and its trace."""
    found = []
    for each in documents:
        inside = [{"trace_id": each["trace_id"], "parent_id": each["id"]} | one for one in each.get("subsegments", ())]
        found += [each, *flat(inside)]
    return found


def warnings_of_the_sdk(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name.startswith("aws_xray_sdk")]


def of_invocation(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in documents if each["trace_id"] == INVOCATION]


def test_a_message_is_a_subsegment_of_the_invocation_and_one_of_its_producers_trace(documents: Documents) -> None:
    one = worker()
    one.deliver(sent_by(7))

    here, there = documents()
    assert (here["trace_id"], here["parent_id"], here["type"]) == (INVOCATION, "53995c3f42cd8ad8", "subsegment")
    assert (there["trace_id"], there["parent_id"], there["type"]) == (producer(7), f"{7:016x}", "subsegment")
    assert here["id"] != there["id"]
    assert here["annotations"]["outcome"] == there["annotations"]["outcome"] == "PROCESSED"
    assert here["annotations"]["message_id"] == there["annotations"]["message_id"] == "m7"
    assert there["annotations"]["handled_in"] == INVOCATION
    assert here["start_time"] == there["start_time"] <= here["end_time"] == there["end_time"]
    assert "s3cr3t" not in json.dumps([here, there])


def test_four_handlers_side_by_side_have_each_their_own_subsegments(documents: Documents) -> None:
    together = threading.Barrier(4)

    def handle(message: Message, work: UnitOfWork) -> None:
        with xray_recorder.in_subsegment("inside") as inside:
            inside.put_annotation("about", message.id)
            together.wait()
            together.wait()

    worker(handle, concurrency=4).deliver(*map(sent_by, range(8)))

    found = documents()
    outer = {each["id"]: each for each in of_invocation(found) if each["name"].startswith("handle ")}
    inner = [each for each in found if each["name"] == "inside"]
    copies = [each for each in found if each["trace_id"] != INVOCATION]
    assert len(outer) == len(inner) == len(copies) == 8
    for each in inner:
        assert outer[each["parent_id"]]["annotations"]["message_id"] == each["annotations"]["about"]
    for each in copies:
        number = int(each["annotations"]["message_id"][1:])
        assert (each["trace_id"], each["parent_id"]) == (producer(number), f"{number:016x}")


def test_what_a_handler_raises_is_a_fault_of_its_message_only(documents: Documents) -> None:
    def handle(message: Message, work: UnitOfWork) -> None:
        xray_recorder.begin_subsegment("left open")
        if message.id == "m1":
            raise ValueError("out of stock")

    worker(handle).deliver(*map(sent_by, range(3)))

    found = {
        each["annotations"]["message_id"]: (each["annotations"]["outcome"], each.get("fault", False), each["parent_id"])
        for each in of_invocation(documents())
        if each["name"].startswith("handle ")
    }
    assert found == {
        "m0": ("PROCESSED", False, "53995c3f42cd8ad8"),
        "m1": ("FAILED", True, "53995c3f42cd8ad8"),
        "m2": ("PROCESSED", False, "53995c3f42cd8ad8"),
    }


def test_under_a_segment_of_the_users_around_consume_all_workers_hang_their_messages(documents: Documents) -> None:
    together = threading.Barrier(4)
    one = worker(lambda message, work: together.wait(), concurrency=4)

    for _ in range(2):
        with xray_recorder.in_subsegment("## lambda_handler") as around:
            one.deliver(*[sqs_record({"id": uuid.uuid4().hex}) for _ in range(8)])
            assert xray_recorder.current_subsegment() is around
        found = [each for each in documents() if each["name"].startswith("handle ")]
        assert [each["parent_id"] for each in found] == [around.id] * 8
    one.deliver(*[sqs_record({"id": uuid.uuid4().hex}) for _ in range(4)])
    assert [each["parent_id"] for each in documents()] == ["53995c3f42cd8ad8"] * 4


def test_async_handlers_side_by_side_have_each_their_own_subsegments(documents: Documents) -> None:
    together = asyncio.Barrier(4)

    async def handle(message: Message, work: UnitOfWork) -> None:
        with xray_recorder.in_subsegment("outer") as outer:
            outer.put_annotation("about", message.id)
            await together.wait()
            with xray_recorder.in_subsegment("inner") as inner:
                inner.put_annotation("about", message.id)
                await together.wait()
            await together.wait()
        xray_recorder.begin_subsegment("left open")

    worker(handle, concurrency=4).deliver(*map(sent_by, range(8)))

    found = flat(documents())
    by_id = {each["id"]: each for each in found}
    assert len([each for each in found if each["name"] == "inner"]) == 8
    for each in found:
        parent = by_id.get(each["parent_id"])
        if each["name"] == "inner":
            assert (parent["name"], parent["annotations"]["about"]) == ("outer", each["annotations"]["about"])
        elif each["name"] == "outer":
            assert parent["annotations"]["message_id"] == each["annotations"]["about"]
        elif each["trace_id"] == INVOCATION:
            assert each["name"] == "left open" or each["parent_id"] == "53995c3f42cd8ad8"
    assert xray_recorder.current_subsegment() is None


def test_tasks_of_an_async_handler_are_traced_under_the_invocation_and_under_no_other_message(
    documents: Documents,
) -> None:
    together = asyncio.Barrier(8)

    async def task() -> None:
        await together.wait()
        with xray_recorder.in_subsegment("task"):
            await together.wait()

    async def handle(message: Message, work: UnitOfWork) -> None:
        with xray_recorder.in_subsegment("outer"):
            await asyncio.gather(task(), task())

    worker(handle, concurrency=4).deliver(*[sqs_record({"id": f"m{number}"}) for number in range(4)])

    found = flat(documents())
    of_messages = {each["id"] for each in found if each["name"] != "task"}
    tasks = [each for each in found if each["name"] == "task"]
    assert len(tasks) == 8
    assert not of_messages & {each["parent_id"] for each in tasks}


def test_what_an_async_handler_opens_in_the_place_of_its_own_stays_open_while_it_waits(documents: Documents) -> None:
    seen = []

    async def handle(message: Message, work: UnitOfWork) -> None:
        xray_recorder.clear_trace_entities()
        mine = xray_recorder.begin_subsegment("mine")
        await asyncio.sleep(0)
        seen.append(xray_recorder.current_subsegment() is mine)
        xray_recorder.end_subsegment()

    worker(handle, concurrency=2).deliver(*map(sent_by, range(4)))

    assert seen == [True] * 4
    assert len([each for each in documents() if each["name"].startswith("handle ")]) == 2 * 4


def test_what_happens_to_an_async_handler_happens_when_it_is_traced(documents: Documents) -> None:
    seen = []

    async def handle(message: Message, work: UnitOfWork) -> None:
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            seen.append(message.id)
        if message.id == "m1":
            raise ValueError("out of stock")

    assert len(worker(handle).deliver(*map(sent_by, range(3)))) == 1
    assert sorted(seen) == ["m0", "m1", "m2"]
    faults = {each["annotations"]["message_id"]: "fault" in each for each in of_invocation(documents())}
    assert faults == {"m0": False, "m1": True, "m2": False}


@types.coroutine
def old_coroutine(message_id: str) -> Generator[Any, Any, None]:
    """Await as before there was `async def`; some libraries still do."""
    yield from asyncio.sleep(0).__await__()
    if message_id == "m1":
        raise ValueError("out of stock")


class Awaitable:
    """Be awaited, with an iterator that has neither `send` nor `throw`."""

    def __init__(self, message_id: str) -> None:
        self._message_id = message_id

    def __await__(self) -> Iterator[Any]:
        if self._message_id == "m1":
            raise ValueError("out of stock")
        return iter((None, None))


@pytest.mark.parametrize("made", [old_coroutine, Awaitable])
def test_whatever_a_handler_hands_back_to_be_awaited_is_awaited_when_it_is_traced(
    documents: Documents, made: Callable[[str], Any]
) -> None:
    one = worker(lambda message, work: made(message.id))

    assert one.deliver(*map(sent_by, range(3))) == ["s1"]
    assert one.reports[1].reason == "ValueError: out of stock"
    assert len(documents()) == 2 * 3


class UntouchableError(Exception):
    """Take no marks, and be taken for nothing."""

    def __setattr__(self, name: str, value: object) -> None:
        raise TypeError(name)

    def __bool__(self) -> bool:
        return False


@pytest.mark.parametrize("error", [UntouchableError("no"), ValueError("no"), ValueError("no" + "x" * 100_000)])
def test_whatever_a_handler_raises_and_however_often_each_trace_says_so(
    documents: Documents, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def handle(message: Message, work: UnitOfWork) -> None:
        raise error

    worker(handle).deliver(*map(sent_by, range(2)))

    found = documents()
    assert len(found) == 4
    for each in found:
        [exception] = each["cause"]["exceptions"]
        assert (each["fault"], exception["type"]) == (True, type(error).__name__)
        assert exception["message"].startswith(f"{type(error).__name__}: no")
    assert warnings_of_the_sdk(caplog) == []


class BrokenEmitter:
    """Raise where a trace is sent, as an emitter of the user's may."""

    def send_entity(self, entity: object) -> None:
        raise OSError("no")


def test_a_trace_that_cannot_be_sent_leaves_outcomes_and_log_keys_alone(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xray_recorder, "_emitter", BrokenEmitter())
    logger = Logger(service=f"shop-{uuid.uuid4().hex}")

    assert worker().deliver(*map(sent_by, range(3))) == []
    assert logger.thread_safe_get_current_keys() == {}


def test_a_handler_that_ends_more_subsegments_than_it_began_ends_no_others(
    documents: Documents, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    one = worker(lambda message, work: xray_recorder.end_subsegment())

    with xray_recorder.in_subsegment("## lambda_handler") as around:
        assert one.deliver(*map(sent_by, range(3))) == []
        assert around.in_progress
        assert xray_recorder.current_subsegment() is around
    assert "Traceback" not in capsys.readouterr().err
    assert warnings_of_the_sdk(caplog) == []


def leave_many_open() -> None:
    for _ in range(50):
        xray_recorder.begin_subsegment("left open")


def close_ones_own() -> None:
    xray_recorder.begin_subsegment("closed").close()


def close_the_messages() -> None:
    xray_recorder.current_subsegment().close()


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize(
    "misuse", [leave_many_open, close_ones_own, close_the_messages, xray_recorder.clear_trace_entities]
)
def test_however_a_handler_leaves_the_sdk_other_messages_are_traced_where_they_belong(
    documents: Documents, misuse: Callable[[], object], concurrency: int
) -> None:
    def handle(message: Message, work: UnitOfWork) -> None:
        if message.id in ("m0", "m8"):
            misuse()

    one = worker(handle, concurrency=concurrency)

    with xray_recorder.in_subsegment("## lambda_handler") as around:
        assert one.deliver(*map(sent_by, range(8))) == []
        assert xray_recorder.current_subsegment() is around
    sent = documents()
    assert one.deliver(*map(sent_by, range(8, 12))) == []

    parents = {
        each["annotations"]["message_id"]: each["parent_id"]
        for each in flat(sent + documents())
        if each["name"].startswith("handle ") and each["trace_id"] == INVOCATION
    }
    assert [parents.get(f"m{number}") for number in range(1, 8)] == [around.id] * 7
    assert [parents.get(f"m{number}") for number in range(9, 12)] == ["53995c3f42cd8ad8"] * 3


def test_a_handler_that_ends_even_what_is_around_the_invocation_is_met_with_silence(
    documents: Documents, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    def handle(message: Message, work: UnitOfWork) -> None:
        while xray_recorder.current_subsegment() is not None:
            xray_recorder.end_subsegment()

    xray_recorder.begin_subsegment("## lambda_handler")
    assert worker(handle).deliver(*map(sent_by, range(3))) == []
    assert "Traceback" not in capsys.readouterr().err
    assert warnings_of_the_sdk(caplog) == []


def test_a_message_from_the_trace_of_the_invocation_is_in_it_once(documents: Documents) -> None:
    record = sqs_record({"id": "m1"})
    record["attributes"]["AWSTraceHeader"] = HEADER

    worker().deliver(record)

    assert [each["trace_id"] for each in documents()] == [INVOCATION]


def test_under_a_subsegment_that_is_not_sampled_nothing_of_a_message_is_sent(documents: Documents) -> None:
    xray_recorder.begin_subsegment_without_sampling("quiet")
    worker().deliver(*map(sent_by, range(2)))
    xray_recorder.end_subsegment()

    assert documents() == []


@pytest.mark.parametrize(
    "header",
    [
        f"Root={producer(1)};Parent={1:016x};Sampled=0",
        f"Root={producer(1)};Parent={1:016x}",
        f"Root={producer(1)};Sampled=1",
        "Root=1-a;Parent=b;Sampled=1",
        "nonsense",
        ";;=;",
        "",
        None,
        7,
    ],
)
def test_without_a_sampled_producer_only_the_invocation_has_it(
    documents: Documents, caplog: pytest.LogCaptureFixture, header: Any
) -> None:
    record = sent_by(1)
    record["attributes"]["AWSTraceHeader"] = header
    one = worker()

    assert one.deliver(record) == []
    [here] = documents()
    assert here["trace_id"] == INVOCATION
    assert warnings_of_the_sdk(caplog) == []


@pytest.mark.parametrize("message_id", ["x" * 5_000, "é🐑", "a b#c"])
def test_whatever_an_id_is_its_message_is_traced(documents: Documents, message_id: str) -> None:
    one = worker(raising_reject)
    one.deliver(sqs_record({"id": message_id}))

    [here] = documents()
    assert here["annotations"]["message_id"] == message_id[:500]
    assert here["annotations"]["outcome"] == "REJECTED"


def raising_reject(message: Message, work: UnitOfWork) -> None:
    raise Reject("no")


def test_what_a_handler_did_not_run_for_has_no_subsegment(documents: Documents) -> None:
    one = worker()
    one.deliver(sent_by(1))
    documents()
    one.deliver(sent_by(1), sqs_record("no json"))

    assert documents() == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("_X_AMZN_TRACE_ID", f"Root={INVOCATION};Parent=53995c3f42cd8ad8;Sampled=0"),
        ("_X_AMZN_TRACE_ID", ""),
        ("_X_AMZN_TRACE_ID", "Sampled=1"),
        ("POWERTOOLS_TRACE_DISABLED", "true"),
    ],
)
def test_where_nothing_is_traced_nothing_is_sent_or_said(
    documents: Documents,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    value: str,
) -> None:
    monkeypatch.setenv(variable, value)

    assert worker().deliver(sent_by(1)) == []
    assert documents() == []
    assert "Traceback" not in capsys.readouterr().err


def test_without_a_daemon_nothing_is_said(
    documents: Documents, daemon: socket.socket, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    daemon.close()

    assert worker().deliver(*map(sent_by, range(20))) == []
    assert "Traceback" not in capsys.readouterr().err
    assert warnings_of_the_sdk(caplog) == []


CONSUMES = """
import sys
{before}
from idempotent_consumer import IdempotentConsumer, Natural
from idempotent_consumer.testing import sqs_event, sqs_record
consumer = IdempotentConsumer("c", mode=Natural())
consumer.handler(lambda message, work: None)
assert consumer.consume(sqs_event(sqs_record("x"))) == {{"batchItemFailures": []}}
{after}
"""


def errors_of(environment: dict[str, str], *, before: str = "", after: str = "") -> str:
    """Consume in a process of its own, and return what it wrote to stderr."""
    environment = {"PYTHONPATH": "layers/idempotent_consumer", "AWS_DEFAULT_REGION": "eu-central-1", **environment}
    code = CONSUMES.format(before=before, after=after)
    return subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    ).stderr


@pytest.mark.parametrize("environment", [{}, {"_X_AMZN_TRACE_ID": HEADER}, {"LAMBDA_TASK_ROOT": "/var/task"}])
def test_outside_of_a_traced_lambda_the_sdk_is_not_even_imported(environment: dict[str, str]) -> None:
    assert errors_of(environment, after='assert "aws_xray_sdk" not in sys.modules') == ""


def test_without_the_sdk_nothing_is_traced_and_nothing_is_said() -> None:
    traced = {"LAMBDA_TASK_ROOT": "/var/task", "_X_AMZN_TRACE_ID": HEADER}

    assert errors_of(traced, before='sys.modules["aws_xray_sdk.core"] = None') == ""


def test_with_a_daemons_address_that_is_none_nothing_is_traced_and_nothing_is_said() -> None:
    traced = {"LAMBDA_TASK_ROOT": "/var/task", "_X_AMZN_TRACE_ID": HEADER, "AWS_XRAY_DAEMON_ADDRESS": "a:b:c:d"}

    assert errors_of(traced) == ""
