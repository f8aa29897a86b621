"""The Runtime API, as one runtime process sees it: ask for an event, answer with a response or an error."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any

from tools.runtime_api.invocation import Exited, FunctionError, InitError, Response

_ROOT = "/2018-06-01/runtime/"
_SHUTDOWN_POLL_S = 0.02  # how late a server sees that it is to stop; the default 0.5 s delays every restart


@dataclass(frozen=True, slots=True)
class Ready:
    """The runtime has loaded the function and asked for its first event."""

    at: float


Signal = Ready | Response | FunctionError | InitError | Exited


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationRequest:
    """What the runtime is given: the event, and the headers that become the function's context."""

    request_id: str
    deadline_ms: int
    function_arn: str
    trace_id: str
    event: bytes


class RuntimeApi:
    """Serve one runtime process, from its start to its end.

    Each process gets a server of its own. What a killed process has left on the wire can then never take its
    successor's event, or answer for it.
    """

    def __init__(self, report: Callable[[Signal], None]) -> None:
        self._report = report
        self._requests: SimpleQueue[InvocationRequest | None] = SimpleQueue()
        self._lock = Lock()
        self._current: str | None = None
        self._was_asked = False
        self._server = _Server(("127.0.0.1", 0), _Exchange)
        self._server.api = self
        self._thread = Thread(
            target=self._server.serve_forever, args=(_SHUTDOWN_POLL_S,), name="runtime-api", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """`host:port`, for AWS_LAMBDA_RUNTIME_API."""
        return f"127.0.0.1:{self._server.server_port}"

    def give(self, request: InvocationRequest) -> None:
        """Hand one event to the runtime, now if it is waiting for one."""
        with self._lock:
            self._current = request.request_id
        self._requests.put(request)

    def close(self) -> None:
        """Stop serving. The process must have ended, or it will crash on its next request."""
        self._requests.put(None)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next_request(self) -> InvocationRequest | None:
        """Wait for an event, on behalf of the runtime; None when the server closes instead."""
        with self._lock:
            is_first, self._was_asked = not self._was_asked, True
        if is_first:
            self._report(Ready(monotonic()))
        return self._requests.get()

    def settle(self, request_id: str, ending: Response | FunctionError) -> bool:
        """Take the answer to the invocation under way; say whether it was the one.

        Each invocation is settled once, so that the caller hears one signal for one event.
        """
        with self._lock:
            if request_id != self._current:
                return False
            self._current = None
        self._report(ending)
        return True

    def fail_init(self, error: InitError) -> None:
        """Take the news that the function's module did not load."""
        self._report(error)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    api: RuntimeApi

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A killed process resets its connection; that it ended is reported by whoever waits for it.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Exchange(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"  # the runtime keeps its connection
    disable_nagle_algorithm = True  # with Nagle's algorithm and unbuffered headers, each answer waits 40 ms
    wbufsize = -1

    def do_GET(self) -> None:
        if self.path != f"{_ROOT}invocation/next":
            self._answer(HTTPStatus.NOT_FOUND)
            return
        request = self.server.api.next_request()
        if request is None:
            self.close_connection = True
            return
        headers = {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": request.request_id,
            "Lambda-Runtime-Deadline-Ms": str(request.deadline_ms),
            "Lambda-Runtime-Invoked-Function-Arn": request.function_arn,
            "Lambda-Runtime-Trace-Id": request.trace_id,
        }
        self._answer(HTTPStatus.OK, request.event, headers)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        api = self.server.api
        match self.path.removeprefix(_ROOT).split("/"):
            case ["invocation", request_id, "response"]:
                is_current = api.settle(request_id, Response(body))
            case ["invocation", request_id, "error"]:
                is_current = api.settle(request_id, FunctionError(*_error_in(body)))
            case ["init", "error"]:
                is_current = True
                api.fail_init(InitError(*_error_in(body)))
            case _:
                self._answer(HTTPStatus.NOT_FOUND)
                return
        self._answer(HTTPStatus.ACCEPTED if is_current else HTTPStatus.BAD_REQUEST)

    def _answer(self, status: HTTPStatus, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: the function's log is the one to read."""


def _error_in(body: bytes) -> tuple[str, str, tuple[str, ...]]:
    """Read type, message and stack from a runtime's error report, whatever it holds."""
    try:
        report = json.loads(body)
    except ValueError:
        report = None
    if not isinstance(report, dict):
        return "Unknown", body.decode(errors="replace"), ()
    stack = tuple(map(str, report.get("stackTrace") or ()))
    return str(report.get("errorType", "Unknown")), str(report.get("errorMessage", "")), stack
