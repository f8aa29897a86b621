"""What a unit of work takes, and what it refuses at the call."""

import contextlib
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from pynamodb.models import Model

from idempotent_consumer.errors import SecondWriteError, TooManyWritesError, WorkError, WritesNotAllowedError
from idempotent_consumer.modes import Eager, Lazy, Natural, Transactional
from idempotent_consumer.outbox import Outbox
from idempotent_consumer.testing import recorded_work
from idempotent_consumer.work import MOST_WRITES, UnitOfWork
from tests.unit.orders import Line, Order, Stock

Call = Callable[[UnitOfWork, str], None]


def key(order_id: str) -> dict[str, Any]:
    return {"id": {"S": order_id}}


CALLS: dict[str, Call] = {
    "save": lambda work, id_: work.save(Order(id_)),
    "update": lambda work, id_: work.update(Order(id_), [Order.status.set("new")]),
    "delete": lambda work, id_: work.delete(Order(id_)),
    "check": lambda work, id_: work.check(Order, id_, condition=Order.order_id.exists()),
    "put_item": lambda work, id_: work.put_item(TableName="orders", Item=key(id_) | {"status": {"S": "new"}}),
    "update_item": lambda work, id_: work.update_item(TableName="orders", Key=key(id_), UpdateExpression="REMOVE a"),
    "delete_item": lambda work, id_: work.delete_item(TableName="orders", Key=key(id_)),
    "check_item": lambda work, id_: work.check_item(
        TableName="orders", Key=key(id_), ConditionExpression="attribute_exists(id)"
    ),
}
PAIRS = list(product(CALLS, CALLS))
UNKNOWN = ("put_item", "put_item")  # two Items alone do not tell which of their attributes are keys


@pytest.fixture
def work() -> UnitOfWork:
    return recorded_work()


def test_a_new_unit_of_work_is_empty(work: UnitOfWork) -> None:
    assert work.writes == ()


def test_writes_stand_in_the_order_of_the_calls(work: UnitOfWork) -> None:
    for number, call in enumerate(CALLS.values()):
        call(work, f"o-{number}")

    operations = ["Put", "Update", "Delete", "ConditionCheck"]
    assert [write.operation for write in work.writes] == operations + operations


