"""SQS's own move is started with a destination, and only where no message becomes a new one unawares."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from idempotent_consumer_operator.choosing import Choice
from idempotent_consumer_operator.errors import AwsError, OperatorError
from idempotent_consumer_operator.moving import check_letters, start_move
from idempotent_consumer_operator.queues import Queue
from tests.operator.redriving import Ground

SOURCE, DESTINATION = "arn:aws:sqs:eu-central-1:111122223333:dead", "arn:aws:sqs:eu-central-1:111122223333:orders"


def stubbed() -> tuple[Any, Stubber]:
    client = boto3.client("sqs", region_name="eu-central-1")
    return client, Stubber(client)


@pytest.mark.parametrize(("per_second", "asked"), [(None, {}), (20, {"MaxNumberOfMessagesPerSecond": 20})])
def test_the_destination_is_always_named(per_second: int | None, asked: dict[str, int]) -> None:
    client, stubber = stubbed()
    expected = {"SourceArn": SOURCE, "DestinationArn": DESTINATION, **asked}
    stubber.add_response("start_message_move_task", {"TaskHandle": "handle"}, expected)

    with stubber:
        assert start_move(client, SOURCE, DESTINATION, per_second) == "handle"
    stubber.assert_no_pending_responses()


def test_a_move_that_is_under_way_is_told_from_other_refusals() -> None:
    client, stubber = stubbed()
    message = "There is already a task running. Only one active task is allowed for a source queue arn at a given time."
    stubber.add_client_error("start_message_move_task", "AWS.SimpleQueueService.UnsupportedOperation", message)
    stubber.add_client_error("start_message_move_task", "AccessDenied", "no")

    with stubber:
        with pytest.raises(OperatorError, match="under way already") as under_way:
            start_move(client, SOURCE, DESTINATION, None)
        with pytest.raises(AwsError, match="AccessDenied"):
            start_move(client, SOURCE, DESTINATION, None)
    assert under_way.value.exit_code == 1


def test_letters_that_all_carry_their_ids_may_be_moved_and_are_let_go() -> None:
    ground = Ground()
    for number in range(12):
        ground.give_up(f"order {number}")
    client: Any = ground.sqs

    check_letters(Queue(client, ground.dead_letters), Choice(), ground.clock)

    assert len(ground.sqs.visible(ground.dead_letters)) == 12


def test_one_letter_without_ids_is_enough_to_refuse() -> None:
    ground = Ground()
    for number in range(12):
        ground.give_up(f"order {number}")
    nameless = ground.sqs.put(ground.dead_letters, "order 12")
    client: Any = ground.sqs

    with pytest.raises(OperatorError, match=nameless):
        check_letters(Queue(client, ground.dead_letters), Choice(), ground.clock)

    assert len(ground.sqs.visible(ground.dead_letters)) == 13


def test_a_letter_of_another_queue_is_not_moved_to_this_one() -> None:
    ground = Ground()
    ground.give_up("order", queue_arn="arn:aws:sqs:::payments")
    client: Any = ground.sqs

    with pytest.raises(OperatorError, match="arn:aws:sqs:::payments"):
        check_letters(Queue(client, ground.dead_letters), Choice(queue_arn="arn:aws:sqs:::orders"), ground.clock)

    assert ground.sqs.visible(ground.dead_letters) == ["order"]


def test_letters_that_cannot_be_looked_at_are_not_taken_to_be_well() -> None:
    held, behind = Ground(), Ground(fifo=True)
    held.sqs.put(held.dead_letters, "order")
    held.sqs.receive_message(QueueUrl=held.dead_letters, MaxNumberOfMessages=1, VisibilityTimeout=600)
    for number in range(10):
        behind.give_up(str(number), group="customer")
    behind.sqs.put(behind.dead_letters, "10", system={"MessageGroupId": "customer"})

    for ground in (held, behind):
        client: Any = ground.sqs
        with pytest.raises(OperatorError, match="about 1 letters could not be looked at"):
            check_letters(Queue(client, ground.dead_letters), Choice(), ground.clock)
