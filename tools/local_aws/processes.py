"""Start programs and be sure that they end, with everything they started themselves."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

TAIL_LINES = 30


class CommandFailedError(Exception):
    """A program that was run to its end answered with a failure; the message holds the end of its output."""


def run_logged(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path) -> None:
    """
    Run a program to its end and append what it prints to a file.

    The program leads a session of its own, so that an interruption ends its children, too.

    Args:
        command: The program and its arguments.
        env: Its whole environment.
        cwd: The folder it runs in.
        log: The file that its output is appended to.

    Raises:
        CommandFailedError: It ended with a status other than 0.
    """
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - the command is ours
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait()
        except BaseException:
            stop_group(process)
            raise
    if status != 0:
        raise CommandFailedError(f"{' '.join(command)}\nended with status {status}:\n{tail(log)}")


def stop_group(process: subprocess.Popen[bytes], *, grace_seconds: float = 3.0) -> None:
    """End a process that leads its own session, and all that it started: first asked, then killed."""
    try:
        _signal_group(process.pid, signal.SIGTERM)
        process.wait(grace_seconds)
    except subprocess.TimeoutExpired:
        pass
    finally:  # also when a second Ctrl-C interrupts the wait
        _signal_group(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def unwinding_on_termination() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt as Ctrl-C does, so that what was started is stopped."""
    fatal = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL]
    for number in fatal:  # one that is ignored, as under nohup, stays so
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in fatal:
            signal.signal(number, signal.SIG_DFL)


def tail(log: Path) -> str:
    """Return the last lines of a log file, or nothing if there is none."""
    if not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-TAIL_LINES:])


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
        os.killpg(group, number)
