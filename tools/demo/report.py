"""Show on the terminal how the queues stand, and whether everything is proved."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tools.demo.deliveries import Totals
from tools.demo.observing import Snapshot
from tools.demo.proofs import Proof
from tools.demo.queues import Queue
from tools.demo.sending import Sent

COLUMNS = (
    "sent",
    "distinct",
    "deliveries",
    "handled",
    "duplicates",
    "retried",
    "dead letters",
    "left over",
)
NOTES = (
    "retried: deliveries of an SQS message after its first one.",
    "receipts: those that charge_payment asks for come on top of those sent here.",
    "receipts are lazy: two deliveries at the same moment may both run, so theirs were sent again after the first.",
    "shipments are natural: nothing is remembered, each delivery is handled, a step that is not newer changes nothing.",
)
SHOWN_OFFENDERS = 20


def standing(sent: Sequence[Sent], snapshot: Snapshot | None) -> Table:
    """Return the table of all queues: what was sent, and what has become of it so far."""
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False)
    table.add_column("queue")
    for column in COLUMNS:
        table.add_column(column, justify="right", width=max(len(word) for word in column.split()))
    for queue in Queue:
        table.add_row(queue, *(str(number) for number in _numbers(queue, sent, snapshot)))
    return table


def print_notes(console: Console) -> None:
    """Print what has to be known to read the table."""
    for note in NOTES:
        console.print(Text(note, style="dim"))


def print_proofs(console: Console, proofs: Sequence[Proof]) -> None:
    """Print a line for each proof, and under a failed one what contradicts it."""
    for proof in proofs:
        mark = ("✓", "bold green") if proof.holds else ("✗", "bold red")
        console.print(Text.assemble(mark, f" {proof.claim}"))
        for offender in proof.offenders[:SHOWN_OFFENDERS]:
            console.print(Text(f"    {offender}", style="red"))
        if len(proof.offenders) > SHOWN_OFFENDERS:
            console.print(Text(f"    and {len(proof.offenders) - SHOWN_OFFENDERS} more", style="red"))


def _numbers(queue: Queue, sent: Sequence[Sent], snapshot: Snapshot | None) -> Sequence[int]:
    own = [message.outgoing for message in sent if message.outgoing.queue == queue]
    distinct = len({message.business_id for message in own})
    if snapshot is None:
        return (len(own), distinct, 0, 0, 0, 0, 0, len(own))
    totals = Totals.of(snapshot.deliveries[queue])
    return (
        len(own),
        distinct,
        totals.deliveries,
        totals.handled,
        totals.duplicates,
        totals.retried,
        snapshot.dead_letter_depths[queue],
        snapshot.depths[queue],
    )
