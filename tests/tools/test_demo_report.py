"""The demo's terminal output says what was proved, and names what contradicts it."""

import io

from rich.console import Console

from tools.demo.deliveries import Delivery
from tools.demo.observing import Snapshot
from tools.demo.outgoing import Outgoing
from tools.demo.proofs import Proof
from tools.demo.queues import Queue
from tools.demo.report import SHOWN_OFFENDERS, print_proofs, standing
from tools.demo.sending import Sent


def printed(proofs: list[Proof]) -> str:
    console = Console(file=io.StringIO(), width=80)
    print_proofs(console, proofs)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_claim_that_holds_gets_a_tick_and_nothing_else() -> None:
    assert "✓ all is well\n" in printed([Proof("all is well", [])])
    assert "✗" not in printed([Proof("all is well", [])])


def test_claim_that_does_not_hold_names_its_offenders() -> None:
    output = printed([Proof("none is lost", ["p-1", "p-2 [red]"])])

    assert "✗ none is lost\n    p-1\n    p-2 [red]\n" in output


def test_endless_offenders_are_cut_and_counted() -> None:
    output = printed([Proof("none is lost", [f"p-{at}" for at in range(SHOWN_OFFENDERS + 3)])])

    assert f"p-{SHOWN_OFFENDERS - 1}\n    and 3 more\n" in output


def test_table_fits_a_narrow_terminal_and_holds_every_number() -> None:
    message = Outgoing(queue=Queue.SHIPMENTS, business_id="s-1 packed", body="{}")
    delivery = Delivery("m-1", None, "PROCESSED", acknowledged=True, reason=None)
    nothing = dict.fromkeys(Queue, 0)
    snapshot = Snapshot(
        deliveries={queue: [delivery] * 3 if queue == Queue.SHIPMENTS else [] for queue in Queue},
        depths=nothing | {Queue.SHIPMENTS: 8},
        dead_letter_depths=nothing | {Queue.SHIPMENTS: 7},
    )
    console = Console(file=io.StringIO(), width=80)

    console.print(standing([Sent(message, "m-1")] * 5, snapshot))

    assert isinstance(console.file, io.StringIO)
    row = console.file.getvalue().splitlines()[-1].split()
    assert row == ["shipments", "5", "1", "3", "3", "0", "2", "7", "8"]
