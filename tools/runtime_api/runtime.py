"""One runtime process, with the server it talks to and the file it logs to."""

import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic

from tools.runtime_api.function import Function
from tools.runtime_api.invocation import Ending, Exited, InitError, TimedOut
from tools.runtime_api.server import InvocationRequest, Ready, RuntimeApi, Signal


class RuntimeProcess:
    """A child process that runs `awslambdaric`, until it ends or is killed. It is never started again."""

    def __init__(self, function: Function) -> None:
        self._signals: SimpleQueue[Signal] = SimpleQueue()
        self._ended = Event()
        self._log_end = 0
        self.init_duration_s: float | None = None  # known once it has been waited for
        # A file, not a pipe: all that the process logs before it answers is there when it has answered, and a
        # process that logs much never waits for a reader.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._api = RuntimeApi(self._signals.put)
        self._started_at = monotonic()
        try:
            self._child = subprocess.Popen(  # noqa: S603 - the command is ours, the function the developer's own
                [function.python, "-m", "awslambdaric", function.handler],
                cwd=function.folder,
                env=function.process_environment(self._api.address),
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                start_new_session=True,  # a process group, so that what it spawned is killed with it
            )
        except OSError:
            self._release()
            raise
        self._watcher = Thread(target=self._watch, name=f"wait-{self.pid}", daemon=True)
        self._watcher.start()

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its process group."""
        return self._child.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended yet."""
        return not self._ended.is_set()

    def load(self, timeout_s: float) -> InitError | None:
        """Wait until the process has loaded the function.

        Args:
            timeout_s: How long that may take, counted from the start of the process.

        Returns:
            What went wrong, or None if the process is ready for its first event.
        """
        signal = self._hear(self._started_at + timeout_s - monotonic())
        ended_at = signal.at if isinstance(signal, Ready) else monotonic()
        self.init_duration_s = ended_at - self._started_at
        match signal:
            case Ready():
                return None
            case InitError():
                return signal
            case None:
                return InitError("Sandbox.Timedout", f"loading the function took longer than {timeout_s:g} s")
            case _:
                return InitError("Runtime.ExitError", f"the process {signal} while it loaded the function")

    def run(self, request: InvocationRequest, timeout_s: float) -> Ending:
        """Give the process one event and wait for the end of that invocation."""
        self._api.give(request)
        match self._hear(timeout_s):
            case None:
                return TimedOut(timeout_s)
            case Ready():
                raise RuntimeError("load() before run()")
            case ending:
                return ending

    def read_log(self) -> str:
        """Return what was logged since the last reading, so that every line is read once."""
        start, self._log_end = self._log_end, os.fstat(self._output.fileno()).st_size
        # pread, because the process writes at the file's position, which is shared.
        return os.pread(self._output.fileno(), self._log_end - start, start).decode(errors="replace")

    def kill(self) -> None:
        """Kill the process and all that it spawned, and wait until it is gone. Its log stays readable."""
        with suppress(ProcessLookupError, PermissionError):  # nobody is left; on macOS: only zombies are
            os.killpg(self.pid, signal.SIGKILL)
        self._watcher.join()

    def close(self) -> None:
        """Kill the process and give everything back."""
        self.kill()
        self._release()

    def _hear(self, within_s: float) -> Signal | None:
        """Return what the process does next, or None if it does nothing in that time."""
        try:
            return self._signals.get(timeout=max(0.0, within_s))
        except Empty:
            return None

    def _watch(self) -> None:
        returncode = self._child.wait()
        self._ended.set()
        self._signals.put(Exited(returncode))

    def _release(self) -> None:
        self._api.close()
        self._output.close()
