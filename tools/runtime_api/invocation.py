"""How an invocation can end, and everything that is known about it afterwards."""

import json
import signal
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Response:
    """The function returned; `payload` is what it returned, as the runtime sent it."""

    payload: bytes

    def json(self) -> Any:
        """Return the payload as a Python value."""
        return json.loads(self.payload)

    def __str__(self) -> str:
        return f"responded with {len(self.payload)} bytes"


@dataclass(frozen=True, slots=True)
class FunctionError:
    """The function raised. Its process lives on and serves the next invocation."""

    error_type: str
    message: str
    stack: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"raised {self.error_type}: {self.message}"


@dataclass(frozen=True, slots=True)
class InitError:
    """The function did not load, so it was never called. The next invocation starts a fresh process."""

    error_type: str
    message: str
    stack: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"did not start: {self.error_type}: {self.message}"


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The function took longer than its timeout, and its process was killed."""

    timeout_s: float

    def __str__(self) -> str:
        return f"timed out after {self.timeout_s:g} s"


@dataclass(frozen=True, slots=True)
class Exited:
    """The process ended by itself or by a signal, without an answer (`returncode` as in `subprocess`)."""

    returncode: int

    @property
    def signal(self) -> signal.Signals | None:
        """The signal that killed the process, if one did."""
        return signal.Signals(-self.returncode) if self.returncode < 0 else None

    def __str__(self) -> str:
        if self.signal is not None:
            return f"was killed by {self.signal.name}"
        return f"exited with status {self.returncode}"


Ending = Response | FunctionError | InitError | TimedOut | Exited


class NoResponseError(Exception):
    """An invocation was asked for a response that it never gave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One finished invocation.

    Attributes:
        request_id: The id that the function saw as `context.aws_request_id`.
        ending: How it ended.
        log: What the process wrote to stdout and stderr during this invocation.
        init_log: What it wrote while it loaded the function; empty when the process was warm.
        duration_s: From handing the event over to the end.
        init_duration_s: From the start of the process until it was ready or had failed; None when warm.
    """

    request_id: str
    ending: Ending
    log: str
    init_log: str
    duration_s: float
    init_duration_s: float | None

    @property
    def is_cold_start(self) -> bool:
        """Whether this invocation was the first of its process."""
        return self.init_duration_s is not None

    @property
    def response(self) -> Any:
        """The response as a Python value.

        Raises:
            NoResponseError: It ended in another way; the message says how, and what was logged.
        """
        if isinstance(self.ending, Response):
            return self.ending.json()
        raise NoResponseError(f"The function {self.ending}\n{self.init_log}{self.log}".rstrip())
