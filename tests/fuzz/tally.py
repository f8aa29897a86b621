"""How much was generated, and what came of it."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from idempotent_consumer import Outcome


class Tally:
    """
    Count events, records and outcomes of a run.

    Attributes:
        events: delivered events.
        outcomes: records by what became of them.
    """

    def __init__(self) -> None:
        self.events = 0
        self.outcomes: Counter[str] = Counter()

    def count(self, outcomes: Iterable[Outcome]) -> None:
        """Count the records of one event by their outcomes."""
        self.events += 1
        self.outcomes.update(outcome.value for outcome in outcomes)

    def write(self, path: Path) -> None:
        """Write it down for whoever runs several."""
        path.write_text(json.dumps({"events": self.events, "outcomes": self.outcomes}), encoding="utf-8")


TALLY = Tally()
"""Of this process."""