@pytest.mark.parametrize("call", CALLS)
def test_every_write_asks_for_the_item_that_its_condition_meets(work: UnitOfWork, call: str) -> None:
    CALLS[call](work, "o-1")

    [write] = work.writes
    assert write.request["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


@pytest.mark.parametrize("call", CALLS.keys() - {"put_item"})
def test_every_write_tells_the_key_of_its_item(work: UnitOfWork, call: str) -> None:
    CALLS[call](work, "o-1")

    [write] = work.writes
    assert write.key == key("o-1")


def test_a_put_in_client_form_does_not_tell_which_attributes_are_the_key(work: UnitOfWork) -> None:
    CALLS["put_item"](work, "o-1")

    [write] = work.writes
    assert write.key is None


# -- Models ---------------------------------------------------------------------------------------


def test_a_saved_model_is_put_under_its_names_in_the_table(work: UnitOfWork) -> None:
    work.save(Order("o-1", status="NEW", lines=["a"]), condition=Order.order_id.does_not_exist())

    [write] = work.writes
    assert write.request["TableName"] == "orders"
    assert write.request["Item"] == {"id": {"S": "o-1"}, "status": {"S": "NEW"}, "lines": {"L": [{"S": "a"}]}}
    assert write.request["ConditionExpression"] == "attribute_not_exists (#0)"
    assert write.request["ExpressionAttributeNames"] == {"#0": "id"}


def test_an_update_names_the_item_by_its_keys_alone(work: UnitOfWork) -> None:
    work.update(Order("o-1", status="OLD"), [Order.status.set("NEW")], condition=Order.status == "OLD")

    [write] = work.writes
    assert write.request["Key"] == {"id": {"S": "o-1"}}
    assert write.request["UpdateExpression"] == "SET #0 = :1"
    assert write.request["ConditionExpression"] == "#0 = :0"
    assert write.request["ExpressionAttributeValues"] == {":0": {"S": "OLD"}, ":1": {"S": "NEW"}}


def test_a_delete_and_a_check_name_both_keys(work: UnitOfWork) -> None:
    work.delete(Line("o-1", 1))
    work.check(Line, "o-1", 2, condition=Line.number.exists())

    assert [write.request["Key"] for write in work.writes] == [
        {"order_id": {"S": "o-1"}, "number": {"N": "1"}},
        {"order_id": {"S": "o-1"}, "number": {"N": "2"}},
    ]


def test_the_version_of_a_model_is_part_of_its_conditions(work: UnitOfWork) -> None:
    work.save(Stock("s-1", quantity=1, version=3), condition=Stock.quantity == 2)

    [write] = work.writes
    assert write.request["ConditionExpression"] == "(#0 = :0 AND #1 = :1)"
    assert write.request["ExpressionAttributeValues"] == {":0": {"N": "2"}, ":1": {"N": "3"}}
    assert write.request["Item"]["version"] == {"N": "4"}


# -- What is taken down ---------------------------------------------------------------------------


def test_what_is_saved_is_what_was_there_at_the_call(work: UnitOfWork) -> None:
    order = Order("o-1", status="NEW", lines=["a"])

    work.save(order)
    order.status = "CHANGED"
    order.lines.append("b")

    [write] = work.writes
    assert write.request["Item"] == {"id": {"S": "o-1"}, "status": {"S": "NEW"}, "lines": {"L": [{"S": "a"}]}}


def test_a_request_is_what_it_was_at_the_call_however_deep_it_is_changed(work: UnitOfWork) -> None:
    item: dict[str, Any] = {"id": {"S": "o-1"}, "lines": {"L": [{"S": "a"}]}}

    work.put_item(TableName="orders", Item=item)
    item["lines"]["L"].append({"S": "b"})
    item["id"]["S"] = "o-2"

    [write] = work.writes
    assert write.request["Item"] == {"id": {"S": "o-1"}, "lines": {"L": [{"S": "a"}]}}


def test_actions_are_taken_down_at_the_call(work: UnitOfWork) -> None:
    actions = [Order.status.set("NEW")]

    work.update(Order("o-1"), actions)
    actions.clear()

    [write] = work.writes
    assert write.request["UpdateExpression"] == "SET #0 = :0"


# -- How many -------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", CALLS)
def test_99_writes_are_taken_and_the_100th_is_refused(work: UnitOfWork, last: str) -> None:
    for number, call in zip(range(99), [*CALLS.values()] * 13, strict=False):
        call(work, f"o-{number}")

    with pytest.raises(TooManyWritesError, match="99 writes"):
        CALLS[last](work, "o-99")

    assert len(work.writes) == MOST_WRITES == 99


# -- One write to an item -------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), [pair for pair in PAIRS if pair != UNKNOWN])
def test_a_second_write_to_an_item_is_refused_in_whatever_form(work: UnitOfWork, first: str, second: str) -> None:
    CALLS[first](work, "o-1")

    with pytest.raises(SecondWriteError, match="an item of orders is written twice"):
        CALLS[second](work, "o-1")

    assert len(work.writes) == 1


@pytest.mark.parametrize("teacher", CALLS.keys() - {"put_item"})
def test_two_puts_in_client_form_are_compared_once_any_write_has_told_the_keys(work: UnitOfWork, teacher: str) -> None:
    CALLS[teacher](work, "o-1")
    CALLS["put_item"](work, "o-2")

    with pytest.raises(SecondWriteError):
        CALLS["put_item"](work, "o-2")


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_writes_to_two_items_of_a_table_are_taken(work: UnitOfWork, first: str, second: str) -> None:
    CALLS[first](work, "o-1")
    CALLS[second](work, "o-2")

    assert len(work.writes) == 2


def test_items_that_share_only_one_of_their_keys_are_two(work: UnitOfWork) -> None:
    work.save(Line("o-1", 1))
    work.save(Line("o-1", 2))
    work.put_item(TableName="lines", Item={"order_id": {"S": "o-2"}, "number": {"N": "1"}})

    with pytest.raises(SecondWriteError):
        work.delete_item(TableName="lines", Key={"number": {"N": "2"}, "order_id": {"S": "o-1"}})


def test_items_of_the_same_key_in_two_tables_are_two(work: UnitOfWork) -> None:
    work.save(Order("o-1"))
    work.put_item(TableName="other-orders", Item=key("o-1"))
    work.delete_item(TableName="more-orders", Key=key("o-1"))

    assert [write.request["TableName"] for write in work.writes] == ["orders", "other-orders", "more-orders"]


def test_a_refused_write_leaves_the_unit_of_work_as_it_was(work: UnitOfWork) -> None:
    work.save(Order("o-1", status="NEW"))
    before = work.writes

    with pytest.raises(SecondWriteError):
        work.delete(Order("o-1"))

    assert work.writes == before


@pytest.mark.parametrize("model", [Order(), Line("o-1"), Line(number=1)])
def test_a_model_without_its_keys_is_refused_at_the_call(work: UnitOfWork, model: Model) -> None:
    with pytest.raises(WorkError):
        work.save(model)
    with pytest.raises(WorkError):
        work.delete(model)


def test_a_model_that_cannot_be_serialised_is_refused_at_the_call(work: UnitOfWork) -> None:
    with pytest.raises(WorkError, match="status"):
        work.save(Order("o-1", status=42))


def test_a_put_that_lacks_a_key_which_another_write_has_told_is_refused(work: UnitOfWork) -> None:
    work.save(Order("o-1"))

    with pytest.raises(WorkError, match="id"):
        work.put_item(TableName="orders", Item={"status": {"S": "new"}})


@pytest.mark.parametrize(("committed_in", "is_taken"), [(None, True), ("eu-central-1", True), ("us-east-1", False)])
def test_a_model_of_another_region_is_refused_at_the_call(
    monkeypatch: pytest.MonkeyPatch, committed_in: str | None, is_taken: bool
) -> None:
    monkeypatch.setattr(Order.Meta, "region", "eu-central-1")
    work = UnitOfWork(Outbox(has_relay=True), region=committed_in)

    with contextlib.nullcontext() if is_taken else pytest.raises(WorkError, match="one region"):
        work.save(Order("o-1"))

    assert len(work.writes) == is_taken


# -- Who may write --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [Lazy, Eager, Natural])
@pytest.mark.parametrize("call", CALLS)
def test_a_mode_that_commits_nothing_refuses_every_write_and_names_the_one_that_does(
    mode: type[Lazy | Eager | Natural], call: str
) -> None:
    work = UnitOfWork(Outbox(has_relay=True), refusal=mode.refusal)

    with pytest.raises(WritesNotAllowedError, match=r"mode=Transactional\(\)"):
        CALLS[call](work, "o-1")


@pytest.mark.parametrize("call", CALLS)
def test_a_transactional_mode_takes_every_write(call: str) -> None:
    work = UnitOfWork(Outbox(has_relay=True), refusal=Transactional.refusal)

    CALLS[call](work, "o-1")

    assert len(work.writes) == 1


@pytest.mark.parametrize("call", CALLS)
def test_a_closed_unit_of_work_takes_no_more_and_keeps_what_it_has(work: UnitOfWork, call: str) -> None:
    work.save(Order("o-1"))

    work.close("the handler has returned")

    with pytest.raises(WritesNotAllowedError, match="the handler has returned"):
        CALLS[call](work, "o-2")
    assert len(work.writes) == 1
