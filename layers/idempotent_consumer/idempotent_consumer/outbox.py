"""
The outbox: messages that leave if, and only if, the work of the handler that sends them is committed.

They are taken down at the call, stored in the processed message by the write that completes it, and sent from there by
the relay.

Source: https://microservices.io/patterns/data/transactional-outbox.html
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from idempotent_consumer.errors import (
    NoOutboxRelayError,
    OutboxFullError,
    UnsendableMessageError,
    WritesNotAllowedError,
)
from idempotent_consumer.outbound import Outgoing, Stamp
from idempotent_consumer.settings import LARGEST_OUTBOX_BYTES, current_trace_header
from idempotent_consumer.stored_outbox import outgoing_id, write_message, write_outbox


class Outbox:
    """
    Take down what one run of a handler sends.

    Args:
        key: of the processed message in which it is stored.
        has_relay: whether somebody sends what is stored there.
        refusal: why nothing can be taken; empty if it can.
        region: the AWS region of the relay; None if it makes no difference.
    """

    __slots__ = ("_has_relay", "_key", "_lock", "_messages", "_refusal", "_region", "_trace_header", "_written")

    def __init__(self, key: str = "", *, has_relay: bool, refusal: str = "", region: str | None = None) -> None:
        self._key = key
        self._has_relay = has_relay
        self._refusal = refusal
        self._region = region
        self._lock = threading.Lock()
        self._messages: list[Outgoing] = []
        self._written: list[str] = []
        self._trace_header: str | None = None

    @property
    def messages(self) -> Sequence[Outgoing]:
        """Return what was taken down so far, in the order of the calls."""
        return tuple(self._messages)

    def to_json(self) -> str | None:
        """Return the outbox as it is stored; None if nothing was taken down."""
        return write_outbox(self._written, self._trace_header) if self._written else None

    def put(self, message: Outgoing) -> str:
        """
        Take a message down.

        Returns:
            The message id under which it will be sent.

        Raises:
            UnsendableMessageError: its target would refuse it.
            WorkError: it cannot be stored; see its subclasses.
        """
        with self._lock:  # the handler may use threads of its own, and may return while one of them is here
            self.check_allowed()
            message_id = outgoing_id(self._key, len(self._messages) + 1)
            trace_header = self._trace_header or current_trace_header()
            message.entry(Stamp(message_id=message_id, trace_header=trace_header))  # raises what there is to say
            if self._region and message.region and message.region != self._region:
                raise UnsendableMessageError(
                    f"it goes to {message.region}, and the relay sends in {self._region}: have a rule, a subscription "
                    "or a consumer take it there"
                )
            written = [*self._written, write_message(message)]
            size = len(write_outbox(written, trace_header).encode())
            if size > LARGEST_OUTBOX_BYTES:
                raise OutboxFullError(
                    f"the outgoing messages of one unit of work would be {size:,} bytes together, and it stores "
                    f"{LARGEST_OUTBOX_BYTES:,}: put content into S3 and send where it is, or split the message"
                )
            self._messages.append(message)
            self._written, self._trace_header = written, trace_header
            return message_id

    def check_allowed(self) -> None:
        """
        Raise if nothing can be sent.

        Raises:
            WritesNotAllowedError: nobody would store it.
            NoOutboxRelayError: nobody would send it.
        """
        if self._refusal:
            raise WritesNotAllowedError(self._refusal)
        if not self._has_relay:
            raise NoOutboxRelayError(
                "OUTBOX_RELAY is not set: deploy the relay on the stream of the table of processed messages and name "
                "it there, or the message would wait for ever"
            )

    def close(self, reason: str) -> None:
        """Take no more: what a thread or task left behind by the handler sends now would be lost."""
        with self._lock:
            self._refusal = reason
