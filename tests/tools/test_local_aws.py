"""The parts of the local AWS that need no running MiniStack."""

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import boto3
import psutil
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from tools.local_aws.environments import MissingEnvironmentError, find_environments
from tools.local_aws.ministack import LocalAwsError
from tools.local_aws.processes import CommandFailedError, run_logged, stop_group, unwinding_on_termination
from tools.local_aws.run_folders import new_run_folder
from tools.local_aws.stack import StackOutputs
from tools.local_aws.warm_up import EMPTY_BATCH, warm_up

NOBODYS_ID = 2**22 + 1
"""No process has it: the highest id that Linux gives is 2**22."""
PARENT_OF_A_STUBBORN_CHILD = """
import signal, subprocess, sys
ignoring = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
subprocess.Popen([sys.executable, "-c", ignoring]).wait()
"""


def test_function_that_does_not_start_is_named_with_its_error() -> None:
    functions = boto3.client("lambda")
    error = b'{"errorMessage": "No module named pynamodb"}'
    answer = {"FunctionError": "Unhandled", "Payload": StreamingBody(io.BytesIO(error), len(error))}

    stubber = Stubber(functions)
    stubber.add_response("invoke", answer, {"FunctionName": "PlaceOrder", "Payload": EMPTY_BATCH})

    with stubber, pytest.raises(LocalAwsError, match=r"PlaceOrder.*No module named pynamodb"):
        warm_up(functions, "PlaceOrder", processes=1)


def test_missing_environments_are_named_with_the_command_that_makes_them(tmp_path: Path) -> None:
    (tmp_path / ".venvs" / "sam").mkdir(parents=True)
    (tmp_path / ".venvs" / "sam" / ".ready").touch()

    with pytest.raises(MissingEnvironmentError, match=r"make \.venvs/ministack/\.ready$"):
        find_environments(tmp_path)


def test_stack_outputs_are_read_by_their_names() -> None:
    names = [field.name for field in fields(StackOutputs)]
    given = {name.title().replace("_", ""): f"value of {name}" for name in names}

    outputs = StackOutputs.from_outputs(given | {"Another": "one"})

    assert outputs.orders_dead_letter_queue_url == "value of orders_dead_letter_queue_url"
    assert {getattr(outputs, name) for name in names} == set(given.values())


def test_missing_stack_outputs_are_all_named() -> None:
    with pytest.raises(LocalAwsError, match=r"OrdersQueueUrl.*TrackShipmentLogGroupName"):
        StackOutputs.from_outputs({})


def test_failed_command_shows_the_end_of_its_output(tmp_path: Path) -> None:
    program = "import sys; print('all lines before'); sys.exit('cannot build the layer')"

    with pytest.raises(CommandFailedError, match=r"(?s)status 1.*cannot build the layer"):
        run_logged([sys.executable, "-c", program], env={}, cwd=tmp_path, log=tmp_path / "log")


def test_output_of_commands_is_appended_to_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for word in ("one", "two"):
        run_logged([sys.executable, "-c", f"print('{word}')"], env={}, cwd=tmp_path, log=log)

    assert log.read_text() == "one\ntwo\n"


def test_stopping_ends_children_that_do_not_listen() -> None:
    command = [sys.executable, "-c", PARENT_OF_A_STUBBORN_CHILD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:  # noqa: S603 - our own
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        children = psutil.Process(process.pid).children(recursive=True)

        stop_group(process, grace_seconds=0.1)

    _, alive = psutil.wait_procs(children, timeout=5)
    assert [child.pid for child in children] != []
    assert alive == []


def test_stopping_what_has_ended_is_no_error() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    process.wait()

    stop_group(process)

    assert process.returncode == 0


@contextmanager
def handling(number: signal.Signals, handler: signal.Handlers) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_termination_unwinds_the_stack_and_is_as_deadly_as_before_afterwards(number: signal.Signals) -> None:
    with handling(number, signal.SIG_DFL):
        with pytest.raises(KeyboardInterrupt), unwinding_on_termination():
            signal.raise_signal(number)

        assert signal.getsignal(number) == signal.SIG_DFL


def test_ignored_hangup_stays_ignored() -> None:
    with handling(signal.SIGHUP, signal.SIG_IGN):
        with unwinding_on_termination():
            signal.raise_signal(signal.SIGHUP)

        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


@pytest.fixture
def ended_run(tmp_path: Path) -> Callable[[int], Path]:
    def make(age: int) -> Path:
        folder = tmp_path / f"demo-{NOBODYS_ID + age}-abc"
        folder.mkdir()
        (folder / "ministack.log").touch()
        os.utime(folder, (1_000_000 - age, 1_000_000 - age))
        return folder

    return make


@pytest.mark.parametrize("keep", [0, 2, 9])
def test_only_the_latest_ended_runs_are_kept(tmp_path: Path, ended_run: Callable[[int], Path], keep: int) -> None:
    ended = [ended_run(age) for age in range(5)]

    fresh = new_run_folder("demo", tmp_path, keep=keep)

    assert set(tmp_path.iterdir()) == {fresh, *ended[:keep]}


def test_folders_of_other_runs_that_go_on_are_left_alone(tmp_path: Path) -> None:
    others = [tmp_path / f"demo-{process_id}-abc" for process_id in (1, os.getpid(), os.getppid())]
    for folder in (*others, tmp_path / f"e2e-{NOBODYS_ID}-abc"):
        folder.mkdir()

    new_run_folder("demo", tmp_path, keep=0)

    assert all(folder.exists() for folder in others)
    assert (tmp_path / f"e2e-{NOBODYS_ID}-abc").exists()
