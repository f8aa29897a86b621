"""The commands about dead letters, as a person and a script meet them."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from tests.operator.conftest import Account, Command


def test_letters_are_listed_with_their_reasons_and_are_there_afterwards(aws: Account, command: Command) -> None:
    aws.give_up("a", key="place-order#a", receive_count=5, outcome="FAILED", at="2026-01-01T00:00:00+00:00")
    aws.sqs.send_message(QueueUrl=aws.dead_letter_queue_url, MessageBody="b")

    seen = command("dead-letters", "--json")

    assert seen.code == 0
    assert "receive counts" in seen.err
    ours, wordless = sorted(seen.document["letters"], key=lambda letter: letter["key"] is None)
    assert (ours["reason"], ours["error"], ours["key"]) == ("InvalidOrder: no lines", "InvalidOrder", "place-order#a")
    assert (ours["outcome"], ours["receive_count"]) == ("FAILED", 5)
    assert (ours["at"], ours["original_sqs_message_id"]) == ("2026-01-01T00:00:00+00:00", "first")
    assert wordless["reason"] == "it does not say why it is here"
    assert aws.visible(aws.dead_letter_queue_url) == ["a", "b"]


def test_bodies_are_shown_only_where_they_are_asked_for(aws: Account, command: Command) -> None:
    aws.give_up("a secret")

    assert "a secret" not in command("dead-letters").out + command("dead-letters", "--json").out
    assert "a secret" in command("dead-letters", "--bodies").out
    assert command("dead-letters", "--bodies", "--json").document["letters"][0]["body"] == "a secret"


def test_letters_are_counted_by_what_they_share_the_most_frequent_first(aws: Account, command: Command) -> None:
    for number in range(3):
        aws.give_up(str(number), reason="OutOfStock: tea", error="OutOfStock")
    aws.give_up("3")

    groups = command("dead-letters", "--by", "error", "--json").document["groups"]

    assert [(group["error"], group["letters"]) for group in groups] == [("OutOfStock", 3), ("InvalidOrder", 1)]
    assert "OutOfStock: tea" in command("dead-letters", "--by", "reason").out


def test_no_more_letters_are_received_than_the_limit_needs(aws: Account, command: Command) -> None:
    for number in range(25):
        aws.give_up(str(number))

    document = command("dead-letters", "--limit", "7", "--json").document

    assert len(document["letters"]) == 7
    assert document["about"] == 25


def test_what_a_letter_holds_is_neither_markup_nor_moves_the_cursor(aws: Account, command: Command) -> None:
    aws.give_up("a", reason="[bold]not bold[/] \x1b[2Jgone \u202e", error="[/]")

    seen = command("dead-letters")

    assert "[bold]not bold[/]" in seen.out
    assert "\x1b" not in seen.out
    assert "\u202e" not in seen.out


def test_an_empty_queue_is_said_to_be_empty(command: Command) -> None:
    seen = command("dead-letters")

    assert seen.code == 0
    assert "no dead letters" in seen.out


def test_interrupted_it_shows_what_it_has_and_lets_all_letters_go(
    aws: Account, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(15):
        aws.give_up(str(number))
    call = BaseClient._make_api_call

    def call_and_interrupt(client: Any, name: str, parameters: Any) -> Any:
        answer = call(client, name, parameters)
        if name == "ReceiveMessage":
            os.kill(os.getpid(), signal.SIGINT)
        return answer

    monkeypatch.setattr(BaseClient, "_make_api_call", call_and_interrupt)
    seen = command("dead-letters", "--json")

    assert seen.code == 130
    assert len(seen.document["letters"]) == 10
    attributes = aws.sqs.get_queue_attributes(QueueUrl=aws.dead_letter_queue_url, AttributeNames=["All"])
    assert attributes["Attributes"]["ApproximateNumberOfMessages"] == "15"


# -- redrive ------------------------------------------------------------------------------------------


def test_a_redrive_says_what_it_did(aws: Account, command: Command) -> None:
    aws.give_up("a")
    aws.give_up("b", error="OutOfStock")

    seen = command("redrive", "place-order", "--error", "InvalidOrder", "--json")

    assert seen.code == 0
    left = {"skipped": 1, "from_elsewhere": 0, "returned": 0, "failed": [], "unseen": 0}
    assert seen.document == {"redriven": 1, "dry_run": False, **left}
    assert aws.visible(aws.queue_url) == ["a"]
    assert aws.visible(aws.dead_letter_queue_url) == ["b"]


def test_a_letter_that_stays_is_named_and_makes_the_code_one(aws: Account, command: Command) -> None:
    attributes: Any = {f"attribute-{number}": {"DataType": "String", "StringValue": "x"} for number in range(10)}
    aws.sqs.send_message(QueueUrl=aws.dead_letter_queue_url, MessageBody="a", MessageAttributes=attributes)

    seen = command("redrive", "place-order")

    assert seen.code == 1
    assert "0 redriven, 0 skipped, 1 failed" in seen.out
    assert "--drop-identity" in seen.out
    assert aws.visible(aws.dead_letter_queue_url) == ["a"]


def test_letters_that_could_not_be_seen_make_the_code_one(aws: Account, command: Command) -> None:
    for body in ("a", "b", "c"):
        aws.give_up(body)
    aws.sqs.receive_message(QueueUrl=aws.dead_letter_queue_url, VisibilityTimeout=600)  # another reader

    seen = command("redrive", "place-order", "--wait", "0", "--json")

    assert seen.code == 1
    assert (seen.document["redriven"], seen.document["unseen"]) == (2, 1)
    assert "about 1 more" in seen.err


def test_letters_behind_the_limit_are_no_failure(aws: Account, command: Command) -> None:
    for body in ("a", "b", "c"):
        aws.give_up(body)

    assert command("redrive", "place-order", "--limit", "2").code == 0


def test_letters_of_another_queue_are_left_unless_all_are_wanted(aws: Account, command: Command) -> None:
    queue = aws.sqs.get_queue_attributes(QueueUrl=aws.queue_url, AttributeNames=["QueueArn"])["Attributes"]
    aws.give_up("of orders", queue_arn=queue["QueueArn"])
    aws.give_up("of payments", queue_arn="arn:aws:sqs:eu-central-1:123456789012:payments")

    seen = command("redrive", "place-order", "--json")

    assert seen.code == 0
    assert (seen.document["redriven"], seen.document["from_elsewhere"]) == (1, 1)
    assert "--from-any-queue" in seen.err
    assert aws.visible(aws.queue_url) == ["of orders"]
    assert aws.visible(aws.dead_letter_queue_url) == ["of payments"]
    assert command("redrive", "place-order", "--from-any-queue", "--json").document["redriven"] == 1


def test_where_deleting_is_not_permitted_what_was_sent_is_named(
    aws: Account, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws.give_up("a")
    call = BaseClient._make_api_call

    def call_or_refuse(client: Any, name: str, parameters: Any) -> Any:
        if name == "DeleteMessageBatch":
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, name)
        return call(client, name, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", call_or_refuse)
    seen = command("redrive", "place-order", "--json")

    assert seen.code == 4
    assert "AccessDenied" in seen.err
    assert (seen.document["redriven"], [failure["is_sent"] for failure in seen.document["failed"]]) == (1, [True])
    assert (
        "1 redriven, 0 skipped, 0 failed. 1 of those redriven are not deleted." in command("redrive", "place-order").out
    )
    assert aws.visible(aws.dead_letter_queue_url) == ["a"]


def test_binary_attributes_survive_a_redrive(aws: Account, command: Command) -> None:
    attributes: Any = {"thumbnail": {"DataType": "Binary.png", "BinaryValue": b"\x00\xff"}}
    aws.sqs.send_message(QueueUrl=aws.dead_letter_queue_url, MessageBody="a", MessageAttributes=attributes)

    command("redrive", "place-order")

    (message,) = aws.sqs.receive_message(QueueUrl=aws.queue_url, MessageAttributeNames=["All"])["Messages"]
    assert message["MessageAttributes"]["thumbnail"]["BinaryValue"] == b"\x00\xff"
    assert message["MessageAttributes"]["thumbnail"]["DataType"] == "Binary.png"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--move", "--reason", "x"], "--move takes all letters"),
        (["--move", "--dry-run"], "--move takes all letters"),
        (["--move", "--rate", "0.5"], "whole number from 1 to 500"),
        (["--accept-new-ids"], "goes with --move only"),
        (["--dead-letter-queue-url", "https://sqs.example/orders.fifo"], "one of the queues is FIFO"),
    ],
)
def test_what_does_not_go_together_is_refused(command: Command, options: list[str], words: str) -> None:
    seen = command("redrive", "place-order", *options)

    assert seen.code == 2
    assert words in seen.err


def test_a_queue_is_not_redriven_to_itself(aws: Account, command: Command) -> None:
    assert command("redrive", "place-order", "--queue-url", aws.dead_letter_queue_url).code == 2


def test_a_plain_move_is_refused_while_there_is_a_letter_without_ids(aws: Account, command: Command) -> None:
    aws.give_up("a")
    aws.sqs.send_message(QueueUrl=aws.dead_letter_queue_url, MessageBody="b")

    seen = command("redrive", "place-order", "--move")

    assert seen.code == 1
    assert "--accept-new-ids" in seen.err
    assert aws.visible(aws.dead_letter_queue_url) == ["a", "b"]


def test_a_move_names_both_queues_and_says_how_to_watch_and_stop_it(
    aws: Account, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws.give_up("a")
    call = BaseClient._make_api_call
    asked: list[Any] = []

    def call_or_move(client: Any, name: str, parameters: Any) -> Any:
        if name != "StartMessageMoveTask":  # moto has none
            return call(client, name, parameters)
        asked.append(parameters)
        return {"TaskHandle": "the-handle"}

    monkeypatch.setattr(BaseClient, "_make_api_call", call_or_move)
    seen = command("redrive", "place-order", "--move", "--rate", "20")

    assert seen.code == 0
    (parameters,) = asked
    assert parameters["SourceArn"].endswith(":orders-dead-letters")
    assert parameters["DestinationArn"].endswith(":orders")
    assert parameters["MaxNumberOfMessagesPerSecond"] == 20
    assert "cancel-message-move-task --task-handle the-handle" in seen.out
    assert "36 hours" in seen.err


def test_a_queue_that_is_not_there_has_the_code_of_what_is_not_found(aws: Account, command: Command) -> None:
    seen = command("dead-letters", "--dead-letter-queue-url", f"{aws.queue_url}-of-nobody")

    assert seen.code == 3
    assert "no such queue" in seen.err


# -- send ---------------------------------------------------------------------------------------------


def test_one_message_is_sent_with_its_id_and_attributes(aws: Account, command: Command) -> None:
    seen = command("send", "place-order", '{"a": 1}', "--message-id", "o-1", "--attribute", "source=a=b", "--json")

    assert seen.code == 0
    (sent,) = seen.document["sent"]
    (message,) = aws.sqs.receive_message(QueueUrl=aws.queue_url, MessageAttributeNames=["All"])["Messages"]
    assert (sent["message_id"], sent["sqs_message_id"]) == ("o-1", message["MessageId"])
    assert message["Body"] == '{"a": 1}'
    values = {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
    assert values == {"message-id": "o-1", "source": "a=b"}


def test_each_line_of_a_file_is_sent(aws: Account, command: Command, tmp_path: Path) -> None:
    lines = [{"message_id": f"o-{number}", "body": {"number": number}} for number in range(12)]
    file = tmp_path / "messages.jsonl"
    file.write_text("\n\n".join(map(json.dumps, lines)), encoding="utf-8")

    seen = command("send", "place-order", "--file", str(file), "--json")

    assert [each["message_id"] for each in seen.document["sent"]] == [line["message_id"] for line in lines]
    attributes = aws.sqs.get_queue_attributes(QueueUrl=aws.queue_url, AttributeNames=["All"])["Attributes"]
    assert attributes["ApproximateNumberOfMessages"] == "12"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2 is not JSON"),
        ("[]", "line 2 is no JSON object"),
        ('{"body": "x"}', "line 2: message_id is missing"),
        ('{"message_id": "x"}', "line 2: body is missing"),
        ('{"message_id": "x", "body": "x", "bodie": 1}', "line 2: there is no field 'bodie'"),
        ('{"message_id": "x", "body": "x", "delay_seconds": true}', "line 2: delay_seconds is no number"),
        ('{"message_id": "x", "body": "x", "attributes": []}', "line 2: attributes is no object"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_nothing_is_sent(
    aws: Account, command: Command, line: str, words: str
) -> None:
    seen = command("send", "place-order", "--file", "-", answer=f'{{"message_id": "o-1", "body": "x"}}\n{line}\n')

    assert seen.code == 2
    assert words in seen.err
    assert aws.visible(aws.queue_url) == []


def test_a_message_that_sqs_would_refuse_is_named_and_the_others_are_sent(aws: Account, command: Command) -> None:
    lines = [
        {"message_id": "o-1", "body": "a"},
        {"message_id": "o-2", "body": "\x00"},
        {"message_id": "o-3", "body": "c"},
    ]

    seen = command("send", "place-order", "--file", "-", "--json", answer="\n".join(map(json.dumps, lines)))

    assert seen.code == 1
    assert [each["message_id"] for each in seen.document["sent"]] == ["o-1", "o-3"]
    assert [each["message_id"] for each in seen.document["failed"]] == ["o-2"]
    assert aws.visible(aws.queue_url) == ["a", "c"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["body"], "--message-id"),
        (["--message-id", "o-1"], "give the body"),
        (["body", "--message-id", "o-1", "--attribute", "name"], "NAME=VALUE"),
        (["body", "--file", "-"], "everything about the messages is in the file"),
        (["--file", "-"], "no messages"),
    ],
)
def test_what_is_missing_of_a_message_is_said(command: Command, arguments: list[str], words: str) -> None:
    seen = command("send", "place-order", *arguments)

    assert seen.code == 2
    assert words in seen.err
