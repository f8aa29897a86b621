"""Call what users have written: of the right signature, in a context of its own, on an event loop if it is async."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from idempotent_consumer.errors import ConfigurationError


def check_signature(function: Any, *parameters: str) -> None:
    """
    Make sure that a function can be called with the given positional arguments, and that its body then runs.

    Raises:
        ConfigurationError: it cannot.
    """
    wanted = f"({', '.join(parameters)})"
    name = getattr(function, "__qualname__", repr(function))
    if not callable(function):
        raise ConfigurationError(f"{name} is no function: decorate one that takes {wanted}")
    try:
        inspect.signature(function).bind(*parameters)
    except TypeError as error:
        raise ConfigurationError(f"{name} must take {wanted}: {error}") from error
    except ValueError:  # some built-in functions do not tell their signature
        pass
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigurationError(f"{name} is a generator, whose body would never run: return instead of yield")


class Caller:
    """
    Call functions for one invocation; async ones share one event loop, which runs in a thread of its own.

    A function sees a copy of the calling thread's context variables, so that what it sets does not reach the next one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function and, if it returns an awaitable, wait for its end; what it raises comes out of here."""
        context = contextvars.copy_context()
        result = context.run(function, *arguments)
        if inspect.isawaitable(result):
            context.run(self._finish, result)

    def close(self) -> None:
        """End the event loop, and what handlers have left running on it."""
        if self._loop and self._thread:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _finish(self, awaitable: Awaitable[Any]) -> None:
        asyncio.run_coroutine_threadsafe(_awaited(awaitable), self._running_loop()).result()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="async-handlers")
                self._thread.start()
            return self._loop


async def _awaited(awaitable: Awaitable[Any]) -> None:
    await awaitable


def _run(loop: asyncio.AbstractEventLoop) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.get_loop().run_forever()
