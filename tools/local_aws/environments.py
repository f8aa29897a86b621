"""The virtual environments that the local AWS needs, and the Python that its functions run on."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


class MissingEnvironmentError(Exception):
    """A virtual environment has not been made yet; the message holds the command that makes it."""


@dataclass(frozen=True, slots=True)
class Environments:
    """
    Where the SAM command line and MiniStack are installed.

    Attributes:
        sam: Folder of the environment with the SAM command line.
        ministack: Folder of the environment with MiniStack, whose interpreter runs the functions.
        runtime: The Lambda name of that interpreter, such as `python3.13`.
    """

    sam: Path
    ministack: Path
    runtime: str


def find_environments(root: Path = REPOSITORY) -> Environments:
    """
    Find the environments that the Makefile makes.

    MiniStack runs every Python function on its own interpreter, whatever the template says, so that
    interpreter decides the runtime, and the layer is built with the same one.

    Raises:
        MissingEnvironmentError: One of them has not been made.
    """
    folders = {name: root / ".venvs" / name for name in ("sam", "ministack")}
    missing = [name for name, folder in folders.items() if not (folder / ".ready").exists()]
    if missing:
        targets = " ".join(f".venvs/{name}/.ready" for name in missing)
        raise MissingEnvironmentError(f"The local AWS is not installed yet. Run: make {targets}")
    return Environments(**folders, runtime=_runtime_of(folders["ministack"] / "bin" / "python"))


def _runtime_of(interpreter: Path) -> str:
    program = "import sys; print('python%d.%d' % sys.version_info[:2])"
    answer = subprocess.run(  # noqa: S603 - our own interpreter
        [str(interpreter), "-c", program], capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()
