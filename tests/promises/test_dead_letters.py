"""What can never succeed, or has failed too often, goes to the dead-letter queue with its reason, and nothing else."""

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any

import boto3
import pytest
from botocore.exceptions import ConnectTimeoutError
from moto import mock_aws

from idempotent_consumer import (
    Eager,
    Lazy,
    Message,
    Natural,
    Outcome,
    Reject,
    Settings,
    Transactional,
    UnitOfWork,
    attribute,
    body_field,
    deduplication_id,
    sqs_message_id,
)
from idempotent_consumer.modes import Mode
from idempotent_consumer.testing import InMemoryStore, sqs_record
from tests.promises.faults import FaultyStore
from tests.promises.world import Worker, World

ARN = "arn:aws:sqs:eu-central-1:111122223333:orders"
FIFO = f"{ARN}.fifo"
MODES = [Lazy(), Eager(), Transactional(), Natural()]


class InvalidOrderError(Exception):
    """Say that an order can never be handled."""


class DeadLetterQueue:
    """A dead-letter queue, and what is in it."""

    def __init__(self, *, fifo: bool = False) -> None:
        self.sqs = boto3.client("sqs", region_name="eu-central-1")
        attributes = {"FifoQueue": "true"} if fifo else {}
        name = "dead-letters.fifo" if fifo else "dead-letters"
        self.url = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        self.settings = Settings(dead_letter_queue_url=self.url)

    def worker(self, mode: Mode, handler: Any, world: World | None = None, **options: Any) -> Worker:
        options = {"settings": self.settings, "sqs": self.sqs, **options}
        return (world or World(InMemoryStore())).worker(mode, handler, **options)

    def letters(self) -> list[dict[str, Any]]:
        """Take out what there is; a group gives its next letters only when the last are deleted."""
        found: list[dict[str, Any]] = []
        while batch := self.sqs.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], AttributeNames=["All"]
        ).get("Messages"):
            found += batch
            for letter in batch:
                self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=letter["ReceiptHandle"])
        return found

    def reasons(self) -> list[str]:
        return [explained(letter)["reason"] for letter in self.letters()]


def explained(letter: dict[str, Any]) -> dict[str, Any]:
    return json.loads(letter["MessageAttributes"]["dead-letter"]["StringValue"])


def redriven(letter: dict[str, Any], sqs_message_id: str, queue_arn: str = ARN) -> dict[str, Any]:
    """Return the record of a letter that was sent back to its queue as it is."""
    record = sqs_record(letter["Body"], sqs_message_id=sqs_message_id, queue_arn=queue_arn, group_id="g")
    record["attributes"]["MessageDeduplicationId"] = f"redrive-{sqs_message_id}"
    record["messageAttributes"] = {
        name: {"stringValue": attribute["StringValue"], "dataType": attribute["DataType"]}
        for name, attribute in letter["MessageAttributes"].items()
    }
    return record


def records(ids: Sequence[str], **options: Any) -> list[dict[str, Any]]:
    return [sqs_record({"id": one}, sqs_message_id=f"m{one}", **options) for one in ids]


def raise_on(ids: str, error: type[Exception] = ValueError) -> Any:
    def handle(message: Message, work: UnitOfWork) -> None:
        if message.json()["id"] in ids:
            raise error(f"cannot handle {message.json()['id']}")

    return handle


@pytest.fixture
def letters() -> Iterator[DeadLetterQueue]:
    with mock_aws():
        yield DeadLetterQueue()


@pytest.fixture
def fifo_letters() -> Iterator[DeadLetterQueue]:
    with mock_aws():
        yield DeadLetterQueue(fifo=True)


# -- who is given up ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_rejected_message_is_dead_lettered_at_its_first_delivery_and_acknowledged(
    letters: DeadLetterQueue, mode: Mode
) -> None:
    worker = letters.worker(mode, raise_on("b", InvalidOrderError), reject_on=[InvalidOrderError])

    assert worker.deliver(*records("abc")) == []
    assert worker.outcomes == [Outcome.PROCESSED, Outcome.REJECTED, Outcome.PROCESSED]
    assert [report.dead_lettered for report in worker.reports] == [False, True, False]
    assert letters.reasons() == ["InvalidOrderError: cannot handle b"]


