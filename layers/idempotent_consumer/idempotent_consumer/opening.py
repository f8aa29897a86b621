"""Open a delivery: read its record, open its envelopes, find its id and payload, and say what is written about it."""

from __future__ import annotations

import uuid

from idempotent_consumer.clock import Deadline
from idempotent_consumer.definition import Definition
from idempotent_consumer.delivery import Delivery
from idempotent_consumer.envelopes import Opener
from idempotent_consumer.errors import ConfigurationError, EmptyEnvelope
from idempotent_consumer.identity import key_of, message_id_of
from idempotent_consumer.message import Envelope, Message, Opened, read_message
from idempotent_consumer.outcome import Outcome, Settlement, describe
from idempotent_consumer.parsing import parsed
from idempotent_consumer.recognition import content_of
from idempotent_consumer.record import SqsRecord
from idempotent_consumer.store import Mark

_NOT_THE_MESSAGES_FAULT = (MemoryError, OSError)  # an envelope function that fetches the content may time out


def open_delivery(definition: Definition, deadline: Deadline, position: int, record: object) -> Delivery:
    """
    Open a delivery; whatever its record holds, and users' functions make of it, concerns this delivery only.

    Args:
        definition: the consumer's.
        deadline: end of the invocation.
        position: place of the record in the event.
        record: element of the event's `Records`.

    Returns:
        The delivery; settled already as REJECTED if it cannot be read, as PROCESSED if its envelope carries no message,
        as DEFERRED if reading has taken half the time.
    """
    delivery = Delivery(position, SqsRecord.of(record), original=record)
    if position and deadline.left_ms() < deadline.total_ms // 2:
        # Ids and payloads are found by the user's functions, which may be slow: half of the time is for handling.
        delivery.settle(Settlement(Outcome.DEFERRED, "too little time left to read it"))
        return delivery
    try:
        delivery.message = read_message(record, deadline)
        _identify(delivery, delivery.message, definition)
    except KeyboardInterrupt:
        raise
    except EmptyEnvelope as found:
        delivery.settle(Settlement(Outcome.PROCESSED, f"nothing to do: {found}"))
    except BaseException as error:  # noqa: BLE001 - parsers may even exit
        outcome = Outcome.FAILED if isinstance(error, _NOT_THE_MESSAGES_FAULT) else Outcome.REJECTED
        delivery.settle(Settlement(outcome, describe(error), error))
    return delivery


def _identify(delivery: Delivery, message: Message, definition: Definition) -> None:
    for opener in definition.envelope:
        message = delivery.message = _without_envelope(message, opener)
    if definition.message_id is not None:
        message_id = message_id_of(message, definition.message_id)
        message = delivery.message = message.identified(message_id, key_of(definition.name, message_id))
    if definition.parse is not None:
        message = delivery.message = message.parsed(parsed(message.body, definition.parse))
    if definition.mode.remembers:
        delivery.mark = Mark(
            key=_key_of_its_own(message, definition) if definition.settings.idempotency_disabled else message.key,
            owner=uuid.uuid4().hex,
            fingerprint=definition.fingerprint.of(content_of(message.body)) if definition.fingerprint else None,
            source=f"{message.queue_arn} {message.sqs_message_id}",
            retention_ms=definition.retention_ms,
        )


def _without_envelope(message: Message, opener: Opener) -> Message:
    inside = opener(message.body)
    if isinstance(inside, Opened):
        return message.opened(inside)
    name = getattr(opener, "__name__", type(opener).__name__)
    if not isinstance(inside, str):
        raise ConfigurationError(f"the envelope function {name} returned {type(inside).__name__}: let it return text")
    return message if inside == message.body else message.opened(Opened(inside, Envelope(name, {})))


def _key_of_its_own(message: Message, definition: Definition) -> str:
    """Return a key under which nothing is recognised, while all else goes on as ever."""
    return key_of(definition.name, f"{message.id}#{uuid.uuid4().hex}")
