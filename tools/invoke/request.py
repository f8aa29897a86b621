"""Read what the command was asked for, and refuse what cannot be run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.invoke.refusal import RefusalError
from tools.template import FunctionResource, Template


def find_function(name: str, template: Template) -> FunctionResource:
    """Return the function whose code is in the folder `functions/<name>`.

    Raises:
        RefusalError: There is none; the message lists those that there are.
    """
    functions = {function.code_folder.name: function for function in template.functions()}
    function = functions.get(Path(name).name)  # completion by the shell gives functions/place_order/
    if function is None:
        known = ", ".join(sorted(functions))
        raise RefusalError(f"there is no function {name!r} in template.yaml. It has: {known}.")
    if not function.code_folder.is_dir():
        raise RefusalError(f"template.yaml has {name}, but {function.code_folder} is not there.")
    return function


def read_event(path: Path, samples: Path) -> dict[str, Any]:
    """Read the event to invoke the function with.

    Args:
        path: The JSON file.
        samples: The folder of sample events, to list them when the file is not there.

    Raises:
        RefusalError: The file is missing, is not JSON, or holds no object.
    """
    try:
        event = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        known = ", ".join(sorted(sample.name for sample in samples.glob("*.json")))
        raise RefusalError(f"there is no file {path}. The samples in {samples.name}/ are: {known}.") from error
    except OSError as error:
        raise RefusalError(f"{path} cannot be read: {error.strerror}. Give a JSON file.") from error
    except ValueError as error:  # broken JSON, or bytes that are no UTF-8
        raise RefusalError(f"{path} is not JSON: {error}. Correct it, or take one of {samples.name}/.") from error
    if not isinstance(event, dict):
        kind = type(event).__name__
        raise RefusalError(f'{path} holds a {kind}, but an event is an object, as {{"Records": [...]}} is.')
    return event


def read_variables(assignments: Sequence[str]) -> dict[str, str]:
    """Read the values of `--env`.

    Raises:
        RefusalError: One of them is not NAME=VALUE.
    """
    variables = {}
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        if not name or not separator:
            raise RefusalError(f"--env {assignment} is not NAME=VALUE.")
        variables[name] = value
    return variables