def test_everything_that_can_never_succeed_is_dead_lettered_with_its_reason(letters: DeadLetterQueue) -> None:
    def handle(message: Message, work: UnitOfWork) -> None:
        if message.body.endswith("reject }"):
            raise Reject("we said so")

    worker = letters.worker(Lazy(), handle, message_id=attribute("message-id"), parse=json.loads)
    worker.deliver(sqs_record('{"a": 1}', attributes={"message-id": "1"}))

    came_back = worker.deliver(
        sqs_record("{}"),
        sqs_record("no json", attributes={"message-id": "2"}),
        sqs_record('{"a": 2}', attributes={"message-id": "1"}),
        sqs_record('{"b": "reject }', attributes={"message-id": "3"}),
    )

    assert came_back == []
    assert sorted(reason.partition(":")[0] for reason in letters.reasons()) == [
        "FingerprintMismatchError",
        "MissingMessageIdError",
        "UnreadableMessageError",
        "UnreadableMessageError",
    ]


@pytest.mark.parametrize("mode", MODES)
def test_a_message_whose_handler_raises_at_its_last_receive_is_dead_lettered_and_not_before(
    letters: DeadLetterQueue, mode: Mode
) -> None:
    worker = letters.worker(mode, raise_on("a"))

    assert worker.deliver(*records("a", receive_count=4)) == ["ma"]
    assert letters.letters() == []
    assert worker.deliver(*records("a", receive_count=5)) == []
    assert letters.reasons() == ["ValueError: cannot handle a"]


def test_a_message_that_never_ran_is_not_given_up_however_often_it_came(letters: DeadLetterQueue) -> None:
    store = FaultyStore(InMemoryStore())
    store.fail("look_up")
    worker = letters.worker(Lazy(), raise_on(""), World(store))

    assert worker.deliver(*records("a", receive_count=99)) == ["ma"]
    assert letters.letters() == []


def test_a_message_that_is_in_flight_or_put_off_is_not_given_up_however_often_it_came(letters: DeadLetterQueue) -> None:
    world = World(InMemoryStore())
    world.dying_worker(Eager()).deliver(*records("a"))
    worker = letters.worker(Eager(), raise_on(""), world)

    assert worker.deliver(*records("a", receive_count=99)) == ["ma"]
    assert worker.outcomes == [Outcome.IN_FLIGHT]
    assert letters.letters() == []


def test_an_effect_that_could_not_be_recorded_is_not_given_up(letters: DeadLetterQueue) -> None:
    store = FaultyStore(InMemoryStore())
    store.fail("complete")
    worker = letters.worker(Eager(), raise_on(""), World(store))

    assert worker.deliver(*records("a", receive_count=99)) == ["ma"]
    assert worker.outcomes == [Outcome.UNRECORDED]
    assert letters.letters() == []


def test_only_the_first_of_equal_deliveries_is_dead_lettered_and_the_other_comes_back(letters: DeadLetterQueue) -> None:
    first = sqs_record({"id": "a"}, sqs_message_id="first", receive_count=5)
    second = sqs_record({"id": "a"}, sqs_message_id="second", receive_count=2)
    worker = letters.worker(Lazy(), raise_on("a"))

    assert worker.deliver(second, first) == ["second"]
    assert [explained(letter)["sqs_message_id"] for letter in letters.letters()] == ["first"]


# -- copy first -----------------------------------------------------------------------------------------------


def test_without_a_dead_letter_queue_what_is_rejected_is_reported_as_failed() -> None:
    worker = World(InMemoryStore()).worker(Lazy(), raise_on("a", InvalidOrderError), reject_on=[InvalidOrderError])

    assert worker.deliver(*records("ab", receive_count=9)) == ["ma"]


def test_a_copy_that_fails_leaves_the_message_in_its_queue(
    letters: DeadLetterQueue, capsys: pytest.CaptureFixture[str]
) -> None:
    letters.sqs.delete_queue(QueueUrl=letters.url)
    worker = letters.worker(Lazy(), raise_on("a", InvalidOrderError), name="unlucky", reject_on=[InvalidOrderError])

    assert worker.deliver(*records("ab")) == ["ma"]
    assert [report.dead_lettered for report in worker.reports] == [False, False]
    assert "not copied to the dead-letter queue" in capsys.readouterr().out


