"""A function as its callers see it: an event goes in, and what became of the invocation comes out."""

import json
import time
import uuid
from threading import Lock
from types import TracebackType
from typing import Self

from tools.runtime_api.function import Function
from tools.runtime_api.invocation import Ending, Exited, InitError, Invocation, TimedOut
from tools.runtime_api.runtime import RuntimeProcess
from tools.runtime_api.server import InvocationRequest

INIT_TIMEOUT_S = 10.0  # Lambda's own limit for loading a function


class FunctionProcess:
    """Keep one process of a function, as one execution environment of Lambda does.

    It starts with the first invocation, stays warm between invocations, and is replaced by a fresh one after
    a timeout, a crash or a failed init. Use it as a context manager, or call `close`.
    """

    def __init__(self, function: Function, *, init_timeout_s: float = INIT_TIMEOUT_S) -> None:
        self.function = function
        self._init_timeout_s = init_timeout_s
        self._runtime: RuntimeProcess | None = None
        self._busy = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The id of the process, or None while there is none."""
        return self._runtime.pid if self._runtime and self._runtime.is_alive else None

    def start(self) -> None:
        """Start a process if there is none, without waiting until it has loaded the function."""
        self._live_runtime()

    def invoke(self, event: object, *, timeout_s: float) -> Invocation:
        """Run the function once and return how that ended, whatever the function did.

        Args:
            event: Anything that JSON can carry.
            timeout_s: The function's timeout. A fresh process gets its init timeout on top, as on Lambda.

        Returns:
            The finished invocation. It is never waited for longer than that.

        Raises:
            RuntimeError: Another thread's invocation is under way. A process runs one at a time.
        """
        payload = json.dumps(event).encode()
        if not self._busy.acquire(blocking=False):
            raise RuntimeError(f"{self.function.name} is busy: use one FunctionProcess for each thread")
        try:
            return self._invoke(payload, timeout_s)
        finally:
            self._busy.release()

    def close(self) -> None:
        """End the process. An invocation under way in another thread ends with it, as in a crash."""
        if runtime := self._runtime:
            runtime.kill()
        with self._busy:  # until that invocation has read the last of the log
            self._discard()

    def _discard(self) -> None:
        if self._runtime is not None:
            self._runtime.close()
            self._runtime = None

    def _live_runtime(self) -> RuntimeProcess:
        if self._runtime is None or not self._runtime.is_alive:
            self._discard()
            self._runtime = RuntimeProcess(self.function)
        return self._runtime

    def _invoke(self, payload: bytes, timeout_s: float) -> Invocation:
        runtime = self._live_runtime()
        is_cold = runtime.init_duration_s is None
        ending: Ending | None = runtime.load(self._init_timeout_s) if is_cold else None
        init_log = runtime.read_log() if is_cold else ""

        request = self._request(payload, timeout_s)
        begun_at = time.monotonic()
        ending = ending or runtime.run(request, timeout_s)
        duration_s = time.monotonic() - begun_at

        must_end = isinstance(ending, InitError | TimedOut | Exited)
        if must_end:
            runtime.kill()  # before its log is read, so that nothing can be missing there
        log = runtime.read_log()
        if must_end:
            self._discard()
        return Invocation(
            request_id=request.request_id,
            ending=ending,
            log=log,
            init_log=init_log,
            duration_s=duration_s,
            init_duration_s=runtime.init_duration_s if is_cold else None,
        )

    def _request(self, payload: bytes, timeout_s: float) -> InvocationRequest:
        now = time.time()
        return InvocationRequest(
            request_id=str(uuid.uuid4()),
            deadline_ms=int((now + timeout_s) * 1000),
            function_arn=self.function.arn,
            trace_id=f"Root=1-{int(now):08x}-{uuid.uuid4().hex[:24]};Parent={uuid.uuid4().hex[:16]};Sampled=0",
            event=payload,
        )
