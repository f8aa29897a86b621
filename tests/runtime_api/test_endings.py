"""Whatever ends an invocation is seen and told, and the next one works."""

import os
import select
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tools.runtime_api import Exited, FunctionProcess, InitError, Response, TimedOut

Run = Callable[..., FunctionProcess]

MISBEHAVING = """
    import os, signal, subprocess, sys, threading
    count = 0

    def handler(event, context):
        global count
        count += 1
        print("in the handler")
        match event:
            case {"hang": True}:
                threading.Event().wait()
            case {"exit": status}:
                os._exit(status)
            case {"raise_exit": status}:
                sys.exit(status)
            case {"signal": number}:
                os.kill(os.getpid(), number)
            case {"spawn": path}:
                wait_for_ever = [sys.executable, "-c", "import threading; threading.Event().wait()"]
                with open(path, "w") as open_while_alive:
                    subprocess.Popen(wait_for_ever, stdout=open_while_alive)
                threading.Event().wait()
        return count
    """


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_timeout_cuts_the_process_and_the_next_invocation_works(run: Run) -> None:
    process = run(MISBEHAVING)
    process.invoke({}, timeout_s=10)
    pid = process.pid
    assert pid is not None

    cut = process.invoke({"hang": True}, timeout_s=1)
    next_one = process.invoke({}, timeout_s=10)

    assert cut.ending == TimedOut(1)
    assert cut.log == "in the handler\n"
    assert not is_alive(pid)
    assert (next_one.response, next_one.is_cold_start) == (1, True)


def test_a_timeout_also_ends_what_the_function_has_spawned(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "open_while_alive"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        cut = run(MISBEHAVING).invoke({"spawn": str(path)}, timeout_s=2)

        readable, _, _ = select.select([reader], [], [], 60)
        assert cut.ending == TimedOut(2)
        assert readable
        assert os.read(reader, 1) == b""  # the end of the file: nobody holds the other side
    finally:
        os.close(reader)


@pytest.mark.parametrize("event", [{"exit": 3}, {"raise_exit": 3}])
def test_a_process_that_exits_is_seen_with_its_status(run: Run, event: dict[str, int]) -> None:
    process = run(MISBEHAVING)

    crashed, next_one = process.invoke(event, timeout_s=30), process.invoke({}, timeout_s=10)

    assert crashed.ending == Exited(3)
    assert str(crashed.ending) == "exited with status 3"
    assert crashed.log.startswith("in the handler\n")
    assert (next_one.response, next_one.is_cold_start) == (1, True)


def test_a_process_that_is_killed_is_seen_with_the_signal(run: Run) -> None:
    process = run(MISBEHAVING)

    killed, next_one = process.invoke({"signal": signal.SIGKILL}, timeout_s=30), process.invoke({}, timeout_s=10)

    assert isinstance(killed.ending, Exited)
    assert killed.ending.signal is signal.SIGKILL
    assert str(killed.ending) == "was killed by SIGKILL"
    assert (next_one.response, next_one.is_cold_start) == (1, True)


def test_a_process_that_dies_between_invocations_is_replaced(run: Run) -> None:
    process = run(MISBEHAVING)
    process.invoke({}, timeout_s=10)
    pid = process.pid
    assert pid is not None

    os.kill(pid, signal.SIGKILL)
    while process.pid is not None:  # until its end has been noticed
        os.sched_yield()
    invocation = process.invoke({}, timeout_s=10)

    assert (invocation.response, invocation.is_cold_start) == (1, True)
    assert process.pid != pid


@pytest.mark.parametrize(
    ("source", "error_type", "message"),
    [
        ("import no_such_module", "Runtime.ImportModuleError", "No module named 'no_such_module'"),
        ("def handler(:", "Runtime.UserCodeSyntaxError", "Syntax error in module 'app'"),
        ("nothing = 1", "Runtime.HandlerNotFound", "Handler 'handler' missing on module 'app'"),
        ("raise ValueError('ORDERS_TABLE is not set')", "ValueError", "ORDERS_TABLE is not set"),
        ("import os; os._exit(5)", "Runtime.ExitError", "the process exited with status 5"),
    ],
)
def test_a_function_that_does_not_load_says_why(run: Run, source: str, error_type: str, message: str) -> None:
    invocation = run(source).invoke({}, timeout_s=30)

    assert isinstance(invocation.ending, InitError)
    assert invocation.ending.error_type == error_type
    assert message in invocation.ending.message


def test_a_function_that_loads_for_ever_is_cut(run: Run) -> None:
    process = run("import threading; threading.Event().wait()", init_timeout_s=1)

    invocation = process.invoke({}, timeout_s=30)

    assert isinstance(invocation.ending, InitError)
    assert invocation.ending.error_type == "Sandbox.Timedout"
    assert process.pid is None


def test_a_function_that_did_not_load_is_loaded_again_at_the_next_invocation(run: Run, tmp_path: Path) -> None:
    process = run("""
        import pathlib

        if not pathlib.Path("settings").exists():
            raise RuntimeError("no settings yet")

        def handler(event, context):
            return "loaded"
        """)

    before = process.invoke({}, timeout_s=10)
    (tmp_path / "function" / "settings").touch()
    after = process.invoke({}, timeout_s=10)

    assert isinstance(before.ending, InitError)
    assert isinstance(after.ending, Response)


def test_close_ends_an_invocation_under_way_too(run: Run, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    process = run("""
        import threading

        def handler(event, context):
            print("in the handler")
            open(event["begun"], "w").close()  # waits until the other end is open
            threading.Event().wait()
        """)
    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(process.invoke, {"begun": str(begun)}, timeout_s=60)
        begun.open().close()

        process.close()

    invocation = under_way.result()
    assert invocation.ending == Exited(-signal.SIGKILL)
    assert invocation.log == "in the handler\n"
    assert process.pid is None


def test_close_ends_the_process_and_a_closed_one_can_start_anew(run: Run) -> None:
    process = run(MISBEHAVING)
    process.start()
    pid = process.pid
    assert pid is not None

    process.close()

    assert not is_alive(pid)
    assert process.invoke({}, timeout_s=10).response == 1
