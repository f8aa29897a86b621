"""One tree of errors, which says what becomes of a message."""

import re

import pytest

from idempotent_consumer import errors
from idempotent_consumer.errors import (
    BatchFailedError,
    ConditionFailed,
    ConfigurationError,
    FailedCondition,
    IdempotentConsumerError,
    Reject,
    StoreError,
)
from idempotent_consumer.outcome import DeliveryReport, Outcome
from idempotent_consumer.record import SqsRecord


def tree_drawn() -> dict[str, str]:
    """Return each error's parent, as the module's docstring draws it."""
    path, parents = ["IdempotentConsumerError"], {}
    for indent, name in re.findall(r"^ {4}((?:│   |    )*)[├└]── (\w+)", errors.__doc__ or "", re.MULTILINE):
        depth = 1 + len(indent) // 4
        path[depth:] = [name]
        parents[name] = path[depth - 1]
    return parents


def test_the_tree_in_the_docstring_is_the_tree_in_the_code() -> None:
    classes = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)]

    assert tree_drawn() == {
        each.__name__: each.__base__.__name__
        for each in classes
        if each is not IdempotentConsumerError and each.__base__
    }


def test_the_root_is_no_error_of_anybody_else() -> None:
    assert IdempotentConsumerError.__base__ is Exception


def test_a_configuration_error_names_every_problem() -> None:
    error = ConfigurationError("no table", "no mode")

    assert (error.problems, str(error)) == (("no table", "no mode"), "no table; no mode")


def test_a_rejection_carries_its_reason() -> None:
    error = Reject("no such customer")

    assert (error.reason, str(error)) == ("no such customer", "no such customer")


def test_a_failed_condition_says_what_it_met() -> None:
    failures = [
        FailedCondition(operation="Update", table_name="stock", key={"sku": "s-1"}, item={"sku": "s-1", "quantity": 0}),
        FailedCondition(operation="Put", table_name="orders", key=None, item=None),
    ]

    error = ConditionFailed(failures)

    assert error.failures == tuple(failures)
    assert str(error).endswith("Update on stock met an item, Put on orders met no item")


def test_a_failed_batch_names_every_delivery_and_why_it_failed() -> None:
    def report(sqs_message_id: str, outcome: Outcome) -> DeliveryReport:
        record = SqsRecord.of({"messageId": sqs_message_id})
        return DeliveryReport("c", outcome, False, False, f"why {sqs_message_id}", None, record, None, 0)

    error = BatchFailedError([report("s-1", Outcome.FAILED), report("s-2", Outcome.REJECTED)])

    assert [each.sqs_message_id for each in error.reports] == ["s-1", "s-2"]
    assert str(error) == "all 2 deliveries failed: s-1: FAILED (why s-1), s-2: REJECTED (why s-2)"


@pytest.mark.parametrize("store_error", [StoreError, *StoreError.__subclasses__()])
def test_a_store_that_fails_never_makes_a_message_hopeless(store_error: type[Exception]) -> None:
    assert not issubclass(store_error, errors.PermanentError)
