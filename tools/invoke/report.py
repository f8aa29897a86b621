"""Show a finished invocation: its response, its log, and what became of each delivery."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tools.runtime_api import Ending, FunctionError, InitError, Invocation, Response, TimedOut

_COLUMNS = {
    "SQS message id": "sqs_message_id",
    "Message id": "message_id",
    "Outcome": "outcome",
    "Handled": "handled",
    "Reason": "reason",
}


def show(console: Console, invocation: Invocation) -> None:
    """Print the response, the log, a table of outcomes, and how it ended."""
    if isinstance(invocation.ending, Response):
        _print_titled(console, "Response", _indented(invocation.ending.payload))
    _print_titled(console, "Log", _readable(invocation.init_log + invocation.log) or "(nothing)")
    if outcomes := list(_outcomes(invocation.log)):
        _print_titled(console, "Outcomes", _table(outcomes))
    loading = invocation.init_duration_s
    cold = "" if loading is None else f" and {loading * 1000:.0f} ms to load"
    _print_titled(console, "Time", f"{invocation.duration_s * 1000:.0f} ms{cold}")


def complaint(name: str, ending: Ending) -> str:
    """Say that a function gave no response, and what to do about it."""
    match ending:
        case FunctionError():
            advice = "It raised instead of answering; the log has the stack."
        case InitError():
            advice = "The log says why; --env NAME=VALUE gives it a setting that it misses."
        case TimedOut():
            advice = "--timeout SECONDS gives it more time."
        case _:
            advice = "Its process ended before it answered; the log has its last words."
    return f"{name} gave no response: it {ending}. {advice}"


def _outcomes(log: str) -> Iterator[Mapping[str, Any]]:
    """Yield the structured log lines that tell what became of a delivery."""
    for line in log.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        match entry:
            case {"message": "delivery", "outcome": _}:
                yield entry


def _table(outcomes: list[Mapping[str, Any]]) -> Table:
    table = Table()
    for title in _COLUMNS:
        table.add_column(title, overflow="fold")
    for outcome in outcomes:
        table.add_row(*(_cell(outcome.get(field)) for field in _COLUMNS.values()))
    return table


def _cell(value: object) -> Text:
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    return Text("" if value is None else str(value))


def _indented(payload: bytes) -> str:
    try:
        return json.dumps(json.loads(payload), indent=2, ensure_ascii=False)
    except ValueError:  # a function may return bytes that are no JSON
        return payload.decode(errors="replace")


def _readable(log: str) -> str:
    # Lambda's client ends the lines of a stack with carriage returns and indents them with no-break spaces.
    return log.replace("\r", "\n").replace("\u00a0", " ").rstrip()


def _print_titled(console: Console, title: str, content: str | Table) -> None:
    console.print(f"[bold]{title}[/bold]")
    console.print(content, markup=False, highlight=False, soft_wrap=isinstance(content, str))
    console.print()
