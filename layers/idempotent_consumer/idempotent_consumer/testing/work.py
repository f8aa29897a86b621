"""A unit of work to hand to a handler in a unit test, and then to look into."""

from __future__ import annotations

from idempotent_consumer.outbox import Outbox
from idempotent_consumer.work import UnitOfWork


def recorded_work() -> UnitOfWork:
    """
    Return a unit of work that takes writes and outgoing messages, and commits nothing.

    Call the handler with it, and compare its `writes`: each has the `operation` and the `request` that DynamoDB would
    get. Its `outgoing` are a `ToQueue`, `ToTopic` or `ToBus` of `idempotent_consumer.outbound` for each message.
    """
    return UnitOfWork(Outbox(has_relay=True))
