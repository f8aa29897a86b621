"""Dead letters, and how they explain themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idempotent_consumer.record import DEAD_LETTER_ATTRIBUTE
from tools.demo.queues import Queue


@dataclass(frozen=True, slots=True)
class Letter:
    """
    Hold a message of a dead-letter queue.

    Attributes:
        queue: where it came from.
        sqs_message_id: how SQS called it there.
        consumer: who gave it up; None if SQS has moved it by itself.
        reason: why; None if SQS has moved it by itself.
    """

    queue: Queue
    sqs_message_id: str
    consumer: str | None = None
    reason: str | None = None

    @classmethod
    def of(cls, queue: Queue, message: Mapping[str, Any]) -> Letter:
        """Read a message as ReceiveMessage returns it, with all its attributes."""
        attribute = message.get("MessageAttributes", {}).get(DEAD_LETTER_ATTRIBUTE)
        if attribute is None:
            return cls(queue, message["MessageId"])
        explanation = json.loads(attribute["StringValue"])
        return cls(queue, explanation["sqs_message_id"], explanation["consumer"], explanation["reason"])
