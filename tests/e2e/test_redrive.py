"""A redrive that is killed and run again loses no message and doubles none, over real queues and real processes."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from idempotent_consumer import (
    DynamoDBStore,
    IdempotentConsumer,
    Lazy,
    Message,
    Outcome,
    UnitOfWork,
    sqs_message_id,
)
from idempotent_consumer.testing import FakeContext, create_processed_messages_table, sqs_event
from tests.e2e.deployment import eventually
from tools.local_aws import LocalAws
from tools.local_aws.clients import Clients, connect
from tools.local_aws.environments import find_environments
from tools.local_aws.ministack import running_ministack

LETTERS = 500
COMMAND = Path(sys.executable).with_name("idempotent-consumer")


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalAws]:
    """Return a local AWS with nothing in it, which everything in this process talks to."""
    with running_ministack(find_environments(), tmp_path) as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        yield running


class Ground:
    """A queue, its dead-letter queue, and what the tests do with them."""

    def __init__(self, aws: LocalAws, clients: Clients, *, fifo: bool = False) -> None:
        self._environment = aws.environment()
        self.sqs = clients.sqs
        ending, attributes = (".fifo", {"FifoQueue": "true"}) if fifo else ("", {})
        self.queue, self.dead_letters = (
            self.sqs.create_queue(QueueName=f"{name}{ending}", Attributes=attributes)["QueueUrl"]  # type: ignore[arg-type]
            for name in ("orders", "orders-dead-letters")
        )
        self.table = create_processed_messages_table(clients.dynamodb)

    def give_up(self, count: int) -> set[str]:
        """
        Put letters into the dead-letter queue, every second one as if SQS had moved it, without a reason.

        Returns:
            The ids by which a consumer is to know their messages.
        """
        known: set[str] = set()
        queue_arn = self.arn(self.queue)
        for first in range(0, count, 10):
            ours = {
                str(at): json.dumps({"reason": "x", "queue_arn": queue_arn, "sqs_message_id": f"first-{first + at}"})
                for at in range(0, 10, 2)
            }
            entries: Any = [{"Id": str(at), "MessageBody": str(first + at)} for at in range(10)]
            for entry in entries:
                if said := ours.get(entry["Id"]):
                    entry["MessageAttributes"] = {"dead-letter": {"DataType": "String", "StringValue": said}}
            sent = self.sqs.send_message_batch(QueueUrl=self.dead_letters, Entries=entries)["Successful"]
            known |= {f"first-{first + at}" for at in range(0, 10, 2)}
            known |= {each["MessageId"] for each in sent if each["Id"] not in ours}
        return known

    def redrive(self, *options: str) -> "subprocess.Popen[str]":
        """Start a redrive in a process of its own."""
        queues = ["--queue-url", self.queue, "--dead-letter-queue-url", self.dead_letters]
        return subprocess.Popen(  # noqa: S603 - our own command
            [str(COMMAND), "redrive", "place-order", "--json", *queues, *options],
            env={"PATH": "/usr/bin:/bin", **self._environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def look(self) -> Any:
        """Return what the command says of the dead letters."""
        done = subprocess.run(  # noqa: S603 - our own command
            [str(COMMAND), "dead-letters", "--json", "--dead-letter-queue-url", self.dead_letters],
            env={"PATH": "/usr/bin:/bin", **self._environment},
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)["letters"]

    def let_sqs_move(self, body: str, queue: str) -> str:
        """Have SQS itself move a message that nobody handles to the dead-letter queue, and return its id."""
        policy = {"deadLetterTargetArn": self.arn(self.dead_letters), "maxReceiveCount": 1}
        self.sqs.set_queue_attributes(QueueUrl=queue, Attributes={"RedrivePolicy": json.dumps(policy)})
        sent = self.sqs.send_message(QueueUrl=queue, MessageBody=body)["MessageId"]
        before = self.waiting(self.dead_letters)

        def is_moved() -> bool:
            self.sqs.receive_message(QueueUrl=queue, VisibilityTimeout=0)
            return self.waiting(self.dead_letters) > before

        eventually(is_moved)
        return sent

    def arn(self, url: str) -> str:
        """Return a queue's ARN."""
        return self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]

    def waiting(self, url: str) -> int:
        """Return how many messages a queue holds, hidden ones included."""
        names: Any = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        return sum(map(int, self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"].values()))

    def records(self) -> Iterator[list[dict[str, Any]]]:
        """Take the messages out of the queue, as Lambda delivers them."""
        queue_arn = self.arn(self.queue)
        while received := self.sqs.receive_message(
            QueueUrl=self.queue, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        ).get("Messages"):
            yield [
                {
                    "messageId": message["MessageId"],
                    "body": message["Body"],
                    "attributes": {"ApproximateReceiveCount": "1"},
                    "messageAttributes": {
                        name: {"dataType": value["DataType"], "stringValue": value["StringValue"]}
                        for name, value in message.get("MessageAttributes", {}).items()
                    },
                    "eventSource": "aws:sqs",
                    "eventSourceARN": queue_arn,
                }
                for message in received
            ]
            receipts: Any = [
                {"Id": str(at), "ReceiptHandle": message["ReceiptHandle"]} for at, message in enumerate(received)
            ]
            self.sqs.delete_message_batch(QueueUrl=self.queue, Entries=receipts)


def test_dead_letters_redriven_by_a_process_that_is_killed_and_run_again_are_each_handled_once(aws: LocalAws) -> None:
    clients = connect(aws)
    ground = Ground(aws, clients)
    known = ground.give_up(LETTERS)
    handled: Counter[str] = Counter()
    outcomes: Counter[Outcome] = Counter()
    consumer = IdempotentConsumer(
        "place-order",
        mode=Lazy(),
        message_id=sqs_message_id(),
        store=DynamoDBStore(ground.table),
        on_outcome=lambda report: outcomes.update([report.outcome]),
    )

    @consumer.handler
    def handle(message: Message, work: UnitOfWork) -> None:
        handled[message.id] += 1

    killed = ground.redrive("--rate", "200")
    eventually(lambda: ground.waiting(ground.queue) >= LETTERS // 5)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    in_the_middle = ground.waiting(ground.queue)
    again = ground.redrive()
    answer, words = again.communicate()

    assert killed.returncode == -signal.SIGKILL
    assert LETTERS // 5 <= in_the_middle < LETTERS
    assert again.returncode == 0, words
    assert json.loads(answer)["failed"] == []
    assert ground.waiting(ground.dead_letters) == 0
    for records in ground.records():
        assert consumer.consume(sqs_event(*records), FakeContext()) == {"batchItemFailures": []}
    assert len(known) == LETTERS
    assert handled == Counter(known)
    assert outcomes[Outcome.PROCESSED] == LETTERS
    assert outcomes.keys() <= {Outcome.PROCESSED, Outcome.DUPLICATE}
    clients.close()


def test_a_redrive_that_is_interrupted_ends_in_between_and_holds_nothing(aws: LocalAws) -> None:
    clients = connect(aws)
    ground = Ground(aws, clients)
    ground.give_up(100)

    interrupted = ground.redrive("--rate", "20")
    eventually(lambda: ground.waiting(ground.queue) >= 20)
    interrupted.send_signal(signal.SIGINT)
    answer, words = interrupted.communicate()
    redriven = json.loads(answer)["redriven"]
    again = ground.redrive()
    rest, _ = again.communicate()

    assert interrupted.returncode == 130, words
    assert 20 <= redriven < 100
    assert again.returncode == 0
    assert json.loads(rest)["redriven"] == 100 - redriven  # none was hidden, and none goes twice
    assert ground.waiting(ground.queue) == 100
    clients.close()


def test_letters_of_a_fifo_queue_keep_their_order_and_none_is_doubled_when_the_redrive_is_killed(aws: LocalAws) -> None:
    clients = connect(aws)
    ground = Ground(aws, clients, fifo=True)
    for number in range(30):
        ground.sqs.send_message(
            QueueUrl=ground.dead_letters,
            MessageBody=f"{number:02}",
            MessageGroupId=f"customer-{number % 3}",
            MessageDeduplicationId=str(number),
        )

    killed = ground.redrive("--rate", "20")
    eventually(lambda: ground.waiting(ground.queue) >= 10)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    again = ground.redrive()
    _, words = again.communicate()
    arrived = [record["body"] for records in ground.records() for record in records]

    assert again.returncode == 0, words
    assert len(arrived) == 30
    for group in range(3):
        assert [body for body in arrived if int(body) % 3 == group] == [f"{at:02}" for at in range(group, 30, 3)]
    clients.close()


def test_a_message_that_sqs_itself_has_moved_is_shown_as_such_and_keeps_its_first_id_on_its_way_back(
    aws: LocalAws,
) -> None:
    clients = connect(aws)
    ground = Ground(aws, clients)
    first_id = ground.let_sqs_move("order", ground.queue)
    (letter,) = ground.look()

    _, words = ground.redrive().communicate()
    ((redriven,),) = ground.records()

    assert (letter["moved_by_sqs"], letter["original_sqs_message_id"]) == (True, first_id)
    assert letter["queue_arn"] == ground.arn(ground.queue)
    assert redriven["messageId"] != first_id, words
    said = json.loads(redriven["messageAttributes"]["dead-letter"]["stringValue"])
    assert said["sqs_message_id"] == first_id
    clients.close()


def test_a_message_that_came_from_another_queue_is_left_where_two_share_their_dead_letters(aws: LocalAws) -> None:
    clients = connect(aws)
    ground = Ground(aws, clients)
    payments = clients.sqs.create_queue(QueueName="payments")["QueueUrl"]
    ground.let_sqs_move("payment", payments)
    ground.let_sqs_move("order", ground.queue)

    work = ground.redrive()
    answer, words = work.communicate()

    assert work.returncode == 0, words
    assert (json.loads(answer)["redriven"], json.loads(answer)["from_elsewhere"]) == (1, 1)
    assert [record["body"] for records in ground.records() for record in records] == ["order"]
    assert [letter["queue_arn"] for letter in ground.look()] == [ground.arn(payments)]
    clients.close()
