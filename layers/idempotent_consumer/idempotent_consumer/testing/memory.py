"""The store in memory; `tests/contract` holds it to the same promises as the one on DynamoDB."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from idempotent_consumer.clock import Deadline
from idempotent_consumer.errors import ConditionFailed, FailedCondition
from idempotent_consumer.store import Mark, ProcessedMessage, Status, Write, judge


class InMemoryStore:
    """
    Remember processed messages in this process.

    Attributes:
        items: what is stored, by key.
        committed: the handlers' writes, in the order in which they were committed. Their conditions are not evaluated:
            `refuse` decides.
        refuse: tells of a write whether its condition fails; none does by default.
    """

    def __init__(self) -> None:
        self.items: dict[str, ProcessedMessage] = {}
        self.committed: list[Write] = []
        self.refuse: Callable[[Write], bool] = lambda write: False
        self._lock = threading.Lock()

    region = None

    def look_up(self, keys: Sequence[str], deadline: Deadline) -> Mapping[str, ProcessedMessage]:
        """Return the items that there are for the keys, with all that was written before the call."""
        del deadline
        with self._lock:
            return {key: self.items[key] for key in keys if key in self.items}

    def claim(self, mark: Mark, deadline: Deadline, *, lease_ms: int) -> ProcessedMessage | None:
        """Take a message for as long as the invocation lasts, `lease_ms` at least, if nothing that counts is stored."""
        now_ms = deadline.now_ms()
        lease_until_ms = now_ms + max(deadline.left_ms(), lease_ms)
        with self._lock:
            return self._take(mark.in_progress(now_ms, lease_until_ms), now_ms)

    def complete(self, mark: Mark, deadline: Deadline) -> ProcessedMessage | None:
        """Turn one's own claim into a completed item; if it is gone altogether, store that."""
        with self._lock:
            old = self.items.get(mark.key)
            if old is not None and old.owner != mark.owner:
                return old
            if old is None or old.status is Status.IN_PROGRESS:
                self.items[mark.key] = mark.completed(deadline.now_ms())
            return None

    def remember(self, mark: Mark, deadline: Deadline) -> ProcessedMessage | None:
        """Store a completed item without a claim before it, under the condition of a claim."""
        now_ms = deadline.now_ms()
        with self._lock:
            return self._take(mark.completed(now_ms), now_ms)

    def release(self, mark: Mark, deadline: Deadline) -> None:
        """Give one's own claim up; what is not one's own, or is completed, stays untouched."""
        del deadline
        with self._lock:
            old = self.items.get(mark.key)
            if old is not None and old.owner == mark.owner and old.status is Status.IN_PROGRESS:
                del self.items[mark.key]

    def commit(self, mark: Mark, writes: Sequence[Write], deadline: Deadline) -> ProcessedMessage | None:
        """
        Store a completed item and the handler's writes at once, under the condition of a claim.

        Raises:
            ConditionFailed: our record could have been stored, but `refuse` named writes of the handler.
        """
        now_ms = deadline.now_ms()
        with self._lock:
            item = mark.completed(now_ms)
            if self._is_free(item, now_ms) and (refused := [write for write in writes if self.refuse(write)]):
                raise ConditionFailed(
                    [FailedCondition(write.operation, write.request["TableName"], None, None) for write in refused]
                )
            old = self._take(item, now_ms)
            if self.items[mark.key] is item:
                self.committed += writes
            return old

    def _take(self, item: ProcessedMessage, now_ms: int) -> ProcessedMessage | None:
        if self._is_free(item, now_ms):
            self.items[item.key] = item
            return None
        old = self.items[item.key]
        return None if old.owner == item.owner else old  # one's own write, whose answer was lost

    def _is_free(self, item: ProcessedMessage, now_ms: int) -> bool:
        return judge(self.items.get(item.key), item.fingerprint, now_ms) is None
