"""The unit of work: what a handler wants written, taken down at the call and committed with the message's record."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pynamodb.exceptions import PynamoDBException
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action
from pynamodb.models import Model

from idempotent_consumer.client_form import check_client_form, check_values
from idempotent_consumer.errors import SecondWriteError, TooManyWritesError, WorkError, WritesNotAllowedError
from idempotent_consumer.store import Write

MOST_WRITES = 99
"""A transaction takes 100 actions; one is the record of the message."""


class UnitOfWork:
    """
    Collect the writes of one run of a handler; nothing leaves before the handler has returned.

    Each call takes down what is there at the call: changing a model afterwards changes nothing. What cannot be
    committed is refused at the call, with an error that says what to do, before anything is written.

    Source: Fowler, Patterns of Enterprise Application Architecture, "Unit of Work"; DynamoDB's TransactWriteItems
    (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html).

    Args:
        refusal: why no write can be taken; empty if writes are committed.
        region: the AWS region in which they are committed; None if it makes no difference.
    """

    __slots__ = ("_key_names", "_lock", "_refusal", "_region", "_writes")

    def __init__(self, *, refusal: str = "", region: str | None = None) -> None:
        self._refusal = refusal
        self._region = region
        self._lock = threading.Lock()
        self._writes: list[Write] = []
        self._key_names: dict[str, frozenset[str]] = {}  # by table, as far as the writes have told

    @property
    def writes(self) -> Sequence[Write]:
        """Return what was taken down so far, in the order of the calls."""
        return tuple(self._writes)

    # -- PynamoDB models ---------------------------------------------------------------------------

    def save(self, model: Model, condition: Condition | None = None) -> None:
        """
        Put a model's item as it is now.

        Args:
            model: the PynamoDB model.
            condition: what must hold of the item that is there, such as `Order.order_id.does_not_exist()`.

        Raises:
            WorkError: the write cannot be committed; see its subclasses.
        """
        self._take_model("Put", type(model), lambda: model.get_save_kwargs_from_instance(condition=condition))

    def update(self, model: Model, actions: Sequence[Action], condition: Condition | None = None) -> None:
        """
        Update the item that a model's keys name.

        Args:
            model: the PynamoDB model; only its keys count, and its version if it has a version attribute.
            actions: what to change, such as `[Stock.quantity.set(Stock.quantity - 1)]`.
            condition: what must hold of the item that is there.

        Raises:
            WorkError: the write cannot be committed; see its subclasses.
        """
        changes = list(actions)
        if not changes:
            raise WorkError("update() without actions changes nothing: give some, or use check()")
        self._take_model(
            "Update",
            type(model),
            lambda: model.get_update_kwargs_from_instance(actions=changes, condition=condition),
        )

    def delete(self, model: Model, condition: Condition | None = None) -> None:
        """
        Delete the item that a model's keys name.

        Args:
            model: the PynamoDB model; only its keys count, and its version if it has a version attribute.
            condition: what must hold of the item that is there.

        Raises:
            WorkError: the write cannot be committed; see its subclasses.
        """
        self._take_model("Delete", type(model), lambda: model.get_delete_kwargs_from_instance(condition=condition))

    def check(self, model_class: type[Model], hash_key: Any, range_key: Any = None, *, condition: Condition) -> None:
        """
        Make the whole unit of work depend on an item that it does not write.

        Args:
            model_class: the item's PynamoDB model.
            hash_key: its partition key.
            range_key: its sort key, if its table has one.
            condition: what must hold of it.

        Raises:
            WorkError: the check cannot be committed; see its subclasses.
        """
        self._take_model(
            "ConditionCheck",
            model_class,
            lambda: model_class.get_operation_kwargs_from_class(hash_key, range_key=range_key, condition=condition),
        )

    # -- the form of boto3's client ----------------------------------------------------------------

    def put_item(self, **request: Any) -> None:
        """
        Put an item, given as for boto3's client: `TableName`, `Item={"id": {"S": "1"}}`, `ConditionExpression`, …

        Raises:
            WorkError: the write cannot be committed; see its subclasses.
        """
        self._take_client_form("Put", request)

    def update_item(self, **request: Any) -> None:
        """
        Update an item, given as for boto3's client: `TableName`, `Key`, `UpdateExpression`, …

        Raises:
            WorkError: the write cannot be committed; see its subclasses.
        """
        self._take_client_form("Update", request)

    def delete_item(self, **request: Any) -> None:
        """
        Delete an item, given as for boto3's client: `TableName`, `Key`, `ConditionExpression`, …

        Raises:
            WorkError: the write cannot be committed; see its subclasses.
        """
        self._take_client_form("Delete", request)

    def check_item(self, **request: Any) -> None:
        """
        Check an item, given as for boto3's client: `TableName`, `Key`, `ConditionExpression`, …

        Raises:
            WorkError: the check cannot be committed; see its subclasses.
        """
        self._take_client_form("ConditionCheck", request)

    # -- taking down -------------------------------------------------------------------------------

    def _take_model(self, operation: str, model_class: type[Model], serialise: Callable[[], dict[str, Any]]) -> None:
        self._check_allowed()
        region = getattr(model_class.Meta, "region", None)
        if self._region and region and region != self._region:
            raise WorkError(
                f"{model_class.__name__} is in {region}, and the transaction in {self._region}: one transaction spans "
                "one region"
            )
        try:
            request = serialise()
        except (TypeError, ValueError, AttributeError, PynamoDBException) as error:
            raise WorkError(f"{operation} of {model_class.__name__} cannot be serialised: {error}") from error
        check_values(operation, request)
        self._take(operation, request, _key_names_of(model_class))

    def _take_client_form(self, operation: str, request: Mapping[str, Any]) -> None:
        self._check_allowed()
        check_client_form(operation, request)
        self._take(operation, request, frozenset(request["Key"]) if "Key" in request else None)

    def _take(self, operation: str, request: Mapping[str, Any], key_names: frozenset[str] | None) -> None:
        request = copy.deepcopy({**request, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"})
        write = Write(operation, request, _part(request.get("Key") or request["Item"], key_names))
        with self._lock:  # the handler may use threads of its own, and may return while one of them is here
            self._check_allowed()
            self._add(write, key_names)

    def _add(self, write: Write, key_names: frozenset[str] | None) -> None:
        if len(self._writes) >= MOST_WRITES:
            raise TooManyWritesError(
                f"a unit of work holds {MOST_WRITES} writes, one transaction's worth: split the message, or write the "
                "rest idempotently under another message"
            )
        table = write.request["TableName"]
        if key_names:
            self._key_names[table] = key_names
        key = _key_of(write, self._key_names.get(table, frozenset()))
        if key is not None and None in key.values():
            missing = ", ".join(sorted(name for name, value in key.items() if value is None))
            raise WorkError(f"{write.operation} on {table} lacks the key {missing}")
        if any(self._same_item(write, other) for other in self._writes):
            raise SecondWriteError(
                f"an item of {table} is written twice; a transaction takes one write to an item: combine the two, such "
                "as an update with its condition"
            )
        self._writes.append(write)

    def _same_item(self, one: Write, other: Write) -> bool:
        table = one.request["TableName"]
        if table != other.request["TableName"]:
            return False
        # Two puts in client form do not tell their key unless another write to their table does: then it is DynamoDB
        # that refuses the transaction.
        names = self._key_names.get(table)
        return names is not None and _key_of(one, names) == _key_of(other, names)

    def _check_allowed(self) -> None:
        if self._refusal:
            raise WritesNotAllowedError(self._refusal)

    def close(self, reason: str) -> None:
        """Take no more writes: what a thread or task left behind by the handler adds now would be lost."""
        with self._lock:
            self._refusal = reason


def _key_of(write: Write, names: frozenset[str]) -> Mapping[str, Any] | None:
    return write.key or _part(write.request["Item"], names)


def _part(item: Mapping[str, Any], names: frozenset[str] | None) -> Mapping[str, Any] | None:
    return {name: item.get(name) for name in names} if names else None


def _key_names_of(model_class: type[Model]) -> frozenset[str]:
    return frozenset(
        attribute.attr_name
        for attribute in model_class.get_attributes().values()
        if attribute.is_hash_key or attribute.is_range_key
    )
