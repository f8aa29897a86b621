"""A dead-letter queue, the queue of its consumer, and redrives between the two."""

from __future__ import annotations

from typing import Any, cast
from uuid import uuid4

from idempotent_consumer.testing import FakeClock
from idempotent_consumer_operator.choosing import Choice
from idempotent_consumer_operator.copies import Copying
from idempotent_consumer_operator.queues import Queue
from idempotent_consumer_operator.rate import Rate
from idempotent_consumer_operator.redrive import Outlet, Redrive, Tally
from tests.operator.fake_queues import FakeQueues, Held, explanation


class Ground:
    """
    Where redrives take place.

    Attributes:
        clock: the time.
        sqs: both queues.
        dead_letters: the name of the dead-letter queue.
        queue: the name of the consumer's queue.
    """

    def __init__(self, *, fifo: bool = False) -> None:
        ending = ".fifo" if fifo else ""
        self.clock = FakeClock()
        self.sqs = FakeQueues(self.clock)
        self.dead_letters = f"dead-letters{ending}"
        self.queue = f"orders{ending}"

    def give_up(self, body: str, group: str | None = None, **said: Any) -> str:
        """Put a letter of ours into the dead-letter queue."""
        system = {"MessageGroupId": group} if group else {}
        said.setdefault("sqs_message_id", f"first-{uuid4()}")
        return self.sqs.put(self.dead_letters, body, attributes=explanation(**said), system=system)

    def redrive(
        self, choice: Choice | None = None, *, rate: float | None = None, drops_identity: bool = False, **options: Any
    ) -> Tally:
        """Redrive, and return what was done."""
        return self.prepared(choice, rate=rate, drops_identity=drops_identity).run(**options)

    def prepared(
        self, choice: Choice | None = None, *, rate: float | None = None, drops_identity: bool = False
    ) -> Redrive:
        """Return a redrive that is to be run."""
        client: Any = cast("Any", self.sqs)
        copying = Copying("place-order", self.queue.endswith(".fifo"), drops_identity)
        outlet = Outlet(client, self.queue, copying, self.clock)
        dead_letters = Queue(client, self.dead_letters)
        return Redrive(dead_letters, outlet, choice or Choice(), Rate(rate, self.clock), self.clock)

    def arrived(self) -> list[Held]:
        """Return the messages in the consumer's queue."""
        return self.sqs.queues.get(self.queue, [])

    def only(self) -> Held:
        """Return the one message in the consumer's queue."""
        (held,) = self.arrived()
        return held
