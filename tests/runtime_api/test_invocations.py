"""What a function meets, and what its caller gets back while it does as it should."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tools.runtime_api import Function, FunctionError, FunctionProcess, NoResponseError, Response

Run = Callable[..., FunctionProcess]


def test_an_event_goes_in_and_the_response_comes_out(run: Run) -> None:
    process = run("""
        def handler(event, context):
            return {"echo": event}
        """)

    invocation = process.invoke({"Records": [{"body": "ä €"}]}, timeout_s=10)

    assert isinstance(invocation.ending, Response)
    assert invocation.response == {"echo": {"Records": [{"body": "ä €"}]}}


def test_a_warm_process_keeps_the_state_of_its_modules(run: Run) -> None:
    process = run("""
        import os
        count = 0

        def handler(event, context):
            global count
            count += 1
            return {"pid": os.getpid(), "count": count}
        """)

    first, second = process.invoke({}, timeout_s=10), process.invoke({}, timeout_s=10)

    assert (first.response["count"], second.response["count"]) == (1, 2)
    assert first.response["pid"] == second.response["pid"] == process.pid
    assert (first.is_cold_start, second.is_cold_start) == (True, False)


def test_an_exception_is_reported_and_the_same_process_serves_on(run: Run) -> None:
    process = run("""
        import os

        def handler(event, context):
            return os.getpid() if event["is_good"] else refuse()

        def refuse():
            raise LookupError("no such order")
        """)

    before = process.invoke({"is_good": True}, timeout_s=10)
    raised = process.invoke({"is_good": False}, timeout_s=10)
    after = process.invoke({"is_good": True}, timeout_s=10)

    assert isinstance(raised.ending, FunctionError)
    assert (raised.ending.error_type, raised.ending.message) == ("LookupError", "no such order")
    assert "in refuse" in raised.ending.stack[-1]
    assert before.response == after.response


def test_asking_for_a_response_that_was_not_given_says_what_happened(run: Run) -> None:
    process = run("""
        def handler(event, context):
            print("about to fail")
            raise LookupError("no such order")
        """)

    invocation = process.invoke({}, timeout_s=10)

    with pytest.raises(NoResponseError, match=r"(?s)raised LookupError: no such order.*about to fail"):
        _ = invocation.response


def test_each_invocation_has_its_own_log(run: Run) -> None:
    process = run("""
        import sys
        print("loading")

        def handler(event, context):
            print(event["say"])
            print("and an error", file=sys.stderr)
        """)

    first, second = process.invoke({"say": "one"}, timeout_s=10), process.invoke({"say": "zwölf"}, timeout_s=10)

    assert (first.init_log, first.log) == ("loading\n", "one\nand an error\n")
    assert (second.init_log, second.log) == ("", "zwölf\nand an error\n")


def test_a_function_that_logs_much_is_neither_held_up_nor_cut_short(run: Run) -> None:
    more_than_a_pipe_holds = 1_000_000
    process = run(f"""
        def handler(event, context):
            print("x" * {more_than_a_pipe_holds})
        """)

    invocation = process.invoke({}, timeout_s=30)

    assert isinstance(invocation.ending, Response)
    assert len(invocation.log) == more_than_a_pipe_holds + 1


def test_the_context_knows_the_time_left_and_who_was_invoked(run: Run) -> None:
    process = run(
        """
        def handler(event, context):
            return {
                "left_ms": context.get_remaining_time_in_millis(),
                "arn": context.invoked_function_arn,
                "name": context.function_name,
                "request_id": context.aws_request_id,
            }
        """,
        region="eu-central-1",
    )
    process.invoke({}, timeout_s=900)

    before = time.monotonic()
    invocation = process.invoke({}, timeout_s=60)
    elapsed_ms = (time.monotonic() - before) * 1000

    assert 60_000 - elapsed_ms - 1 <= invocation.response["left_ms"] <= 60_000
    assert invocation.response["arn"] == "arn:aws:lambda:eu-central-1:123456789012:function:sample"
    assert invocation.response["name"] == "sample"
    assert invocation.response["request_id"] == invocation.request_id


def test_a_function_sees_its_own_environment_and_not_that_of_its_caller(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAME_OF_THE_CALLER", "somebody")
    process = run(
        """
        import os

        def handler(event, context):
            return dict(os.environ)
        """,
        environment={"ORDERS_TABLE": "orders", "AWS_ACCESS_KEY_ID": "key"},
        region="eu-central-1",
    )

    environment = process.invoke({}, timeout_s=10).response

    assert "NAME_OF_THE_CALLER" not in environment
    assert (environment["ORDERS_TABLE"], environment["AWS_ACCESS_KEY_ID"]) == ("orders", "key")
    assert environment["AWS_LAMBDA_FUNCTION_NAME"] == "sample"
    assert environment["_HANDLER"] == "app.handler"
    assert environment["AWS_REGION"] == environment["AWS_DEFAULT_REGION"] == "eu-central-1"


def test_own_code_comes_before_the_layer_and_the_layer_before_what_is_installed(run: Run, tmp_path: Path) -> None:
    layer = tmp_path / "layer"
    layer.mkdir()
    (layer / "app.py").write_text("raise ImportError('the layer hides the function')")
    (layer / "yaml.py").write_text("ORIGIN = 'the layer'")
    process = run(
        """
        import yaml

        def handler(event, context):
            return yaml.ORIGIN
        """,
        layers=(layer,),
    )

    assert process.invoke({}, timeout_s=10).response == "the layer"


def test_a_process_runs_one_invocation_at_a_time(run: Run, tmp_path: Path) -> None:
    begun, go_on = tmp_path / "begun", tmp_path / "go_on"
    os.mkfifo(begun)
    os.mkfifo(go_on)
    process = run("""
        def handler(event, context):
            open(event["begun"], "w").close()  # each waits until the other end is open
            open(event["go_on"]).close()
        """)
    event = {"begun": str(begun), "go_on": str(go_on)}
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(process.invoke, event, timeout_s=60)
        begun.open().close()

        with pytest.raises(RuntimeError, match="one FunctionProcess for each thread"):
            process.invoke({}, timeout_s=10)

        go_on.open("w").close()

    assert isinstance(first.result().ending, Response)


def test_a_function_without_code_is_refused_when_it_is_described(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="no_such_folder"):
        Function(name="sample", handler="app.handler", folder=tmp_path / "no_such_folder")