def test_each_copy_is_answered_for_by_itself(letters: DeadLetterQueue) -> None:
    """One of a batch that SQS refuses comes back; its neighbours are dead-lettered."""
    worker = letters.worker(Lazy(), raise_on("abc", InvalidOrderError), reject_on=[InvalidOrderError])
    bad = sqs_record({"id": "b"}, sqs_message_id="mb", attributes={f"a{number}": "x" for number in range(10)})

    assert worker.deliver(*records("a"), bad, *records("c")) == ["mb"]
    assert sorted(explained(letter)["sqs_message_id"] for letter in letters.letters()) == ["ma", "mc"]


def test_a_batch_of_dead_letters_is_copied_in_tens(letters: DeadLetterQueue) -> None:
    requests: list[int] = []
    letters.sqs.meta.events.register(
        "provide-client-params.sqs.SendMessageBatch", lambda params, **_: requests.append(len(params["Entries"]))
    )
    worker = letters.worker(Lazy(), raise_on(""))

    assert worker.deliver(*[sqs_record("no json") for _ in range(25)]) == []
    assert requests == [10, 10, 5]


def test_without_time_for_it_nothing_is_copied_and_the_log_says_so(
    letters: DeadLetterQueue, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = letters.worker(
        Lazy(), raise_on("a", InvalidOrderError), reject_on=[InvalidOrderError], name="without-time-for-letters"
    )

    assert worker.deliver(*records("a"), remaining_ms=3_000) == ["ma"]
    assert letters.letters() == []
    assert '"too little time left"' in capsys.readouterr().out


# -- what a letter says ---------------------------------------------------------------------------------------


def test_a_letter_has_the_message_as_it_was_and_explains_itself(letters: DeadLetterQueue) -> None:
    record = sqs_record(
        {"id": "a"}, sqs_message_id="m-1", attributes={"kind": "order", "raw": b"\x00\xff"}, receive_count=5
    )
    record["messageAttributes"]["n"] = {"stringValue": "007", "dataType": "Number.int", "binaryValue": None}
    worker = letters.worker(Lazy(), raise_on("a"), name="place-order")
    worker.clock.sleep_ms(1_000)

    worker.deliver(record)

    (letter,) = letters.letters()
    attributes = letter["MessageAttributes"]
    assert letter["Body"] == '{"id": "a"}'
    assert attributes["kind"] == {"DataType": "String", "StringValue": "order"}
    assert attributes["n"] == {"DataType": "Number.int", "StringValue": "007"}
    assert attributes["raw"] == {"DataType": "Binary", "BinaryValue": b"\x00\xff"}
    said = explained(letter)
    assert said.pop("at").endswith("+00:00")
    assert said == {
        "reason": "ValueError: cannot handle a",
        "error": "ValueError",
        "outcome": "FAILED",
        "consumer": "place-order",
        "key": "place-order#a",
        "receive_count": 5,
        "queue_arn": ARN,
        "sqs_message_id": "m-1",
        "deduplication_id": None,
    }


def test_an_envelope_is_copied_unopened(letters: DeadLetterQueue) -> None:
    body = base64.b64encode(b'{"id": "a"}').decode()
    worker = letters.worker(
        Lazy(),
        raise_on("a", InvalidOrderError),
        reject_on=[InvalidOrderError],
        envelope=lambda text: base64.b64decode(text).decode(),
    )

    worker.deliver(sqs_record(body))

    assert [letter["Body"] for letter in letters.letters()] == [body]


@pytest.mark.parametrize("reason", ["bell \x07 and \x00", "lone \ud83d", "line\nbreak", "x" * 100_000, "\uffff"])
def test_whatever_a_reason_holds_the_letter_is_written(letters: DeadLetterQueue, reason: str) -> None:
    def reject(message: Message, work: UnitOfWork) -> None:
        raise Reject(reason)

    worker = letters.worker(Natural(), reject)

    assert worker.deliver(*records("a")) == []
    assert len(letters.reasons()[0]) <= 500


@pytest.mark.parametrize(
    "spoiled",
    [
        {"messageAttributes": {f"a{number}": {"stringValue": "x", "dataType": "String"} for number in range(10)}},
        {"body": json.dumps({"id": "a", "padding": "x" * 1_048_500})},
        {"messageAttributes": {"raw": {"binaryValue": "no base64!", "dataType": "Binary"}}},
        {"body": None},
        {"body": ""},
    ],
)
def test_where_there_is_no_room_for_the_first_ids_or_something_would_be_lost_nothing_is_copied(
    letters: DeadLetterQueue, spoiled: dict[str, Any]
) -> None:
    worker = letters.worker(Lazy(), raise_on("a", InvalidOrderError), reject_on=[InvalidOrderError])

    assert worker.deliver({**records("a")[0], **spoiled}) == ["ma"]
    assert letters.letters() == []


# -- FIFO -----------------------------------------------------------------------------------------------------


def fifo(ids: str, group: str = "g", **options: Any) -> list[dict[str, Any]]:
    return records(ids, group_id=group, deduplication_id="business", queue_arn=FIFO, **options)


@pytest.mark.parametrize("mode", MODES)
def test_a_group_goes_on_past_its_dead_letter_in_order(fifo_letters: DeadLetterQueue, mode: Mode) -> None:
    worker = fifo_letters.worker(mode, raise_on("a"))

    assert worker.deliver(*fifo("abcde", receive_count=5)) == []
    assert worker.outcomes == [Outcome.FAILED] + [Outcome.PROCESSED] * 4
    assert worker.handled == (list("abcde") if mode.remembers else ["ma", "mb", "mc", "md", "me"])
    assert fifo_letters.reasons() == ["ValueError: cannot handle a"]


def test_a_group_of_five_whose_first_fails_for_ever_loses_only_the_first(fifo_letters: DeadLetterQueue) -> None:
    """The others come along at each of its receives, untried; one of them fails once and still gets its tries."""
    failures = {"a": 5, "c": 1}

    def handle(message: Message, work: UnitOfWork) -> None:
        if failures.get(message.id, 0):
            failures[message.id] -= 1
            raise ValueError(f"cannot handle {message.id}")

    worker = fifo_letters.worker(Lazy(), handle)
    left = "abcde"
    for receive_count in range(1, 8):
        came_back = worker.deliver(*fifo(left, receive_count=receive_count)) if left else []
        left = "".join(name.removeprefix("m") for name in came_back)

    assert left == ""
    assert worker.handled == ["a", "a", "a", "a", "a", "b", "c", "c", "d", "e"]
    assert fifo_letters.reasons() == ["ValueError: cannot handle a"]


def test_a_follower_that_fails_once_in_that_invocation_still_gets_its_tries(fifo_letters: DeadLetterQueue) -> None:
    worker = fifo_letters.worker(Lazy(), raise_on("ab"))

    assert worker.deliver(*fifo("abc", receive_count=5)) == ["mb", "mc"]
    assert fifo_letters.reasons() == ["ValueError: cannot handle a"]
    assert worker.deliver(*fifo("bc", receive_count=6)) == []
    assert fifo_letters.reasons() == ["ValueError: cannot handle b"]


@pytest.mark.parametrize("mode", MODES)
def test_letters_of_a_group_are_written_in_its_order(fifo_letters: DeadLetterQueue, mode: Mode) -> None:
    """The unreadable one is known for it at once; its turn comes after the one before it all the same."""
    worker = fifo_letters.worker(
        mode, raise_on("a", InvalidOrderError), reject_on=[InvalidOrderError], parse=json.loads
    )
    unreadable = sqs_record("no json", sqs_message_id="mb", group_id="g", queue_arn=FIFO)

    assert worker.deliver(*fifo("a"), unreadable, *fifo("c")) == []
    assert [explained(letter)["sqs_message_id"] for letter in fifo_letters.letters()] == ["ma", "mb"]


def test_what_stands_behind_a_failure_is_not_dead_lettered_before_its_turn(fifo_letters: DeadLetterQueue) -> None:
    worker = fifo_letters.worker(Lazy(), raise_on("a"), parse=json.loads)
    unreadable = sqs_record("no json", sqs_message_id="mb", group_id="g", queue_arn=FIFO)

    assert worker.deliver(*fifo("a"), unreadable) == ["ma", "mb"]
    assert fifo_letters.letters() == []


def test_a_group_waits_for_an_equal_delivery_that_comes_back(fifo_letters: DeadLetterQueue) -> None:
    again = sqs_record({"id": "a"}, sqs_message_id="again", group_id="g", queue_arn=FIFO)
    worker = fifo_letters.worker(Lazy(), raise_on("a"))

    assert worker.deliver(*fifo("a", receive_count=5), again, *fifo("b")) == ["again", "mb"]


def test_a_second_letter_of_one_business_id_is_not_swallowed(fifo_letters: DeadLetterQueue) -> None:
    worker = fifo_letters.worker(Lazy(), raise_on("a", InvalidOrderError), reject_on=[InvalidOrderError])

    for name in ("first", "second"):
        worker.deliver({**fifo("a")[0], "messageId": name})

    assert [explained(letter)["sqs_message_id"] for letter in fifo_letters.letters()] == ["first", "second"]


# -- redriven -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [Lazy(), Eager(), Transactional()])
def test_a_message_that_is_redriven_after_a_fix_is_handled_like_a_new_one(letters: DeadLetterQueue, mode: Mode) -> None:
    world = World(InMemoryStore())
    letters.worker(mode, raise_on("a", InvalidOrderError), world, reject_on=[InvalidOrderError]).deliver(*records("a"))
    (letter,) = letters.letters()
    fixed = letters.worker(mode, raise_on(""), world)

    assert fixed.deliver(redriven(letter, "new")) == []
    assert (fixed.handled, fixed.outcomes) == (["a"], [Outcome.PROCESSED])


@pytest.mark.parametrize("strategy", [sqs_message_id(), deduplication_id()])
def test_two_letters_of_one_message_are_one_message_after_their_redrive(
    fifo_letters: DeadLetterQueue, strategy: Any
) -> None:
    """The process died between the copy and the acknowledgement; the message came again and was copied again."""
    world = World(InMemoryStore())
    options = {"message_id": strategy, "reject_on": [InvalidOrderError]}
    broken = fifo_letters.worker(Lazy(), raise_on("a", InvalidOrderError), world, **options)
    broken.deliver(*fifo("a"))
    first = fifo_letters.letters()[0]
    record = redriven(first, "second-letter", FIFO)
    fixed = fifo_letters.worker(Lazy(), raise_on(""), world, **options)

    assert fixed.deliver(redriven(first, "redriven-1", FIFO), record) == []
    assert len(fixed.handled) == 1


def test_a_redriven_message_that_is_dead_lettered_again_keeps_its_first_ids(fifo_letters: DeadLetterQueue) -> None:
    worker = fifo_letters.worker(Lazy(), raise_on("a", InvalidOrderError), reject_on=[InvalidOrderError])
    worker.deliver(*fifo("a"))

    worker.deliver(redriven(fifo_letters.letters()[0], "redriven", FIFO))

    said = explained(fifo_letters.letters()[0])
    assert (said["sqs_message_id"], said["deduplication_id"]) == ("ma", "business")


@pytest.mark.parametrize("odd", ["", "no json", "[]", "null", '{"sqs_message_id": 7}', '{"sqs_message_id": ""}'])
def test_a_letter_that_explains_nothing_leaves_the_ids_to_sqs(odd: str) -> None:
    record = sqs_record({"id": "a"}, sqs_message_id="m-1", attributes={"dead-letter": odd})
    worker = World(InMemoryStore()).worker(Lazy(), message_id=sqs_message_id())

    worker.deliver(record)

    assert worker.handled == ["m-1"]


def test_a_business_id_is_that_of_the_message_wherever_it_went(letters: DeadLetterQueue) -> None:
    world = World(InMemoryStore())
    letters.worker(Lazy(), raise_on("a", InvalidOrderError), world, reject_on=[InvalidOrderError]).deliver(
        *records("a")
    )
    fixed = letters.worker(Lazy(), raise_on(""), world, message_id=body_field("id"))

    assert fixed.deliver(redriven(letters.letters()[0], "new"), *records("a")) == []
    assert fixed.handled == ["a"]


# -- odd neighbours, large letters, a queue out of reach ------------------------------------------------------


class SlowSqs:
    """Take letters, or give no answer, each after some time."""

    def __init__(self, took_ms: int, *, answers: bool = True, fail_at: int = 0) -> None:
        self.took_ms = took_ms
        self.answers = answers
        self.fail_at = fail_at
        self.requests = 0
        self.letters: list[dict[str, Any]] = []
        self.clock: Any = None

    def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[dict[str, Any]]) -> Any:  # noqa: N803 - boto3's
        self.requests += 1
        self.clock.sleep_ms(self.took_ms)
        if self.requests == self.fail_at:
            raise OSError("odd")
        if not self.answers:
            raise ConnectTimeoutError(endpoint_url=QueueUrl)
        self.letters += Entries
        return {"Successful": [{"Id": entry["Id"], "MessageId": "letter"} for entry in Entries]}

    def worker(self, handler: Any = None, **options: Any) -> Worker:
        settings = Settings(dead_letter_queue_url="https://sqs.example/1/dead-letters")
        handler = handler or (lambda message, work: None)
        one = World(InMemoryStore()).worker(Lazy(), handler, settings=settings, sqs=self, **options)
        self.clock = one.clock
        return one


