"""Run a Lambda function on this machine as Lambda does: the real runtime client in a child process.

The Runtime API it talks to is ours. What an event means, and what its response must look like, is left to the
callers.
"""

from tools.runtime_api.function import Function
from tools.runtime_api.invocation import (
    Ending,
    Exited,
    FunctionError,
    InitError,
    Invocation,
    NoResponseError,
    Response,
    TimedOut,
)
from tools.runtime_api.process import FunctionProcess

__all__ = [
    "Ending",
    "Exited",
    "Function",
    "FunctionError",
    "FunctionProcess",
    "InitError",
    "Invocation",
    "NoResponseError",
    "Response",
    "TimedOut",
]
