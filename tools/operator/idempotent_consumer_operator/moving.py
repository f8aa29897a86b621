"""
Let SQS itself move all dead letters back, in the background.

Every message gets a new SQS message id, and a consumer that knows messages by the old one would take them for new. Our
own dead letters carry the old ids with them; those that SQS has moved do not.

Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from idempotent_consumer.clock import Clock
from idempotent_consumer_operator.browsing import Browser
from idempotent_consumer_operator.choosing import Choice
from idempotent_consumer_operator.errors import OperatorError, translated
from idempotent_consumer_operator.letters import DeadLetter
from idempotent_consumer_operator.queues import Queue

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

LIMITS = (
    "SQS moves up to 500 messages a second, for up to 36 hours, one task for each queue, from queues that are the "
    "dead-letter queue of another one, to a queue of the same kind"
)
FASTEST = 500

_WHAT_THEN = (
    "moved back plainly it is a new message to sqs_message_id() and deduplication_id(). Redrive without --move, which "
    "adds them, or add --accept-new-ids if the consumer's id is in the message itself"
)


def check_letters(dead_letters: Queue, choice: Choice, clock: Clock) -> None:
    """
    Look through a dead-letter queue for what a plain move would make a new message of, or bring to the wrong queue.

    Args:
        dead_letters: the queue.
        choice: says where letters have to come from.
        clock: the time.

    Raises:
        OperatorError: there is such a letter; or there are some that could not be looked at.
    """
    with Browser(dead_letters, clock) as browser:
        for letters in browser.letters():
            browser.leave(letters)
            for letter in letters:
                _check(letter, choice)
        if unseen := browser.unseen():
            raise OperatorError(
                f"about {unseen:,} letters could not be looked at, which others hold or which are behind others of "
                f"their FIFO group; if one of them carries no ids, {_WHAT_THEN}"
            )


def _check(letter: DeadLetter, choice: Choice) -> None:
    if choice.is_from_elsewhere(letter):
        raise OperatorError(
            f"the letter {letter.sqs_message_id} comes from another queue, {letter.queue_arn}: redrive without --move, "
            "or add --from-any-queue if it is the same one by another name"
        )
    if letter.explanation is None:
        raise OperatorError(
            f"the letter {letter.sqs_message_id} carries no ids, as one that SQS has moved: {_WHAT_THEN}"
        )


def start_move(sqs: SQSClient, source_arn: str, destination_arn: str, per_second: int | None) -> str:
    """
    Start the task; the destination is always named, because without one SQS would choose for each message.

    Returns:
        The handle by which the task can be cancelled.

    Raises:
        OperatorError: a task is under way already.
        AwsError: SQS refuses.
    """
    rate: dict[str, Any] = {} if per_second is None else {"MaxNumberOfMessagesPerSecond": per_second}
    with translated():
        try:
            answer = sqs.start_message_move_task(SourceArn=source_arn, DestinationArn=destination_arn, **rate)
        except ClientError as error:
            if "already" in error.response["Error"].get("Message", "").lower():
                raise OperatorError(f"a move is under way already, and SQS makes one at a time: {error}") from error
            raise
    return answer["TaskHandle"]
