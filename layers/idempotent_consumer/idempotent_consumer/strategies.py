"""
Where a message's id is: in what its producer wrote, in an envelope that carried it, or in what SQS says of it.

A place that is empty is something else than a place that holds nonsense: only the first lets `first_of` look further.
Which producer needs which strategy is told in docs/identity.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from jmespath.exceptions import JMESPathError, JMESPathTypeError

from idempotent_consumer.canonical import NotJSONError, compiled, select, write_json, write_text
from idempotent_consumer.errors import (
    ConfigurationError,
    MissingMessageIdError,
    UnreadableMessageError,
    UnusableMessageIdError,
)
from idempotent_consumer.identity import CompositeId, MessageIdStrategy
from idempotent_consumer.message import Envelope, Message
from idempotent_consumer.recognition import event_envelope, hint_for, hinted, pointer_in, sns_envelope
from idempotent_consumer.s3_events import s3_objects

# -- What the producer wrote ----------------------------------------------------------------------


def attribute(name: str) -> MessageIdStrategy:
    """
    Take the id from a message attribute that the producer sets.

    Args:
        name: the attribute's exact name, such as `message-id`. Its type may be String or Number, which keeps the
            digits that were sent.
    """
    if not isinstance(name, str) or not name:
        raise ConfigurationError("attribute() needs the name of a message attribute")

    def find(message: Message) -> Any:
        if name in message.attributes:
            return message.attributes[name]
        alike = [other for other in message.attributes if other.lower() == name.lower()]
        but = f", but {alike[0]!r}: names are compared letter by letter" if alike else ""
        raise _missing(f"there is no message attribute {name!r}{but}", message)

    return find


def body_field(path: str, *more: str) -> MessageIdStrategy:
    """
    Take the id from a field of the JSON body, or from several that make it together.

    Args:
        path: where the field is, as a JMESPath: `order_id`, `payment.id`, `"a-b"`. See https://jmespath.org.
        more: further fields. All of them have to be there.
    """
    paths = (path, *more)
    searches = [compiled(each).search for each in paths]

    def find(message: Message) -> Any:
        content = _json(message)
        try:
            return _together(_quoted(paths), [search(content) for search in searches], message)
        except JMESPathError as error:
            raise _misfit(paths, error) from error

    return find


def content_hash(*paths: str) -> MessageIdStrategy:
    """
    Take the hash of the content as its id: equal content is one message, whenever and however often it was sent.

    Key order, blanks and the way a number is written make no difference. Take it only where two messages of equal
    content never both mean something: two equal orders of one customer are one order to it.

    Args:
        paths: JMESPaths of what counts in a JSON body, all of which have to be there. Without any, all of the body
            counts, which then may also be text.
    """
    searches = [compiled(path) for path in paths or ("@",)]
    places = _quoted(paths) if paths else ["the body"]

    def find(message: Message) -> str:
        if pointer_in(message.body):
            raise UnusableMessageIdError(f"the content cannot be hashed: {hint_for(message.body)}")
        try:
            chosen = select(message.body, searches)
        except JMESPathError as error:
            raise _misfit(paths, error) from error
        except NotJSONError as error:
            if paths:
                raise UnreadableMessageError(hinted(f"the body is not JSON: {error}", message.body)) from error
            return _sha256(write_text(_together(places, [_content(message.body)], message)))
        _together(places, [_content(value) for value in chosen], message)
        return _sha256(write_json(chosen))

    return find


# -- What an envelope said ------------------------------------------------------------------------


def sns_message_id() -> MessageIdStrategy:
    """
    Take the `MessageId` of the SNS envelope, whether or not the consumer opens it.

    It knows again what SNS delivers twice; a publisher that publishes again gets a new one. With raw message delivery
    there is no envelope, and no such id: a member of that name in the publisher's own body is not taken for it.
    """

    def find(message: Message) -> Any:
        envelope = _opened(message, "sns")
        if envelope is None and not message.envelopes:  # what was in another envelope is its producer's content
            envelope = sns_envelope(message.body)
        if envelope is None:
            raise _missing("there is no SNS envelope", message)
        return envelope.members["MessageId"]

    return find


def event_id(*, replay_is_new: bool = False) -> MessageIdStrategy:
    """
    Take the id of an EventBridge event, or `source` and `id` of a CloudEvent, whether or not the consumer opens it.

    EventBridge makes a new id each time that a producer puts an event; a CloudEvent's is the producer's own. The relay
    of an outbox sends an id of its own along, as the member `message-id` of the detail: then that one is taken. A rule
    that transforms its input sends no id on, and a member `id` of the body that is left is not taken for it.

    Args:
        replay_is_new: an event that is replayed from an EventBridge archive is a message of its own, once for each
            replay. By default it is the same one.
    """

    def find(message: Message) -> Any:
        event = _opened(message, "eventbridge", "cloudevents") or event_envelope(message.body)
        if event is None:
            raise _missing("there is neither an EventBridge event nor a CloudEvent", message)
        if event.relayed_id is not None:
            return event.relayed_id
        if event.kind == "cloudevents":
            return CompositeId((event.members["source"], event.members["id"]))
        replay = event.members.get("replay-name") if replay_is_new else None
        return event.members["id"] if replay is None else CompositeId((event.members["id"], replay))

    return find


def s3_event_id() -> MessageIdStrategy:
    """
    Take event, bucket, key and sequencer of every object that an S3 notification tells of.

    S3 may send a notification twice, under two SQS message ids. Events other than the creation and deletion of objects
    have no sequencer, and so no id: `first_of(s3_event_id(), sqs_message_id())` serves them all.

    Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
    """

    def find(message: Message) -> Any:
        try:
            objects = s3_objects(message.body)
        except UnreadableMessageError as error:
            raise MissingMessageIdError(str(error)) from error
        ids = [
            CompositeId((one.event_name, one.bucket, one.key, one.sequencer)) if one.sequencer else None
            for one in objects
        ]
        return _together([f"the sequencer of {one.event_name}" for one in objects], ids, message)

    return find


# -- What SQS says --------------------------------------------------------------------------------


def sqs_message_id() -> MessageIdStrategy:
    """
    Take SQS's own `messageId`.

    It knows again what SQS itself delivers twice, and nothing else: a producer that sends again gets a new one. A
    message that was redriven keeps the one it had, if its dead letter tells. It tells by a message attribute, which
    whoever may send to the queue can forge.
    """

    def find(message: Message) -> Any:
        if not message.original_sqs_message_id:
            raise MissingMessageIdError("the record has no messageId")
        return message.original_sqs_message_id

    return find


def deduplication_id() -> MessageIdStrategy:
    """
    Take the deduplication id of a FIFO queue, together with the queue and the message group.

    SQS forgets it after five minutes, so that a producer may use it again for another message, above all where SQS
    makes it of the content: that other message is then a duplicate, or rejected. Only take it where your producers
    never do, or together with what tells the two apart: `all_of(deduplication_id(), body_field("sent_at"))`. When SQS
    itself moves a message to a dead-letter queue it replaces the id; a dead letter of ours keeps it.

    Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html
    """

    def find(message: Message) -> Any:
        if message.original_deduplication_id is None:
            raise MissingMessageIdError("there is no deduplication id: only FIFO queues have them")
        values = [message.queue_arn or None, message.group_id, message.original_deduplication_id]
        return _together(["the queue's ARN", "the message group", "the deduplication id"], values, message)

    return find


# -- Several places -------------------------------------------------------------------------------


def all_of(*strategies: MessageIdStrategy) -> MessageIdStrategy:
    """
    Make the id of what several strategies find, all of which have to find something.

    Args:
        strategies: in a fixed order, which is part of the id.
    """
    _check(strategies, "all_of")

    def find(message: Message) -> Any:
        places: list[str] = []
        values: list[Any] = []
        for position, strategy in enumerate(strategies, 1):
            place, value = f"part {position}", None
            try:
                value = strategy(message)
            except MissingMessageIdError as error:
                place += f" ({error})"
            places.append(place)
            values.append(value)
        return _together(places, values, message)

    return find


def first_of(*strategies: MessageIdStrategy) -> MessageIdStrategy:
    """
    Take the id from the first strategy whose place is not empty.

    A place that holds something unusable refuses the message: the next place might hold another message's id. All
    places are to hold the same id, if they hold one: order 42 and payment 42 would be one message.

    Args:
        strategies: in order of trust.
    """
    _check(strategies, "first_of")

    def find(message: Message) -> Any:
        missing: list[str] = []
        for strategy in strategies:
            try:
                value = strategy(message)
            except MissingMessageIdError as error:
                missing.append(str(error))
                continue
            if value is not None:
                return value
        raise MissingMessageIdError("; ".join(missing) or "no strategy found an id")

    return find


STRATEGY_FACTORIES: tuple[object, ...] = (
    attribute,
    body_field,
    content_hash,
    sns_message_id,
    event_id,
    s3_event_id,
    sqs_message_id,
    deduplication_id,
    all_of,
    first_of,
)
"""What makes a strategy, and is none itself."""


def _check(strategies: Iterable[object], name: str) -> None:
    problems = [
        f"{name}() got {strategy!r}: give strategies, such as body_field('order_id')"
        for strategy in strategies
        if not callable(strategy) or strategy in STRATEGY_FACTORIES
    ]
    if not strategies:
        problems = [f"{name}() needs at least one strategy"]
    if problems:
        raise ConfigurationError(*problems)


def _together(places: Sequence[str], values: Sequence[Any], message: Message) -> Any:
    """Return the only value, or all as a composite id; one that is missing among others would blur two messages."""
    empty = [place for place, value in zip(places, values, strict=True) if value is None]
    if len(empty) == len(values):
        raise _missing(f"there is nothing at {', '.join(empty)}", message)
    if empty:
        raise UnusableMessageIdError(f"a part of the id is missing: there is nothing at {', '.join(empty)}")
    return values[0] if len(values) == 1 else CompositeId(tuple(values))


def _opened(message: Message, *kinds: str) -> Envelope | None:
    """Return the innermost opened envelope of these kinds: the nearest to the producer."""
    return next((envelope for envelope in reversed(message.envelopes) if envelope.kind in kinds), None)


def _json(message: Message) -> Any:
    try:
        return message.json()
    except UnreadableMessageError as error:
        raise UnreadableMessageError(hinted(str(error), message.body)) from error.__cause__


def _content(value: Any) -> Any:
    """Return None for what holds nothing at all: everything without content would be one message."""
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, (list, dict)):
        members = value.values() if isinstance(value, dict) else value
        return value if any(_content(member) is not None for member in members) else None
    return value


def _quoted(paths: Iterable[str]) -> list[str]:
    return [repr(path) for path in paths]


def _misfit(paths: Iterable[str], error: JMESPathError) -> UnusableMessageIdError:
    what = str(error)
    if isinstance(error, JMESPathTypeError):  # its own text quotes the body
        what = f"{error.function_name}() got {error.actual_type}"
    return UnusableMessageIdError(f"the body does not fit {' and '.join(_quoted(paths))}: {what}")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _missing(what: str, message: Message) -> MissingMessageIdError:
    return MissingMessageIdError(hinted(what, message.body))
