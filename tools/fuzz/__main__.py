"""Deliver many generated records, in rounds with other seeds, until there were enough or one broke a promise."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

import typer

REPOSITORY = Path(__file__).resolve().parents[2]
LARGEST_SEED = 1_000_000


@dataclass(frozen=True, slots=True)
class Round:
    """
    What one process has done.

    Attributes:
        seed: what it was generated from.
        events: how many events were delivered.
        outcomes: records by what became of them.
        failure: what pytest says of a broken promise, with the smallest example; empty if none was broken.
    """

    seed: int
    events: int
    outcomes: Counter[str]
    failure: str


class Rounds:
    """
    Hand out seeds until enough records were delivered, and add up.

    Args:
        first_seed: of the first round; each next one has the next number.
        records: how many are enough.
    """

    def __init__(self, first_seed: int, records: int) -> None:
        self._seed = first_seed
        self._enough = records
        self._lock = Lock()
        self.events = 0
        self.outcomes: Counter[str] = Counter()
        self.failure = ""

    def seeds(self) -> Iterator[int]:
        """Yield seeds for one process after another; none after a failure."""
        while not self.failure and self.outcomes.total() < self._enough:
            with self._lock:
                self._seed += 1
                seed = self._seed - 1
            yield seed

    def add(self, done: Round) -> None:
        """Add one round."""
        with self._lock:
            self.events += done.events
            self.outcomes += done.outcomes
            if done.failure and not self.failure:
                self.failure = f"{done.failure}\nThe same again: make fuzz ARGS='--seed {done.seed} --records 1'"


def main(
    records: Annotated[int, typer.Option(min=1, help="How many records to deliver, at least.")] = 200_000,
    seed: Annotated[
        int | None, typer.Option(help="The same seed generates the same; by default another each time.")
    ] = None,
    processes: Annotated[int, typer.Option(min=1, max=64, help="How many rounds run at the same time.")] = 2,
) -> None:
    """Generate records of every kind for consumers of every kind, and hold the outcome against the promises."""
    began = time.monotonic()
    rounds = Rounds(random.randrange(LARGEST_SEED) if seed is None else seed, records)

    def work() -> None:
        for each in rounds.seeds():
            rounds.add(done := run_round(each))
            typer.echo(
                f"seed {each}: {done.outcomes.total():,} records, {'FAILED' if done.failure else 'all promises kept'}"
            )

    with ThreadPoolExecutor(processes) as pool:
        for worker in [pool.submit(work) for _ in range(processes)]:
            worker.result()
    if rounds.failure:
        typer.echo(rounds.failure)
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in rounds.outcomes.most_common())
    seconds = time.monotonic() - began
    typer.echo(f"{rounds.outcomes.total():,} records in {rounds.events:,} events, {seconds:.0f} s: {told or 'none'}")
    raise typer.Exit(1 if rounds.failure else 0)


def run_round(seed: int) -> Round:
    """Run the tests of tests/fuzz once, with the long profile, in a process of their own."""
    with tempfile.TemporaryDirectory() as folder:
        tally = Path(folder) / "tally.json"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "tests/fuzz",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--fuzz-tally={tally}",
        ]
        command += ["--hypothesis-profile=fuzz-long", f"--hypothesis-seed={seed}"]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)  # noqa: S603 - ours
        counted: dict[str, Any] = {"events": 0, "outcomes": {}}
        if tally.exists():
            counted = json.loads(tally.read_text(encoding="utf-8"))
    failure = "" if done.returncode == 0 else done.stdout + done.stderr
    return Round(seed, counted["events"], Counter(counted["outcomes"]), failure)


if __name__ == "__main__":
    typer.run(main)
