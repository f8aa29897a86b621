"""The unit of work: what a handler wants written and sent, taken down at the call and committed with the record."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from pynamodb.exceptions import PynamoDBException
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action
from pynamodb.models import Model

from idempotent_consumer.client_form import check_client_form, check_values
from idempotent_consumer.errors import SecondWriteError, TooManyWritesError, WorkError, WritesNotAllowedError
from idempotent_consumer.outbound import Attributes, Outgoing, ToBus, ToQueue, ToTopic, written_detail
from idempotent_consumer.outbox import Outbox
from idempotent_consumer.outgoing import written_body
from idempotent_consumer.store import Write

MOST_WRITES = 99
"""A transaction takes 100 actions; one is the record of the message."""


class UnitOfWork:
    """
    Collect the writes and the outgoing messages of one run of a handler; nothing leaves before it has returned.

    Each call takes down what is there at the call: changing a model afterwards changes nothing. What cannot be
    committed is refused at the call, with an error that says what to do, before anything is written.

    Source: Fowler, Patterns of Enterprise Application Architecture, "Unit of Work"; DynamoDB's TransactWriteItems
    (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html).

    Args:
        outbox: takes the outgoing messages down.
        refusal: why no write can be taken; empty if writes are committed.
        region: the AWS region in which they are committed; None if it makes no difference.

    Attributes:
        outbox: the same.
    """

    __slots__ = ("_key_names", "_lock", "_refusal", "_region", "_writes", "outbox")

    def __init__(self, outbox: Outbox, *, refusal: str = "", region: str | None = None) -> None:
        self.outbox = outbox
        self._refusal = refusal
        self._region = region
        self._lock = threading.Lock()
        self._writes: list[Write] = []
        self._key_names: dict[str, frozenset[str]] = {}  # by table, as far as the writes have told

    @property
    def writes(self) -> Sequence[Write]:
        """Return what was taken down so far, in the order of the calls."""
        return tuple(self._writes)

    @property
    def outgoing(self) -> Sequence[Outgoing]:
        """Return the outgoing messages that were taken down so far, in the order of the calls."""
        return self.outbox.messages

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

    # -- outgoing messages -------------------------------------------------------------------------

    def send(
        self,
        queue_url: str,
        body: Any,
        *,
        attributes: Attributes | None = None,
        group_id: str | None = None,
        deduplication_id: str | None = None,
        delay: timedelta | None = None,
    ) -> str:
        """
        Send a message to a queue, if and only if the work is committed.

        It carries its id in the attribute `message-id`, by which its consumer knows it again:
        `IdempotentConsumer(…, message_id=attribute("message-id"))`.

        Args:
            queue_url: URL of the queue; only one that ends in `.fifo` keeps order.
            body: text is sent as it is, anything else as JSON; both as they are at the call.
            attributes: message attributes by name: text, whole numbers of up to 38 digits, or bytes; nine at most.
            group_id: message group, which a FIFO queue needs.
            deduplication_id: what a FIFO queue folds equal messages by; by default the hex SHA-256 of the message id.
            delay: how long a standard queue hides the message at first: up to 15 minutes, in whole seconds.

        Returns:
            The message id under which it leaves.

        Raises:
            UnsendableMessageError: SQS would refuse it.
            WorkError: it would not be stored, or not leave; see its subclasses.
        """
        self.outbox.check_allowed()
        message = ToQueue(
            queue_url=queue_url,
            body=written_body(body),
            attributes=dict(attributes or {}),
            group_id=group_id,
            deduplication_id=deduplication_id,
            delay=delay,
        )
        return self.outbox.put(message)

    def publish(
        self,
        topic_arn: str,
        message: Any,
        *,
        attributes: Attributes | None = None,
        subject: str | None = None,
        group_id: str | None = None,
        deduplication_id: str | None = None,
    ) -> str:
        """
        Publish a message to a topic, if and only if the work is committed.

        Its id goes along in the message attribute `message-id`.

        Args:
            topic_arn: ARN of the topic; only one that ends in `.fifo` keeps order.
            message: text is sent as it is, anything else as JSON; both as they are at the call.
            attributes: message attributes by name: text, whole numbers of up to 38 digits, or bytes; nine at most.
            subject: of the mails that the topic sends: up to 100 ASCII characters.
            group_id: message group, which a FIFO topic needs.
            deduplication_id: what a FIFO topic folds equal messages by; by default the hex SHA-256 of the message id.

        Returns:
            The message id under which it leaves.

        Raises:
            UnsendableMessageError: SNS would refuse it.
            WorkError: it would not be stored, or not leave; see its subclasses.
        """
        self.outbox.check_allowed()
        published = ToTopic(
            topic_arn=topic_arn,
            message=written_body(message),
            attributes=dict(attributes or {}),
            subject=subject,
            group_id=group_id,
            deduplication_id=deduplication_id,
        )
        return self.outbox.put(published)

    def put_event(
        self,
        detail_type: str,
        detail: Mapping[str, Any],
        *,
        source: str,
        bus: str = "default",
        resources: Sequence[str] = (),
    ) -> str:
        """
        Put an event on a bus of EventBridge, if and only if the work is committed.

        EventBridge gives it a new id each time that it is sent, so ours is the member `message-id` of its detail;
        `event_id()` takes that one.

        Args:
            detail_type: what it is, such as `OrderPlaced`.
            detail: its content, as it is at the call.
            source: who says it, such as `com.example.orders`.
            bus: name or ARN of the bus.
            resources: ARNs of what it concerns.

        Returns:
            The message id under which it leaves.

        Raises:
            UnsendableMessageError: EventBridge would refuse it.
            WorkError: it would not be stored, or not leave; see its subclasses.
        """
        self.outbox.check_allowed()
        event = ToBus(
            bus=bus,
            source=source,
            detail_type=detail_type,
            detail=written_detail(detail),
            resources=tuple(resources),
        )
        return self.outbox.put(event)

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
        """Take no more: what a thread or task left behind by the handler adds now would be lost."""
        with self._lock:
            self._refusal = reason
        self.outbox.close(reason)


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
