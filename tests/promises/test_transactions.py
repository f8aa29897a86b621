"""What transactional mode promises: the writes and the record together, once, whatever crashes."""

import threading
from typing import Any, ClassVar

import pytest
from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.models import Model

from idempotent_consumer import ConditionFailed, Eager, Lazy, Message, Natural, Outcome, Transactional, UnitOfWork
from idempotent_consumer.dynamodb import DynamoDBStore
from idempotent_consumer.errors import FailedCondition, SecondWriteError, TooManyWritesError, WritesNotAllowedError
from idempotent_consumer.modes import Mode
from idempotent_consumer.testing import sqs_record
from tests.promises.faults import FaultyStore, Wire
from tests.promises.world import Handler, Worker, World


class Order(Model):
    class Meta:
        table_name = "orders"
        region = "eu-central-1"

    order_id = UnicodeAttribute(hash_key=True)
    status = UnicodeAttribute(default="PLACED")


class Stock(Model):
    class Meta:
        table_name = "stock"
        region = "eu-central-1"

    sku = UnicodeAttribute(hash_key=True)
    quantity = NumberAttribute()


def place(message: Message, work: UnitOfWork) -> None:
    """Place an order: the order is new, and the stock suffices."""
    work.save(Order(message.id), condition=Order.order_id.does_not_exist())
    work.update(Stock("tea"), [Stock.quantity.set(Stock.quantity - 1)], condition=Stock.quantity >= 1)


@pytest.fixture
def shop(table: DynamoDBStore) -> World:
    """Return a world with a table of orders, and five of one article in stock."""
    for model in (Order, Stock):
        model.create_table(billing_mode="PAY_PER_REQUEST")
    Stock("tea", quantity=5).save()
    return World(table)


def arrival(id_: str = "1", **options: Any) -> dict[str, Any]:
    return sqs_record({"id": id_}, **options)


def effects() -> tuple[list[str], int]:
    """Return the ids of the orders there are, and what is left in stock."""
    return sorted(order.order_id for order in Order.scan()), int(Stock.get("tea").quantity)


def test_the_writes_and_the_record_are_one_transaction(shop: World, wire: Wire) -> None:
    worker = shop.worker(Transactional(), place)

    worker.deliver(arrival())

    assert effects() == (["1"], 4)
    assert wire.operations == ["BatchGetItem", "TransactWriteItems"]


def test_redelivered_and_sent_again_the_writes_happen_exactly_once(shop: World) -> None:
    worker, other = shop.worker(Transactional(), place), shop.worker(Transactional(), place)

    for one in (worker, other, worker):
        one.deliver(arrival())

    assert effects() == (["1"], 4)


def test_of_two_workers_at_once_one_commits_and_the_other_leaves_no_effect(shop: World) -> None:
    other = shop.worker(Transactional(), place)

    def meanwhile(message: Message, work: UnitOfWork) -> None:
        other.deliver(arrival())
        place(message, work)

    worker = shop.worker(Transactional(), meanwhile)
    worker.deliver(arrival())

    assert (other.outcomes, worker.outcomes) == ([Outcome.PROCESSED], [Outcome.DUPLICATE])
    assert effects() == (["1"], 4)


def test_a_crash_between_handler_and_commit_leaves_no_effect_and_the_next_delivery_makes_exactly_one(
    shop: World,
) -> None:
    shop.dying_worker(Transactional(), place).deliver(arrival())
    assert effects() == ([], 5)

    shop.worker(Transactional(), place).deliver(arrival())
    assert effects() == (["1"], 4)


def test_a_commit_that_failed_shows_no_write_and_the_next_delivery_makes_one(shop: World) -> None:
    store = FaultyStore(shop.store)
    store.fail("commit")
    worker = shop.worker(Transactional(), place, store=store)

    worker.deliver(arrival())
    assert worker.outcomes == [Outcome.FAILED]
    assert effects() == ([], 5)

    store.heal()
    worker.deliver(arrival())
    assert effects() == (["1"], 4)


