"""What a message's handler has said by raising: whether the message can ever succeed, and when to try it again."""

from __future__ import annotations

from datetime import timedelta

from idempotent_consumer.errors import PermanentError, RetryLater
from idempotent_consumer.groups import leaves_of
from idempotent_consumer.outcome import Outcome, Settlement, describe


def settle_by(error: BaseException, reject_on: tuple[type[BaseException], ...], now_ms: int) -> Settlement:
    """
    Return how what a handler raised settles its delivery.

    Of a group every error counts: it is permanent if all of them are, and otherwise the longest wait that one of them
    asks for is kept, since a shorter one would end in the same error.

    Args:
        error: what was raised.
        reject_on: what the consumer takes for permanent besides `PermanentError`.
        now_ms: the time, in milliseconds since 1970.

    Raises:
        KeyboardInterrupt: it is one; the person at the keyboard wants all of it to stop.
    """
    if isinstance(error, KeyboardInterrupt):
        raise error
    leaves = list(leaves_of(error))
    is_permanent = all(isinstance(leaf, (PermanentError, *reject_on)) for leaf in leaves)
    delays = [leaf.delay for leaf in leaves if isinstance(leaf, RetryLater)]
    useful_from_ms = now_ms + max(delays) // timedelta(milliseconds=1) if delays else None
    outcome = Outcome.REJECTED if is_permanent else Outcome.FAILED
    return Settlement(outcome, describe(error), error, useful_from_ms, is_handlers=True)
