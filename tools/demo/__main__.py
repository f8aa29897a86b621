"""Run the whole application on this machine and prove that each message's work was done once: `make demo`."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console

from tools.demo.keeping import keep_running
from tools.demo.plan import FEWEST_MESSAGES, make_plan
from tools.demo.report import print_notes, print_proofs
from tools.demo.run import SHORT_WAITS, Run
from tools.local_aws import (
    CommandFailedError,
    LocalAwsError,
    MissingEnvironmentError,
    deployed_stack,
    unwinding_on_termination,
)
from tools.payment_gateway import PaymentGateway

MOST_MESSAGES = 2_000
INTERRUPTED = 130


def main(
    messages: Annotated[
        int, typer.Option(min=FEWEST_MESSAGES, max=MOST_MESSAGES, help="How many SQS messages to send, in all.")
    ] = 300,
    seed: Annotated[int, typer.Option(help="The same seed sends the same messages.")] = 1,
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave everything running until Ctrl-C, and say how to send to it.")
    ] = False,
) -> None:
    """Deploy the application to a local AWS, send real SQS messages to it, and prove what became of them."""
    console = Console()
    try:
        with unwinding_on_termination():
            is_proved = demonstrate(console, messages=messages, seed=seed, keep=keep)
    except KeyboardInterrupt:
        console.print("Interrupted; everything is stopped.")
        raise typer.Exit(INTERRUPTED) from None
    except (MissingEnvironmentError, CommandFailedError, LocalAwsError) as error:
        console.print(str(error), style="red", markup=False, highlight=False)
        raise typer.Exit(1) from None
    raise typer.Exit(0 if is_proved else 1)


def demonstrate(console: Console, *, messages: int, seed: int, keep: bool) -> bool:
    """
    Run the demo.

    Returns:
        Whether all that it claims is proved.
    """
    plan = make_plan(messages, seed)
    started = time.monotonic()

    def say(step: str) -> None:
        console.print(f"[dim]{time.monotonic() - started:5.1f} s[/] {step}", highlight=False)

    with (
        PaymentGateway(declined=plan.declined, unavailable_first=plan.unavailable_first) as gateway,
        deployed_stack("demo", {**SHORT_WAITS, "GatewayUrl": gateway.url}, on_step=say) as stack,
    ):
        run = Run(plan, stack, gateway)
        say(f"send {messages} messages (seed {seed})")
        run.start()
        snapshot = run.see_through(console)
        print_notes(console)
        console.print()
        proofs = run.proofs(snapshot)
        print_proofs(console, proofs)
        console.print()
        is_proved = all(proof.holds for proof in proofs)
        say("all proved" if is_proved else f"not proved; logs: {stack.folder}")
        if keep:
            keep_running(console, stack, run.observer)
    return is_proved


if __name__ == "__main__":
    typer.run(main)
