"""The command `idempotent-consumer` and its parts; whatever ends one of them early is one line, and an exit code."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from idempotent_consumer.errors import IdempotentConsumerError
from idempotent_consumer_operator.commands.cost import cost
from idempotent_consumer_operator.commands.dead_letters import dead_letters
from idempotent_consumer_operator.commands.forget import forget
from idempotent_consumer_operator.commands.redrive import redrive
from idempotent_consumer_operator.commands.send import send
from idempotent_consumer_operator.commands.status import status
from idempotent_consumer_operator.commands.stuck import stuck
from idempotent_consumer_operator.errors import INTERRUPTED, LEFT, OperatorError
from idempotent_consumer_operator.screen import Screen


class Reporting(TyperGroup):
    """Report errors as a person can use them."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        screen = Screen(as_json=False)
        try:
            return super().invoke(ctx)
        except OperatorError as error:
            screen.say(str(error))
            raise typer.Exit(error.exit_code) from None
        except IdempotentConsumerError as error:
            screen.say(str(error))
            raise typer.Exit(LEFT) from None
        except KeyboardInterrupt:
            screen.say("Interrupted.")
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=Reporting,
    help="See and mend what consumers of SQS messages have left: processed messages, stuck claims, dead letters.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # they hold bodies of messages
)
for command in (status, stuck, forget, dead_letters, redrive, send, cost):
    app.command()(command)


def main() -> None:
    """Run the command line."""
    app(prog_name="idempotent-consumer")
