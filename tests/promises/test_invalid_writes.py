"""A write of the handler's own that is invalid is its message's fault; a store that refuses us is an outage."""

import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ParamValidationError
from pynamodb.attributes import UnicodeAttribute
from pynamodb.models import Model

from idempotent_consumer import Backoff, ConditionFailed, Message, Outcome, Settings, Transactional, UnitOfWork
from idempotent_consumer.dynamodb import DynamoDBStore
from idempotent_consumer.errors import InvalidWriteError
from idempotent_consumer.testing import sqs_record
from tests.promises.faults import Wire
from tests.promises.world import Worker, World

URL = "https://sqs.eu-central-1.amazonaws.com/111122223333"
SETTINGS = Settings(queue_urls=(f"{URL}/orders",), dead_letter_queue_url=f"{URL}/dead-letters")
MAX_RECEIVE_COUNT = SETTINGS.max_receive_count


class Order(Model):
    class Meta:
        table_name = "orders"
        region = "eu-central-1"

    order_id = UnicodeAttribute(hash_key=True)


class Queues:
    """Take dead letters and waits, and write them down."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.waits_s: list[int] = []

    def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[Any]) -> Any:  # noqa: N803 - boto3's names
        said = [entry["MessageAttributes"]["dead-letter"]["StringValue"] for entry in Entries]
        self.reasons += [json.loads(each)["reason"] for each in said]
        return {"Successful": [{"Id": entry["Id"], "MessageId": "letter"} for entry in Entries]}

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: Sequence[Any]) -> Any:  # noqa: N803
        self.waits_s += [entry["VisibilityTimeout"] for entry in Entries]
        return {}


@pytest.fixture
def queues() -> Queues:
    return Queues()


@pytest.fixture
def start(table: DynamoDBStore, queues: Queues) -> Callable[..., Worker]:
    """Return what starts a worker with a table of orders."""
    Order.create_table(billing_mode="PAY_PER_REQUEST")

    def start(handler: Any, **options: Any) -> Worker:
        backoff = Backoff(timedelta(seconds=10), timedelta(seconds=10))
        return World(table).worker(
            Transactional(), handler, settings=SETTINGS, sqs=queues, backoff=backoff, name="orders", **options
        )

    return start


def arrival(receive_count: int = 1) -> dict[str, Any]:
    return sqs_record({"id": "1"}, sqs_message_id="s-1", receive_count=receive_count) | {"receiptHandle": "handle"}


def place(message: Message, work: UnitOfWork) -> None:
    work.save(Order(message.id))


def write_twice(message: Message, work: UnitOfWork) -> None:
    """Write an item twice, which only DynamoDB can see."""
    for _ in range(2):
        work.put_item(TableName="orders", Item={"order_id": {"S": "1"}})


def no_longer_valid(wire: Wire) -> None:
    wire.cancel("None", "ValidationError", times=9)


def too_large_a_collection(wire: Wire) -> None:
    wire.cancel("None", "ItemCollectionSizeLimitExceeded", times=9)


def invalid_as_a_whole(wire: Wire) -> None:
    wire.refuse("TransactWriteItems", "ValidationException", times=9)


def nonsense(wire: Wire) -> None:
    wire.refuse("TransactWriteItems", "SerializationException", times=9)


def refused_by_the_sdk(wire: Wire) -> None:
    def refuse(**_: Any) -> None:
        raise ParamValidationError(report="no")

    wire._hook("before-call.dynamodb.TransactWriteItems", refuse)


INVALID = [no_longer_valid, too_large_a_collection, invalid_as_a_whole, nonsense, refused_by_the_sdk]


@pytest.mark.parametrize("happens", INVALID)
def test_an_invalid_write_of_the_handlers_comes_back_after_the_backoff_of_a_failing_handler(
    start: Callable[..., Worker], queues: Queues, wire: Wire, happens: Callable[[Wire], None]
) -> None:
    happens(wire)
    worker = start(place)

    assert worker.deliver(arrival()) == ["s-1"]
    assert worker.outcomes == [Outcome.FAILED]
    assert isinstance(worker.reports[0].error, InvalidWriteError)
    assert wire.operations.count("TransactWriteItems") == 1
    assert 5 <= queues.waits_s[0] <= 10


@pytest.mark.parametrize("happens", INVALID)
def test_an_invalid_write_of_the_handlers_is_given_up_with_its_reason_like_any_failing_handler(
    start: Callable[..., Worker], queues: Queues, wire: Wire, happens: Callable[[Wire], None]
) -> None:
    happens(wire)
    worker = start(place)

    assert worker.deliver(arrival(MAX_RECEIVE_COUNT - 1)) == ["s-1"]
    assert queues.reasons == []
    assert worker.deliver(arrival(MAX_RECEIVE_COUNT)) == []
    assert queues.reasons[0].startswith("InvalidWriteError: ")


def test_what_only_dynamodb_can_see_of_a_write_is_told_in_the_reason(
    start: Callable[..., Worker], queues: Queues
) -> None:
    start(write_twice).deliver(arrival(MAX_RECEIVE_COUNT))

    assert "multiple operations on one item" in queues.reasons[0]


def test_an_invalid_write_is_named_by_its_table(start: Callable[..., Worker], queues: Queues, wire: Wire) -> None:
    no_longer_valid(wire)
    start(place).deliver(arrival(MAX_RECEIVE_COUNT))

    assert "Put on orders: ValidationError" in queues.reasons[0]


def test_an_invalid_write_may_be_rejected_at_once(start: Callable[..., Worker], queues: Queues, wire: Wire) -> None:
    invalid_as_a_whole(wire)
    worker = start(place, reject_on=[InvalidWriteError])

    assert worker.deliver(arrival()) == []
    assert worker.outcomes == [Outcome.REJECTED]


def test_an_invalid_answer_to_a_failed_condition_is_the_handlers_too(
    start: Callable[..., Worker], queues: Queues
) -> None:
    Order("1").save()
    worker = start(lambda message, work: work.save(Order("1"), condition=Order.order_id.does_not_exist()))

    @worker.consumer.on_condition_failed
    def answer(message: Message, work: UnitOfWork, failure: ConditionFailed) -> None:
        write_twice(message, work)

    assert worker.deliver(arrival(MAX_RECEIVE_COUNT)) == []
    assert queues.reasons[0].startswith("InvalidWriteError: ")


@pytest.mark.parametrize("happens", [no_longer_valid, invalid_as_a_whole])
def test_a_commit_whose_answer_was_lost_is_processed_though_its_writes_are_invalid_by_now(
    start: Callable[..., Worker], wire: Wire, happens: Callable[[Wire], None]
) -> None:
    """Such as an update of what the first try has removed."""

    def then_invalid() -> None:
        if wire.operations.count("TransactWriteItems") == 2:
            wire.on_request = lambda: None
            happens(wire)

    wire.lose_answers("TransactWriteItems")
    wire.on_request = then_invalid
    worker = start(place)

    assert worker.deliver(arrival()) == []
    assert worker.outcomes == [Outcome.PROCESSED]
    assert wire.operations.count("TransactWriteItems") == 2


# -- what is nobody's fault among the handlers ------------------------------------------------------


@pytest.mark.parametrize("code", ["AccessDeniedException", "ResourceNotFoundException", "UnrecognizedClientException"])
def test_a_permission_that_is_missing_is_an_outage_and_costs_no_message_its_receives(
    start: Callable[..., Worker], queues: Queues, wire: Wire, code: str
) -> None:
    wire.refuse("TransactWriteItems", code, times=9)
    worker = start(place)

    assert worker.deliver(arrival()) == ["s-1"]
    assert 60 <= queues.waits_s[0] <= 120
    assert worker.deliver(arrival(MAX_RECEIVE_COUNT + 4)) == ["s-1"]
    assert queues.reasons == []


def test_a_record_of_ours_that_is_refused_is_not_the_handlers_fault(
    start: Callable[..., Worker], queues: Queues, wire: Wire
) -> None:
    wire.cancel("ValidationError", "None", times=9)
    worker = start(place)

    assert worker.deliver(arrival(MAX_RECEIVE_COUNT)) == ["s-1"]
    assert queues.reasons == []


def test_where_the_handler_writes_nothing_no_refusal_is_its_fault(
    start: Callable[..., Worker], queues: Queues, wire: Wire
) -> None:
    invalid_as_a_whole(wire)
    worker = start(lambda message, work: None)

    assert worker.deliver(arrival(MAX_RECEIVE_COUNT)) == ["s-1"]
    assert queues.reasons == []