@pytest.mark.parametrize(
    "odd",
    [
        {"a\ud800": {"stringValue": "x", "dataType": "String"}},
        {"a": {"stringValue": "x", "dataType": "String\ud800"}},
        {7: {"stringValue": "x", "dataType": "String"}},
    ],
)
def test_an_attribute_that_cannot_be_copied_keeps_no_neighbour_from_its_letter(odd: Any) -> None:
    sqs = SlowSqs(0)
    bad = sqs_record({"id": None}, sqs_message_id="bad") | {"messageAttributes": odd}
    worker = sqs.worker()

    came_back = worker.deliver(*[sqs_record({"id": None}, sqs_message_id=f"m{number}") for number in range(5)], bad)

    assert came_back == ["bad"]
    assert len(sqs.letters) == 5


def test_each_request_for_large_letters_is_made_only_if_there_is_time_for_it() -> None:
    sqs = SlowSqs(2_900)
    worker = sqs.worker()
    large = [sqs_record("x" * 900_000, sqs_message_id=f"m{number}") for number in range(6)]
    ends_ms = worker.clock.now_ms() + 10_000

    came_back = worker.deliver(*large, remaining_ms=10_000)

    assert worker.clock.now_ms() < ends_ms
    assert 0 < len(sqs.letters) == 6 - len(came_back) < 6


