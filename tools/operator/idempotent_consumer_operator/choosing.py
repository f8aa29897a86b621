"""Which dead letters are meant."""

from __future__ import annotations

from dataclasses import dataclass

from idempotent_consumer_operator.letters import DeadLetter


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """
    Choose letters; all conditions that are given have to hold.

    Attributes:
        reason: what their reason contains, in any case of letters.
        error: the name of their error's type.
        key: their key.
        queue_arn: the queue that they come from; those that do not say so may come from any.
    """

    reason: str | None = None
    error: str | None = None
    key: str | None = None
    queue_arn: str | None = None

    def is_from_elsewhere(self, letter: DeadLetter) -> bool:
        """Tell whether a letter comes from another queue, whose consumer shares the dead-letter queue."""
        return self.queue_arn is not None and letter.queue_arn not in (None, self.queue_arn)

    def takes(self, letter: DeadLetter) -> bool:
        """Tell whether a letter is meant."""
        return (
            not self.is_from_elsewhere(letter)
            and (self.reason is None or self.reason.lower() in letter.reason.lower())
            and self.error in (None, letter.error)
            and self.key in (None, letter.key)
        )

    @property
    def is_everything(self) -> bool:
        """Tell whether every letter of the queue is meant."""
        return self.reason is None and self.error is None and self.key is None