def test_a_commit_whose_answers_were_all_lost_is_recognised_at_the_next_delivery(shop: World) -> None:
    store = FaultyStore(shop.store)
    store.fail("commit", applied=True)
    worker = shop.worker(Transactional(), place, store=store)
    worker.deliver(arrival())
    store.heal()

    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.DUPLICATE]
    assert effects() == (["1"], 4)


def test_a_commit_whose_answer_was_lost_is_processed_and_not_blamed_on_the_handlers_condition(
    shop: World, wire: Wire
) -> None:
    """On the second try our condition and the handler's `does_not_exist` both meet what the first has written."""
    wire.lose_answers("TransactWriteItems")
    worker = shop.worker(Transactional(), place)

    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.PROCESSED]
    assert effects() == (["1"], 4)


def test_ones_own_commit_is_recognised_though_only_the_handlers_condition_is_blamed(shop: World, wire: Wire) -> None:
    """DynamoDB need not report every reason: with ours left out, a consistent read of our record decides."""
    wire.lose_answers("TransactWriteItems")
    wire.cancel("None", "ConditionalCheckFailed", "None", times=1, after=1)
    worker = shop.worker(Transactional(), place)

    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.PROCESSED]
    assert effects() == (["1"], 4)


@pytest.mark.parametrize(
    "reasons",
    [
        ("TransactionConflict", "None", "None"),
        ("None", "TransactionConflict", "None"),
        ("None", "ThrottlingError", "None"),
        ("None", "ProvisionedThroughputExceeded", "None"),
        ("None", "ConditionalCheckFailed", "TransactionConflict"),
    ],
)
def test_conflicts_and_throttles_are_retried_and_no_innocent_fails(
    shop: World, wire: Wire, reasons: tuple[str, ...]
) -> None:
    wire.cancel(*reasons, times=3)
    worker = shop.worker(Transactional(), place)

    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.PROCESSED]
    tokens = [params["ClientRequestToken"] for name, params in wire.requests if name == "TransactWriteItems"]
    assert len(tokens) == len(set(tokens)) == 4


def test_a_conflict_that_lasts_is_a_failure_and_never_a_duplicate(shop: World, wire: Wire) -> None:
    wire.cancel("None", "TransactionConflict", "None", times=10_000)
    worker = shop.worker(Transactional(), place)

    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.FAILED]


def test_a_transaction_that_is_invalid_is_not_tried_again(shop: World, wire: Wire) -> None:
    wire.cancel("None", "ValidationError", "None", times=10)
    worker = shop.worker(Transactional(), place)

    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.FAILED]
    assert wire.operations.count("TransactWriteItems") == 1


def test_by_default_a_handler_reads_what_the_one_before_it_has_committed(shop: World) -> None:
    seen: list[int] = []

    def look(message: Message, work: UnitOfWork) -> None:
        seen.append(effects()[1])
        place(message, work)

    shop.worker(Transactional(), look).deliver(*(arrival(str(number)) for number in range(4)))

    assert seen == [5, 4, 3, 2]


# -- the handler's own conditions ----------------------------------------------------------------------------


def empty_the_shelf() -> None:
    Stock("tea", quantity=0).save()


def test_a_failed_condition_of_the_handler_is_told_with_the_item_it_met(shop: World) -> None:
    empty_the_shelf()
    worker = shop.worker(Transactional(), place)

    worker.deliver(arrival())

    error = worker.reports[0].error
    assert worker.outcomes == [Outcome.FAILED]
    assert isinstance(error, ConditionFailed)
    assert error.failures == (FailedCondition("Update", "stock", {"sku": "tea"}, {"sku": "tea", "quantity": 0}),)


