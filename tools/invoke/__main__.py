"""Put together what a function needs, invoke it once, and show what came of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tools.invoke import given_aws
from tools.invoke.refusal import RefusalError
from tools.invoke.report import complaint, show
from tools.invoke.request import find_function, read_event, read_variables
from tools.invoke.stock import QUANTITY, ordered_skus, put_in_stock
from tools.runtime_api import Function, FunctionProcess, Response
from tools.template import FunctionResource, Template

REPOSITORY = Path(__file__).resolve().parents[2]
LAYER = REPOSITORY / "layers" / "idempotent_consumer"

app = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)
out = Console()
err = Console(stderr=True)


@app.command()
def invoke(
    function: Annotated[str, typer.Argument(help="A folder of functions/, such as place_order.")],
    event: Annotated[Path, typer.Argument(help="A JSON file, such as events/orders-single.json.")],
    *,
    timeout: Annotated[float, typer.Option(min=0.1, max=900, help="Seconds that it may take.")] = 30,
    env: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="A variable for it.")] = None,
    aws: Annotated[bool, typer.Option("--aws", help="Use the AWS of your credentials.")] = False,
) -> None:
    """Run one function with one event through Lambda's own runtime client, without Docker.

    It meets an empty AWS, made for this one invocation. With AWS_ENDPOINT_URL
    set, or with --aws, it meets the AWS that your environment names instead;
    the environment, or --env, then has to name the stack's resources, too.
    """
    try:
        template = Template.read(REPOSITORY / "template.yaml")
        resource = find_function(function, template)
        payload = read_event(event, REPOSITORY / "events")
        given = read_variables(env or ())
        with _environment(resource, template, payload, given=given, own_aws=aws) as environment:
            runnable = Function(
                name=resource.code_folder.name,
                handler=resource.handler,
                folder=resource.code_folder,
                layers=(LAYER,),
                environment=environment,
                region=environment["AWS_REGION"],
            )
            with FunctionProcess(runnable) as process:
                invocation = process.invoke(payload, timeout_s=timeout)
    except RefusalError as refusal:
        _say(f"make invoke: {refusal}", err)
        raise typer.Exit(2) from None

    show(out, invocation)
    if not isinstance(invocation.ending, Response):
        _say(complaint(runnable.name, invocation.ending), err)
        raise typer.Exit(1)


_QUEUE = "QUEUE_URL"
"""No queue has delivered the event, so none is told when to deliver it again."""


@contextmanager
def _environment(
    resource: FunctionResource,
    template: Template,
    event: Mapping[str, Any],
    *,
    given: Mapping[str, str],
    own_aws: bool,
) -> Iterator[dict[str, str]]:
    """Yield the function's environment, and with it the AWS it meets. What was given with --env wins."""
    settings = {name: setting for name, setting in resource.environment.items() if name not in (*given, _QUEUE)}
    if own_aws or os.environ.get("AWS_ENDPOINT_URL"):
        yield {**given_aws.environment(settings), **given}
        return

    from tools.invoke.moto_aws import running_moto  # its import takes a second, which no refusal should cost

    with running_moto() as local:
        variables = local.provide(settings, template)
        _say("AWS: an empty one, for this invocation only. AWS_ENDPOINT_URL or --aws names another.")
        skus = ordered_skus(event)
        if skus and (table := variables.get("STOCK_TABLE")):
            put_in_stock(local.dynamodb, table, skus)
            _say(f"Stock: {QUANTITY} each of {', '.join(skus)}, as a sample.")
        _say("")
        yield {**local.access, **variables, **given}


def _say(text: str, console: Console = out) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    app(prog_name="python -m tools.invoke")
