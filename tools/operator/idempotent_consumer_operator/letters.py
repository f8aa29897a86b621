"""A dead letter, as the queue gives it out, and what it says of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from idempotent_consumer.outgoing import ID_ATTRIBUTE
from idempotent_consumer.record import DEAD_LETTER_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef

MOVED_BY_SQS = "moved by SQS, which does not say why"
UNEXPLAINED = "it does not say why it is here"

_SOURCE = "DeadLetterQueueSourceArn"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """
    Hold one dead letter.

    Attributes:
        sqs_message_id: SQS's own id of the letter.
        receipt_handle: what names this receive of it.
        body: as its producer sent it.
        attributes: its message attributes, in boto3's form, the letter's own among them.
        system: what SQS says of it: its system attributes.
        explanation: what the letter's own attribute says; None without a readable one, as when SQS itself has moved it.
            A redriven message keeps its attribute, so that one which SQS has moved may have one of an earlier time.
    """

    sqs_message_id: str
    receipt_handle: str
    body: str
    attributes: Mapping[str, Mapping[str, Any]]
    system: Mapping[str, str]
    explanation: Mapping[str, Any] | None

    @classmethod
    def of(cls, message: MessageTypeDef) -> DeadLetter:
        """Read a message that was received."""
        attributes: Mapping[str, Mapping[str, Any]] = message.get("MessageAttributes", {})
        return cls(
            sqs_message_id=message["MessageId"],
            receipt_handle=message["ReceiptHandle"],
            body=message.get("Body", ""),
            attributes=attributes,
            system=message.get("Attributes", {}),  # type: ignore[arg-type]
            explanation=_explanation(attributes.get(DEAD_LETTER_ATTRIBUTE)),
        )

    @property
    def is_moved_by_sqs(self) -> bool:
        """Tell whether SQS itself has moved the message: only then does it name the queue."""
        return _SOURCE in self.system

    @property
    def reason(self) -> str:
        """Return why the message was given up."""
        said = self._said("reason")
        if self.is_moved_by_sqs:
            return f"{MOVED_BY_SQS}; earlier: {said}" if said else MOVED_BY_SQS
        return said or UNEXPLAINED

    @property
    def error(self) -> str | None:
        """Return the name of the error's type."""
        return self._said_now("error")

    @property
    def outcome(self) -> str | None:
        """Return the outcome of the last delivery."""
        return self._said_now("outcome")

    @property
    def consumer(self) -> str | None:
        """Return the name of the consumer that gave it up."""
        return self._said("consumer")

    @property
    def key(self) -> str | None:
        """Return the message's key, if it had one."""
        return self._said("key")

    @property
    def message_id(self) -> str | None:
        """Return the id in the attribute that a `Producer` sets."""
        value = self.attributes.get(ID_ATTRIBUTE, {}).get("StringValue")
        return value if isinstance(value, str) else None

    @property
    def receive_count(self) -> int | None:
        """Return how often the message had been received when it was given up."""
        count = (self.explanation or {}).get("receive_count")
        return count if isinstance(count, int) and not self.is_moved_by_sqs else None

    @property
    def queue_arn(self) -> str | None:
        """Return the ARN of the queue that it comes from."""
        return self.system.get(_SOURCE) or self._said("queue_arn")

    @property
    def original_sqs_message_id(self) -> str:
        """Return how SQS called the message at first; when SQS itself moves a message, it keeps the id."""
        return self._said("sqs_message_id") or self.sqs_message_id

    @property
    def group_id(self) -> str | None:
        """Return the message group, if there is one."""
        return self.system.get("MessageGroupId")

    @property
    def given_up_at(self) -> datetime | None:
        """Return when the message was given up, as far as is known: a letter that SQS moved tells when it was sent."""
        try:
            at = datetime.fromisoformat(self._said_now("at") or "")
            return at if at.tzinfo else at.replace(tzinfo=UTC)
        except ValueError:
            pass
        return None if self.sent_ms is None else datetime.fromtimestamp(self.sent_ms / 1000, tz=UTC)

    @property
    def sent_ms(self) -> int | None:
        """Return when SQS took the letter, in milliseconds since 1970; what it moved itself it took in the queue."""
        text = self.system.get("SentTimestamp", "")
        return int(text) if text.isdecimal() else None

    def _said_now(self, name: str) -> str | None:
        return None if self.is_moved_by_sqs else self._said(name)

    def _said(self, name: str) -> str | None:
        value = (self.explanation or {}).get(name)
        return value if isinstance(value, str) and value else None


def _explanation(attribute: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if attribute is None:
        return None
    try:
        said = json.loads(attribute.get("StringValue", ""))
    except (ValueError, RecursionError):
        said = None
    # Without the first id it does not do what the attribute is for, whoever has set it.
    return said if isinstance(said, dict) and isinstance(said.get("sqs_message_id"), str) else None
