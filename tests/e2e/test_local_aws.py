"""A run that is interrupted leaves nothing behind."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tools.local_aws.environments import REPOSITORY

RUN = """
import sys
import time
from pathlib import Path
from tools.local_aws import unwinding_on_termination
from tools.local_aws.environments import find_environments
from tools.local_aws.ministack import running_ministack

with unwinding_on_termination(), running_ministack(find_environments(), Path(sys.argv[1])) as aws:
    print(aws.pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_run_leaves_no_process_and_no_scratch_files(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", RUN, str(tmp_path)]
    with subprocess.Popen(  # noqa: S603 - our own
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as run:
        assert run.stdout is not None
        ministack = psutil.Process(int(run.stdout.readline()))
        scratch = Path(ministack.environ()["TMPDIR"])
        assert scratch.exists()

        run.send_signal(number)
        run.wait(timeout=20)

    assert not ministack.is_running()
    assert not scratch.exists()
    assert (tmp_path / "ministack.log").exists()
