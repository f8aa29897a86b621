"""The page about the operator's command names every command and every option, and shows what its screens show."""

import inspect
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from idempotent_consumer_operator.app import app
from idempotent_consumer_operator.errors import AWS, DONE, INTERRUPTED, LEFT, NOT_FOUND, USAGE

PAGE = (Path(__file__).parents[2] / "docs" / "operator-command.md").read_text(encoding="utf-8")
COMMANDS = {
    (command.callback.__name__ if command.callback else "").replace("_", "-"): command
    for command in app.registered_commands
}


def section(name: str) -> str:
    return PAGE.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_what_it_answers_to_scripts_is_explained(name: str) -> None:
    assert f"idempotent-consumer {name}" in section(name)
    assert "JSON: " in section(name)


@pytest.mark.parametrize("name", ["redrive", "dead-letters", "forget", "send"])
def test_every_option_of_its_own_is_explained(name: str) -> None:
    help_text = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "300"}).stdout
    options = set(re.findall(r"--[a-z][a-z-]+", help_text)) - {"--help", "--yes"}
    assert len(options) > 5
    assert {option for option in options if option not in PAGE} == set()


def test_every_exit_code_is_explained() -> None:
    codes = re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)

    assert [int(code) for code in codes] == [DONE, LEFT, USAGE, NOT_FOUND, AWS, INTERRUPTED]


def test_the_screen_of_a_cost_is_what_the_command_prints() -> None:
    shown = CliRunner().invoke(app, ["cost", "transactional", "--duplicates", "0.05"]).stdout
    screen = section("cost").split("```text\n", 1)[1].split("```", 1)[0]

    assert [line.rstrip() for line in shown.splitlines()] == screen.splitlines()[1:]


def test_every_command_is_a_function_with_a_line_of_help() -> None:
    assert all(inspect.getdoc(command.callback) for command in COMMANDS.values())
