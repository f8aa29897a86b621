"""Every message is sent or answered for, whatever becomes of its request, and no group loses its order."""

from typing import Any

import pytest
from botocore.exceptions import (
    ConnectTimeoutError,
    NoCredentialsError,
    ParamValidationError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from idempotent_consumer.clock import Deadline
from idempotent_consumer.errors import ConfigurationError
from idempotent_consumer.sending import make_client, send_entries
from idempotent_consumer.settings import (
    CONNECT_TIMEOUT_S,
    MOST_SENDING_TRIES,
    PAUSE_CAP_MS,
    READ_TIMEOUT_S,
    STORE_BUDGET_MS,
)
from idempotent_consumer.targets import NO_ANSWER, NotTaken, QueueTarget, Taken
from idempotent_consumer.testing import FakeClock
from tests.unit.fake_sqs import (
    LOST,
    NOBODY_THERE,
    FakeSqs,
    entry,
    failing_with,
    refusal,
    refusing,
    send,
    silent_about,
    taken,
)

# -- Refused entries ------------------------------------------------------------------------------


def test_an_entry_that_may_pass_is_sent_again_under_the_same_fields_and_alone() -> None:
    sqs = FakeSqs(refusing("b"), refusing("b"))

    assert send(sqs, "a", "b", "c") == taken("a", "b", "c")
    assert sqs.asked == [["a", "b", "c"], ["b"], ["b"]]
    of_b = sqs.requests[0][1]
    assert [{**entry, "Id": of_b["Id"]} for (entry,) in sqs.requests[1:]] == [of_b, of_b]  # `Id` is the request's own


def test_an_entry_that_is_the_senders_fault_is_not_sent_again() -> None:
    sqs = FakeSqs(refusing("b", code="InvalidMessageContents", sender_fault=True))

    assert send(sqs, "a", "b", "c") == [Taken("sqs-a"), NotTaken("InvalidMessageContents", "no"), Taken("sqs-c")]
    assert len(sqs.requests) == 1


@pytest.mark.parametrize("code", ["RequestThrottled", "ThrottlingException", "KmsThrottled"])
def test_a_throttled_entry_is_sent_again_whosever_fault_it_is(code: str) -> None:
    sqs = FakeSqs(refusing("a", code=code, sender_fault=True))

    assert send(sqs, "a") == taken("a")


def test_of_ten_messages_with_two_refused_one_is_tried_again_and_one_given_up() -> None:
    def answer(sqs: FakeSqs, entries: Any) -> Any:
        one = refusing("3")(sqs, entries[:5])
        other = refusing("7", code="InvalidMessageContents", sender_fault=True)(sqs, entries[5:])
        return {member: [*one[member], *other[member]] for member in ("Successful", "Failed")}

    sqs = FakeSqs(answer)
    answers = send(sqs, *"0123456789")

    assert sqs.asked[1:] == [["3"]]
    assert answers.pop(7) == NotTaken("InvalidMessageContents", "no")
    assert answers == taken(*"012345689")


def test_an_entry_that_nothing_is_said_of_may_have_arrived_and_is_sent_again() -> None:
    sqs = FakeSqs(silent_about("b"))

    assert send(sqs, "a", "b") == taken("a", "b")
    assert sqs.asked == [["a", "b"], ["b"]]


@pytest.mark.parametrize("said", [{}, {"MessageId": None}])
def test_a_message_that_sqs_has_taken_is_taken_even_if_sqs_does_not_say_how_it_calls_it(said: Any) -> None:
    sqs = FakeSqs(lambda _, entries: {"Successful": [{"Id": entry["Id"], **said} for entry in entries]})

    assert send(sqs, "a", "b") == [Taken(""), Taken("")]
    assert sqs.asked == [["a", "b"]]


def test_an_entry_that_nothing_is_ever_said_of_harms_no_neighbour() -> None:
    sqs = FakeSqs(silent_about("b"), for_ever=True)

    one, other, third = send(sqs, "a", "b", "c")

    assert isinstance(other, NotTaken)
    assert (other.code, other.may_have_arrived) == (NO_ANSWER, True)
    assert [one, third] == taken("a", "c")


# -- Requests that fail as a whole ----------------------------------------------------------------


@pytest.mark.parametrize(
    "failure",
    [LOST, NOBODY_THERE, ResponseParserError("half"), refusal("InternalError", 500), refusal("RequestThrottled", 403)],
    ids=str,
)
def test_a_request_without_a_good_answer_is_made_again_as_it_was(failure: Exception) -> None:
    sqs = FakeSqs(failure, failure)

    assert send(sqs, "a", "b") == taken("a", "b")
    assert sqs.requests[0] == sqs.requests[1] == sqs.requests[2]


@pytest.mark.parametrize(
    ("failure", "may_have_arrived"),
    [
        (LOST, True),
        (ResponseParserError("half"), True),
        (SSLError(endpoint_url="https://sqs.example", error="cut off"), True),
        (refusal("ServiceUnavailable", 503), True),
        (NOBODY_THERE, False),
        (ConnectTimeoutError(endpoint_url="https://sqs.example"), False),
        (refusal("RequestThrottled", 403), False),
        (refusal("AccessDenied", 403), False),
        (NoCredentialsError(), False),
    ],
    ids=str,
)
def test_what_stays_without_a_good_answer_is_said_to_have_arrived_perhaps(
    failure: Exception, may_have_arrived: bool
) -> None:
    (answer,) = send(FakeSqs(failure, for_ever=True), "a")

    assert isinstance(answer, NotTaken)
    assert answer.may_have_arrived == may_have_arrived


@pytest.mark.parametrize(
    "later", [refusal("AccessDenied", 403), refusal("RequestThrottled", 403), NOBODY_THERE], ids=str
)
def test_a_refusal_does_not_undo_that_an_earlier_try_may_have_arrived(later: Exception) -> None:
    answers = send(FakeSqs(LOST, later, for_ever=True), "a", "b")

    assert [isinstance(each, NotTaken) and each.may_have_arrived for each in answers] == [True, True]


@pytest.mark.parametrize(("code", "status"), [("InvalidParameterValue", 400), ("InternalFailure", 500)])
def test_an_entry_for_which_whole_requests_fail_harms_no_neighbour(code: str, status: int) -> None:
    sqs = FakeSqs(failing_with("b", refusal(code, status)), for_ever=True)

    one, other, third = send(sqs, "a", "b", "c")

    assert other == NotTaken(code, "no", may_have_arrived=status == 500)
    assert [one, third] == taken("a", "c")


def test_an_entry_that_boto3_does_not_take_harms_no_neighbour() -> None:
    sqs = FakeSqs(failing_with("b", ParamValidationError(report="no such member")), for_ever=True)

    assert [isinstance(each, Taken) for each in send(sqs, "a", "b", "c")] == [True, False, True]


@pytest.mark.parametrize(
    "code", ["AccessDenied", "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "KmsDisabled"]
)
def test_a_refusal_that_every_message_would_meet_is_met_once(code: str) -> None:
    sqs = FakeSqs(refusal(code, 403), for_ever=True)

    assert send(sqs, "a", "b") == [NotTaken(code, "no")] * 2
    assert len(sqs.requests) == 1


# -- How often and how long -----------------------------------------------------------------------


@pytest.mark.parametrize("failure", [LOST, refusal("RequestThrottled", 403)], ids=str)
def test_tries_and_their_pauses_are_bounded(failure: Exception) -> None:
    clock, sqs = FakeClock(now_ms=0), FakeSqs(failure, for_ever=True)

    list(send_entries(QueueTarget(sqs, "queue"), [entry("a"), entry("b")], Deadline(clock)))  # type: ignore[arg-type]

    assert len(sqs.requests) == MOST_SENDING_TRIES
    assert 0 < clock.now_ms() <= (MOST_SENDING_TRIES - 1) * PAUSE_CAP_MS


def test_no_try_begins_after_the_budget() -> None:
    clock, began_ms = FakeClock(now_ms=0), []

    def hang(sqs: FakeSqs, entries: Any) -> Any:
        began_ms.append(clock.now_ms())
        clock.sleep_ms(3_000)
        raise LOST

    list(send_entries(QueueTarget(FakeSqs(hang, for_ever=True), "queue"), [entry("a")], Deadline(clock)))  # type: ignore[arg-type]

    assert len(began_ms) >= 3
    assert began_ms[-1] < STORE_BUDGET_MS


def test_with_no_time_left_a_message_is_tried_once() -> None:
    sqs = FakeSqs(LOST, for_ever=True)

    send(sqs, "a", left_ms=0)

    assert len(sqs.requests) == 1


def test_with_no_time_left_a_request_that_failed_is_not_taken_apart() -> None:
    sqs = FakeSqs(refusal("InternalFailure", 500), for_ever=True)

    send(sqs, "a", "b", left_ms=0)

    assert sqs.asked == [["a", "b"]]


# -- The client -----------------------------------------------------------------------------------


def test_the_client_gives_up_within_seconds_and_leaves_trying_again_to_us() -> None:
    config = make_client().meta.config

    assert (config.connect_timeout, config.read_timeout) == (CONNECT_TIMEOUT_S, READ_TIMEOUT_S)
    assert config.retries["total_max_attempts"] == 1


def test_the_client_goes_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")

    assert make_client().meta.endpoint_url == "http://127.0.0.1:4566"


def test_without_a_region_the_client_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")

    with pytest.raises(ConfigurationError, match="AWS_DEFAULT_REGION"):
        make_client()
