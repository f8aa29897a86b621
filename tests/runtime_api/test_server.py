"""The Runtime API by its wire, where the real runtime client would not go."""

import json
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from queue import SimpleQueue
from threading import Thread

import pytest

from tools.runtime_api import FunctionError, Response
from tools.runtime_api.server import InvocationRequest, Ready, RuntimeApi, Signal

ROOT = "/2018-06-01/runtime"


class Runtime:
    """A server, and what it has reported."""

    def __init__(self) -> None:
        self.signals: SimpleQueue[Signal] = SimpleQueue()
        self.api = RuntimeApi(self.signals.put)

    def give(self, request_id: str) -> None:
        request = InvocationRequest(
            request_id=request_id, deadline_ms=1, function_arn="arn", trace_id="Root=1", event=b"{}"
        )
        self.api.give(request)

    def send(self, method: str, path: str, body: str = "") -> tuple[int, bytes]:
        with closing(HTTPConnection(self.api.address, timeout=60)) as connection:
            connection.request(method, f"{ROOT}/{path}", body)
            response = connection.getresponse()
            return response.status, response.read()


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    runtime = Runtime()
    yield runtime
    runtime.api.close()


def test_the_runtime_is_ready_once_however_often_it_asks(runtime: Runtime) -> None:
    for request_id in ("first", "second"):
        runtime.give(request_id)
        assert runtime.send("GET", "invocation/next") == (200, b"{}")

    assert isinstance(runtime.signals.get(), Ready)
    assert runtime.signals.empty()


def test_an_invocation_is_answered_once(runtime: Runtime) -> None:
    runtime.give("current")
    runtime.send("GET", "invocation/next")
    runtime.signals.get()

    statuses = [runtime.send("POST", "invocation/current/response", body)[0] for body in ("1", "2")]

    assert statuses == [202, 400]
    assert runtime.signals.get() == Response(b"1")
    assert runtime.signals.empty()


@pytest.mark.parametrize("kind", ["response", "error"])
def test_an_answer_to_another_invocation_is_refused(runtime: Runtime, kind: str) -> None:
    runtime.give("current")

    status, _ = runtime.send("POST", f"invocation/an-older-one/{kind}", "{}")

    assert status == 400
    assert runtime.signals.empty()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (json.dumps({"errorType": "A", "errorMessage": "b", "stackTrace": ["c"]}), FunctionError("A", "b", ("c",))),
        (json.dumps({"errorType": "A"}), FunctionError("A", "")),
        ("not JSON", FunctionError("Unknown", "not JSON")),
        ("[1]", FunctionError("Unknown", "[1]")),
    ],
)
def test_an_error_is_told_whatever_its_report_looks_like(runtime: Runtime, body: str, expected: FunctionError) -> None:
    runtime.give("current")

    assert runtime.send("POST", "invocation/current/error", body)[0] == 202
    assert runtime.signals.get() == expected


@pytest.mark.parametrize(("method", "path"), [("GET", "restore/next"), ("POST", "invocation/next"), ("POST", "")])
def test_what_is_not_part_of_the_api_is_not_found(runtime: Runtime, method: str, path: str) -> None:
    assert runtime.send(method, path)[0] == 404


def test_closing_lets_a_waiting_runtime_go() -> None:
    runtime = Runtime()
    answers: SimpleQueue[str] = SimpleQueue()

    def wait_for_an_event() -> None:
        try:
            runtime.send("GET", "invocation/next")
        except ConnectionError:
            answers.put("let go")

    waiting = Thread(target=wait_for_an_event)
    waiting.start()
    assert isinstance(runtime.signals.get(timeout=60), Ready)

    runtime.api.close()
    waiting.join(60)

    assert answers.get(timeout=60) == "let go"
