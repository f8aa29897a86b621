"""What a person reads about an invocation."""

import io
import json
from typing import Any

import pytest
from rich.console import Console

from tools.invoke.report import complaint, show
from tools.runtime_api import Ending, Exited, FunctionError, InitError, Invocation, Response, TimedOut


def shown(ending: Ending, log: str = "") -> str:
    output = io.StringIO()
    invocation = Invocation(
        request_id="r-1", ending=ending, log=log, init_log="", duration_s=0.25, init_duration_s=None
    )
    show(Console(file=output, width=200), invocation)
    return output.getvalue()


def delivery(**fields: Any) -> str:
    return json.dumps({"message": "delivery", "sqs_message_id": "m-1", "handled": True, **fields}) + "\n"


def test_each_delivery_is_a_row_with_its_outcome() -> None:
    log = delivery(message_id="o-1", outcome="REJECTED", reason="[bold]no lines[/bold]") + delivery(outcome="DEFERRED")

    rows = [line.split("│")[1:-1] for line in shown(Response(b"{}"), log).splitlines() if "│" in line]

    assert [[cell.strip() for cell in row] for row in rows] == [
        ["m-1", "o-1", "REJECTED", "yes", "[bold]no lines[/bold]"],
        ["m-1", "", "DEFERRED", "yes", ""],
    ]


def test_log_lines_that_tell_of_no_delivery_are_shown_and_make_no_table() -> None:
    log = 'plain text\n[1, 2]\n"delivery"\n{"message": "delivery"}\n{"outcome": "PROCESSED"}\n'

    output = shown(Response(b"{}"), log)

    assert log in output
    assert "Outcomes" not in output


def test_a_stack_is_shown_line_by_line() -> None:
    as_lambda_logs_it = "[ERROR] ValueError: no\rTraceback (most recent call last):\r\u00a0\u00a0File x\n"

    output = shown(FunctionError("ValueError", "no"), as_lambda_logs_it)

    assert "[ERROR] ValueError: no\nTraceback (most recent call last):\n  File x\n" in output


def test_a_response_that_is_no_json_is_shown_as_it_is() -> None:
    assert "Response\nnot JSON\n" in shown(Response(b"not JSON"))


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (FunctionError("ValueError", "no"), "it raised ValueError: no. It raised instead of answering"),
        (InitError("ValueError", "no"), "it did not start: ValueError: no. The log says why; --env NAME=VALUE"),
        (TimedOut(2.5), "it timed out after 2.5 s. --timeout SECONDS"),
        (Exited(3), "it exited with status 3. Its process ended before it answered"),
        (Exited(-9), "it was killed by SIGKILL. Its process ended before it answered"),
    ],
)
def test_a_missing_response_is_explained_with_what_to_do(ending: Ending, said: str) -> None:
    assert f"place_order gave no response: {said}" in complaint("place_order", ending)
