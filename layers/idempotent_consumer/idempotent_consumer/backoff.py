"""How long a message that failed waits for its next delivery."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta

from idempotent_consumer.errors import ConfigurationError
from idempotent_consumer.settings import (
    BACKOFF_BASE,
    BACKOFF_CAP,
    LONGEST_WAIT,
    OUTAGE_BACKOFF_BASE,
    OUTAGE_BACKOFF_CAP,
)

_SECOND = timedelta(seconds=1)
_MOST_DOUBLINGS = 20  # from a second they pass any cap; a receive count has no bound


@dataclass(frozen=True)
class Backoff:
    """
    Let a message wait twice as long after each receive, up to a cap, and let chance take up to half of it away.

    Chance keeps messages that failed together from coming back together; the half that it leaves keeps them from coming
    back at once ("equal jitter").

    Source: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/

    Args:
        base: the longest wait after the first receive.
        cap: the longest wait of all.

    Raises:
        ConfigurationError: the base is under a second, or the cap is below the base or beyond what SQS allows.
    """

    base: timedelta = BACKOFF_BASE
    cap: timedelta = BACKOFF_CAP

    def __post_init__(self) -> None:
        are_times = isinstance(self.base, timedelta) and isinstance(self.cap, timedelta)
        if not (are_times and _SECOND <= self.base <= self.cap <= LONGEST_WAIT):
            raise ConfigurationError(
                f"Backoff(base={self.base!r}, cap={self.cap!r}): give timedeltas, the base at least a second, the cap "
                f"at least as long and at most {LONGEST_WAIT}"
            )

    def longest_ms(self, receive_count: int) -> int:
        """Return the longest wait after so many receives, in milliseconds."""
        base_ms, cap_ms = (time // timedelta(milliseconds=1) for time in (self.base, self.cap))
        return min(cap_ms, base_ms << min(receive_count - 1, _MOST_DOUBLINGS))

    def wait_ms(self, receive_count: int) -> int:
        """Return a wait after so many receives: half of the longest at least, in milliseconds."""
        longest_ms = self.longest_ms(receive_count)
        return longest_ms - random.randint(0, longest_ms // 2)


OUTAGE_BACKOFF = Backoff(OUTAGE_BACKOFF_BASE, OUTAGE_BACKOFF_CAP)
"""While the store is out of reach no message has its chance, so none should spend its receives."""