def refusing(shop: World, handler: Handler = place) -> Worker:
    worker = shop.worker(Transactional(), handler)

    @worker.consumer.on_condition_failed
    def refuse(message: Message, work: UnitOfWork, failure: ConditionFailed) -> None:
        work.save(Order(message.id, status="REFUSED"), condition=Order.order_id.does_not_exist())

    return worker


def test_out_of_stock_saves_the_refusal_once(shop: World) -> None:
    empty_the_shelf()
    worker = refusing(shop)

    worker.deliver(arrival())
    assert worker.outcomes == [Outcome.PROCESSED]
    worker.deliver(arrival())
    assert worker.outcomes == [Outcome.DUPLICATE]

    assert Order.get("1").status == "REFUSED"
    assert effects() == (["1"], 0)


def test_a_refusal_goes_under_the_same_condition_on_the_record(shop: World) -> None:
    """Another worker has refused it meanwhile: the second refusal is a duplicate."""
    empty_the_shelf()
    other = refusing(shop)

    def meanwhile(message: Message, work: UnitOfWork) -> None:
        place(message, work)
        other.deliver(arrival())

    worker = refusing(shop, meanwhile)
    worker.deliver(arrival())

    assert (other.outcomes, worker.outcomes) == ([Outcome.PROCESSED], [Outcome.DUPLICATE])


def test_a_refusal_whose_own_condition_fails_is_a_failure(shop: World) -> None:
    empty_the_shelf()
    Order("1").save()
    worker = refusing(shop)

    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.FAILED]


def test_a_condition_that_no_fresh_read_could_pass_may_be_rejected(shop: World) -> None:
    empty_the_shelf()
    worker = shop.worker(Transactional(), place, reject_on=(ConditionFailed,))

    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.REJECTED]


# -- the unit of work ----------------------------------------------------------------------------------------


def test_what_was_saved_is_what_was_there_at_the_call(shop: World) -> None:
    item = {"order_id": {"S": "raw"}, "status": {"S": "PLACED"}}

    def handle(message: Message, work: UnitOfWork) -> None:
        order = Order("model")
        work.save(order)
        order.status = "CHANGED"
        work.put_item(TableName="orders", Item=item)
        item["status"]["S"] = "CHANGED"

    shop.worker(Transactional(), handle).deliver(arrival())

    assert {order.order_id: order.status for order in Order.scan()} == {"model": "PLACED", "raw": "PLACED"}


def test_every_form_of_write_is_committed(shop: World) -> None:
    Order("old").save()
    Order("checked").save()

    def handle(message: Message, work: UnitOfWork) -> None:
        work.delete(Order("old"), condition=Order.order_id.exists())
        work.check(Order, "checked", condition=Order.order_id.exists())
        work.put_item(TableName="orders", Item={"order_id": {"S": "raw"}, "status": {"S": "PLACED"}})
        work.update_item(
            TableName="stock",
            Key={"sku": {"S": "tea"}},
            UpdateExpression="SET quantity = :new",
            ExpressionAttributeValues={":new": {"N": "9"}},
        )
        work.delete_item(TableName="orders", Key={"order_id": {"S": "never there"}})
        work.check_item(
            TableName="orders", Key={"order_id": {"S": "none"}}, ConditionExpression="attribute_not_exists(order_id)"
        )

    worker = shop.worker(Transactional(), handle)
    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.PROCESSED]
    assert effects() == (["checked", "raw"], 9)


def test_a_failed_check_in_any_form_tells_its_item(shop: World) -> None:
    Order("there").save()

    def handle(message: Message, work: UnitOfWork) -> None:
        work.check_item(
            TableName="orders", Key={"order_id": {"S": "there"}}, ConditionExpression="attribute_not_exists(order_id)"
        )
        work.delete(Order("gone"), condition=Order.order_id.exists())

    worker = shop.worker(Transactional(), handle)
    worker.deliver(arrival())

    error = worker.reports[0].error
    assert isinstance(error, ConditionFailed)
    assert [failure.item for failure in error.failures] == [{"order_id": "there", "status": "PLACED"}, None]


