"""What can go wrong between a worker and its store."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from botocore.awsrequest import AWSResponse
from botocore.exceptions import ReadTimeoutError

from idempotent_consumer.clock import Deadline
from idempotent_consumer.dynamodb import DynamoDBStore
from idempotent_consumer.errors import StoreUnavailableError
from idempotent_consumer.store import Mark, ProcessedMessage, Store, Write

T = TypeVar("T")


class FaultyStore:
    """
    Stand between a worker and its store.

    Attributes:
        calls: the methods that were called, in order.
        is_dead: the worker's process is gone: nothing that it still does reaches the store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._faults: dict[str, bool] = {}
        self.calls: list[str] = []
        self.is_dead = False

    @property
    def region(self) -> str | None:
        return self._store.region

    def fail(self, method: str, *, applied: bool = False) -> None:
        """Let every call of a method go unanswered from now on, whether it is applied or not."""
        self._faults[method] = applied

    def heal(self) -> None:
        """Let every call be answered again."""
        self._faults.clear()

    def look_up(self, keys: Sequence[str], deadline: Deadline) -> Mapping[str, ProcessedMessage]:
        return self._call("look_up", lambda: self._store.look_up(keys, deadline))

    def claim(self, mark: Mark, deadline: Deadline, *, lease_ms: int) -> ProcessedMessage | None:
        return self._call("claim", lambda: self._store.claim(mark, deadline, lease_ms=lease_ms))

    def complete(self, mark: Mark, deadline: Deadline) -> ProcessedMessage | None:
        return self._call("complete", lambda: self._store.complete(mark, deadline))

    def remember(self, mark: Mark, deadline: Deadline) -> ProcessedMessage | None:
        return self._call("remember", lambda: self._store.remember(mark, deadline))

    def release(self, mark: Mark, deadline: Deadline) -> None:
        return self._call("release", lambda: self._store.release(mark, deadline))

    def commit(self, mark: Mark, writes: Sequence[Write], deadline: Deadline) -> ProcessedMessage | None:
        return self._call("commit", lambda: self._store.commit(mark, writes, deadline))

    def _call(self, method: str, call: Callable[[], T]) -> T:
        self.calls.append(method)
        if self.is_dead:
            raise StoreUnavailableError("the process is gone")
        if method not in self._faults:
            return call()
        if self._faults[method]:
            call()
        raise StoreUnavailableError(f"no answer to {method}")


class Wire:
    """
    Watch and disturb the requests of a `DynamoDBStore`.

    Attributes:
        requests: name and parameters of each, every try counted.
        on_request: is called at each.
    """

    def __init__(self, store: DynamoDBStore) -> None:
        self._events = store._client.meta.events
        self._hooks: list[tuple[str, Callable[..., Any]]] = []
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.on_request: Callable[[], None] = lambda: None
        self._hook("provide-client-params.dynamodb", self._see)

    @property
    def operations(self) -> list[str]:
        """Return the names of the requests, in order."""
        return [operation for operation, _ in self.requests]

    def lose_answers(self, operation: str, *, times: int = 1) -> None:
        """Let the next requests be carried out and their answers be lost."""
        left = itertools.repeat(None, times)

        def lose(**_: Any) -> None:
            for _ in left:
                raise ReadTimeoutError(endpoint_url="dynamodb")

        self._hook(f"after-call.dynamodb.{operation}", lose)

    def never_answer(self, operation: str, wait: Callable[[], None], *, after: int = 0) -> None:
        """Let every request, after some, wait for as long as one is waited for, and not be carried out."""
        left = itertools.chain(itertools.repeat(False, after), itertools.repeat(True))

        def hang(**_: Any) -> None:
            if next(left):
                wait()
                raise ReadTimeoutError(endpoint_url="dynamodb")

        self._hook(f"before-call.dynamodb.{operation}", hang)

    def refuse(self, operation: str, code: str, *, times: int) -> None:
        """Let the next requests be answered with an error, and not be carried out."""
        self._answer(operation, {"Error": {"Code": code, "Message": "injected"}}, times)

    def cancel(self, *reasons: str, times: int, after: int = 0) -> None:
        """Let so many transactions, after some, be cancelled for these reasons, by position."""
        error = {"Code": "TransactionCanceledException", "Message": "injected"}
        self._answer(
            "TransactWriteItems",
            {"Error": error, "CancellationReasons": [{"Code": code} for code in reasons]},
            times,
            after,
        )

    def leave_unprocessed(self, table_name: str, count: int) -> None:
        """Let the next look-up leave so many of its keys for later."""
        left = itertools.repeat(count, 1)

        def leave(parsed: dict[str, Any], **_: Any) -> None:
            for most in left:
                items = parsed["Responses"][table_name]
                keys = [{"id": item["id"]} for item in items[:most]]
                parsed["Responses"][table_name] = items[most:]
                parsed["UnprocessedKeys"] = {table_name: {"Keys": keys}}

        self._hook("after-call.dynamodb.BatchGetItem", leave)

    def _answer(self, operation: str, answer: dict[str, Any], times: int, after: int = 0) -> None:
        refusals = itertools.repeat((AWSResponse("", 400, {}, None), answer), times)
        left = itertools.chain(itertools.repeat(None, after), refusals)
        self._hook(f"before-call.dynamodb.{operation}", lambda **_: next(left, None))

    def repair(self) -> None:
        """Watch and disturb no more."""
        for name, hook in self._hooks:
            self._events.unregister(name, hook)

    def _hook(self, name: str, hook: Callable[..., Any]) -> None:
        self._hooks.append((name, hook))
        self._events.register(name, hook)

    def _see(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.requests.append((model.name, params))
        self.on_request()
