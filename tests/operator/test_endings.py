"""Whatever ends a command is one line that says what to do, and an exit code."""

import os
import signal
import threading

import pytest
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ProfileNotFound,
    ReadTimeoutError,
)

from idempotent_consumer_operator.errors import OperatorError, translated
from idempotent_consumer_operator.stopping import stopping_in_between
from tests.operator.conftest import Account, Command


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "Operation")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NoCredentialsError(), 4),
        (EndpointConnectionError(endpoint_url="https://sqs.example"), 4),
        (ReadTimeoutError(endpoint_url="https://sqs.example"), 4),
        (refusal("AccessDenied"), 4),
        (refusal("ThrottlingException"), 4),
        (refusal("AWS.SimpleQueueService.NonExistentQueue"), 3),
        (refusal("QueueDoesNotExist"), 3),
        (refusal("ResourceNotFoundException"), 3),
        (NoRegionError(), 2),
        (ProfileNotFound(profile="nobody"), 2),
    ],
)
def test_what_aws_says_has_a_code_and_one_line(error: Exception, code: int) -> None:
    with pytest.raises(OperatorError) as ended, translated():
        raise error

    assert ended.value.exit_code == code
    assert len(str(ended.value).splitlines()) == 1


def test_a_profile_that_is_not_there_is_said(command: Command) -> None:
    seen = command("status", "place-order", "o-1", "--profile", "nobody")

    assert seen.code == 2
    assert "nobody" in seen.err
    assert "Traceback" not in seen.err


def test_an_endpoint_that_is_no_url_is_said(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "nonsense")

    seen = command("status", "place-order", "o-1")

    assert seen.code == 2
    assert "AWS_ENDPOINT_URL" in seen.err


def test_a_table_that_is_not_there_is_not_found(command: Command) -> None:
    seen = command("status", "place-order", "o-1", "--table", "of-nobody")

    assert seen.code == 3
    assert "no such table" in seen.err


def test_an_interruption_at_the_question_leaves_everything_as_it_is(
    aws: Account, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)

    assert command("stuck").code == 130


def test_the_first_signal_is_noted_and_the_second_ends() -> None:
    with stopping_in_between() as stop:
        os.kill(os.getpid(), signal.SIGTERM)

        assert stop.is_requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_afterwards_signals_mean_what_they_did_before() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    with stopping_in_between():
        assert signal.getsignal(signal.SIGINT) != before[0]

    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_in_another_thread_no_signal_is_touched() -> None:
    seen: list[bool] = []

    def look() -> None:
        before = signal.getsignal(signal.SIGINT)
        with stopping_in_between() as stop:
            seen.append(signal.getsignal(signal.SIGINT) == before and not stop.is_requested)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()

    assert seen == [True]


@pytest.mark.parametrize("name", ["status", "stuck", "forget", "dead-letters", "redrive", "send", "cost"])
def test_every_command_explains_itself(command: Command, name: str) -> None:
    seen = command(name, "--help")

    assert seen.code == 0
    assert "--json" in seen.out