class Misuses:
    @staticmethod
    def second_write(message: Message, work: UnitOfWork) -> None:
        work.save(Order("1"))
        work.delete(Order("1"))

    @staticmethod
    def too_many(message: Message, work: UnitOfWork) -> None:
        for number in range(100):
            work.save(Order(str(number)))

    expected: ClassVar[dict[str, type[Exception]]] = {
        "second_write": SecondWriteError,
        "too_many": TooManyWritesError,
    }


@pytest.mark.parametrize("name", Misuses.expected)
def test_what_no_transaction_can_hold_is_refused_before_anything_is_written(shop: World, name: str) -> None:
    worker = shop.worker(Transactional(), getattr(Misuses, name))

    worker.deliver(arrival())

    assert type(worker.reports[0].error) is Misuses.expected[name]
    assert effects() == ([], 5)


def test_99_writes_and_the_record_fit_into_one_transaction(shop: World) -> None:
    def handle(message: Message, work: UnitOfWork) -> None:
        for number in range(99):
            work.save(Order(f"{number:02}"))

    shop.worker(Transactional(), handle).deliver(arrival())

    assert len(effects()[0]) == 99


def test_a_second_write_that_only_dynamodb_can_see_is_refused_too(shop: World) -> None:
    def handle(message: Message, work: UnitOfWork) -> None:
        for status in ("A", "B"):
            work.put_item(TableName="orders", Item={"order_id": {"S": "1"}, "status": {"S": status}})

    worker = shop.worker(Transactional(), handle)
    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.FAILED]
    assert effects() == ([], 5)


@pytest.mark.parametrize("mode", [Lazy(), Eager(), Natural()])
def test_writes_outside_transactional_mode_are_refused_at_the_call(shop: World, mode: Mode) -> None:
    worker = shop.worker(mode, lambda message, work: work.save(Order("1")))

    worker.deliver(arrival())

    error = worker.reports[0].error
    assert isinstance(error, WritesNotAllowedError)
    assert "mode=Transactional()" in str(error)
    assert effects() == ([], 5)


def test_a_write_that_comes_after_the_handler_is_refused_and_not_lost_in_silence(shop: World) -> None:
    kept: list[UnitOfWork] = []
    shop.worker(Transactional(), lambda message, work: kept.append(work)).deliver(arrival())

    with pytest.raises(WritesNotAllowedError, match="has returned"):
        kept[0].save(Order("late"))


def test_a_write_by_a_thread_is_either_committed_or_refused_but_never_lost(shop: World) -> None:
    """It is being serialised while the handler returns."""
    serialising, returned = threading.Event(), threading.Event()
    refused: list[Exception] = []

    class Slow(Order):
        class Meta:
            table_name = "orders"
            region = "eu-central-1"

        def serialize(self, null_check: bool = True) -> dict[str, dict[str, Any]]:
            serialising.set()
            returned.wait(60)
            return super().serialize(null_check)

    def save(work: UnitOfWork) -> None:
        try:
            work.save(Slow("late"))
        except WritesNotAllowedError as error:
            refused.append(error)

    def handle(message: Message, work: UnitOfWork) -> None:
        thread = threading.Thread(target=save, args=(work,))
        thread.start()
        threads.append(thread)
        serialising.wait(60)

    threads: list[threading.Thread] = []
    shop.worker(Transactional(), handle).deliver(arrival())
    returned.set()
    threads[0].join()

    assert len(refused) == 1
    assert effects() == ([], 5)


def test_a_model_of_another_region_is_refused_and_not_written_to_a_namesake(shop: World) -> None:
    class Elsewhere(Order):
        class Meta:
            table_name = "orders"
            region = "us-east-1"

    worker = shop.worker(Transactional(), lambda message, work: work.save(Elsewhere("1")))
    worker.deliver(arrival())

    assert "one transaction spans one region" in worker.reports[0].reason
    assert effects() == ([], 5)