def test_letters_that_were_taken_are_acknowledged_whatever_becomes_of_the_next() -> None:
    sqs = SlowSqs(0, fail_at=2)
    worker = sqs.worker()

    came_back = worker.deliver(*[sqs_record("x" * 900_000, sqs_message_id=f"m{number}") for number in range(3)])

    assert len(sqs.letters) == 2
    assert [report.dead_lettered for report in worker.reports].count(True) == 2
    assert len(came_back) == 1


def test_letters_that_were_taken_are_acknowledged_even_if_sqs_does_not_say_how_it_calls_them() -> None:
    class Terse(SlowSqs):
        def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[dict[str, Any]]) -> Any:  # noqa: N803 - boto3's
            super().send_message_batch(QueueUrl=QueueUrl, Entries=Entries)
            return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}

    sqs = Terse(0)

    assert sqs.worker().deliver(*[sqs_record("{}", sqs_message_id=f"m{number}") for number in range(3)]) == []
    assert len(sqs.letters) == 3


def test_a_dead_letter_queue_out_of_reach_does_not_take_the_time_of_the_messages() -> None:
    sqs = SlowSqs(1_000, answers=False)
    worker = sqs.worker()
    poison = [sqs_record("{}", sqs_message_id=f"p{number}", receive_count=3) for number in range(30)]
    good = [sqs_record({"id": str(number)}, sqs_message_id=f"g{number}") for number in range(70)]

    came_back = worker.deliver(*poison, *good)

    assert sorted(came_back) == sorted(f"p{number}" for number in range(30))
    assert len(worker.handled) == 70


def test_new_messages_that_carry_another_queues_letter_are_not_taken_for_one(letters: DeadLetterQueue) -> None:
    """A consumer upstream passes a redriven message on with all its attributes, as several."""
    said = {"reason": "r", "queue_arn": "arn:aws:sqs:eu-central-1:111122223333:upstream", "sqs_message_id": "first"}
    worker = letters.worker(Lazy(), lambda message, work: None, message_id=sqs_message_id())
    passed_on = [
        sqs_record("tick", sqs_message_id=f"new-{number}", attributes={"dead-letter": json.dumps(said)})
        for number in range(3)
    ]

    assert worker.deliver(*passed_on) == []
    assert sorted(worker.handled) == ["new-0", "new-1", "new-2"]
