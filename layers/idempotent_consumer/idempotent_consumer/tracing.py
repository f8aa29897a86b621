"""
The part of a message in X-Ray's traces: a subsegment of the invocation, and a copy in the trace of whoever sent it.

Lambda makes a trace for each invocation, in which the segment is its own and cannot be replaced; X-Ray links it as a
whole with the traces of a batch's producers. The subsegment hangs there, so that what a handler traces hangs under it.
A subsegment can be sent by itself to any trace, too: so the producer's tells what became of this very message.

It goes past Powertools' Tracer to the recorder that this shares with everybody: making a Tracer here would set service
and patching of the user's own.

Source: https://docs.aws.amazon.com/xray/latest/devguide/xray-api-segmentdocuments.html
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Awaitable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from idempotent_consumer.message import Message
from idempotent_consumer.outcome import Settlement
from idempotent_consumer.record import SqsRecord
from idempotent_consumer.settings import is_traced

_LONGEST_ANNOTATION = 500  # characters; X-Ray indexes them, and drops a document whose are too long
_TRACE_ID = re.compile(r"1-[0-9a-f]{8}-[0-9a-f]{24}")
_SEGMENT_ID = re.compile(r"[0-9a-f]{16}")

_around: ContextVar[Any] = ContextVar("idempotent_consumer_around", default=None)
"""The user's subsegment around the whole invocation, such as that of their Tracer; None if there is none."""


class Tracing:
    """
    Trace the handling of messages where Lambda has the invocation traced; elsewhere nothing is even imported.

    Args:
        consumer: name of the consumer.
    """

    def __init__(self, consumer: str) -> None:
        self._consumer = consumer
        self._open = threading.local()  # the X-Ray SDK keeps what is open by thread as well

    def start(self) -> None:
        """
        Look, in the calling thread, for what the messages of this invocation are to hang under.

        Making the SDK's recorder takes tenths of a second of CPU, once: here they are on no message's account.
        """
        is_on = is_traced() and _xray() is not None
        _around.set(_xray().current_subsegment() if is_on else None)

    def begin(self, record: SqsRecord, message: Message) -> None:
        """Begin a message's subsegment in this thread."""
        self._open.subsegment = None
        if not is_traced() or _xray() is None:
            return
        around = _around.get()
        if _xray().current_subsegment() is None and around is not None and around.in_progress:
            _xray().set_trace_entity(around)  # this is a worker's thread, to which it is new
        self._open.outer = _xray().current_subsegment()
        subsegment = _xray().begin_subsegment(f"handle {self._consumer}")
        if subsegment is None or _xray().current_subsegment() is not subsegment:  # the SDK is off, or discards it
            return
        self._open.subsegment, self._open.record = subsegment, record
        subsegment.put_annotation("consumer", self._consumer)
        subsegment.put_annotation("sqs_message_id", record.sqs_message_id)
        if message._id is not None:  # noqa: SLF001 - None where there is no id, which is no error here
            subsegment.put_annotation("message_id", message._id[:_LONGEST_ANNOTATION])  # noqa: SLF001

    def awaiting(self, awaitable: Awaitable[Any]) -> Awaitable[Any]:
        """Return what awaits it with this thread's subsegments open, in whichever thread that is done."""
        if getattr(self._open, "subsegment", None) is None:
            return awaitable
        kept = getattr(_xray().context, "_local", None)
        return _Stepwise(awaitable, kept) if type(kept) is threading.local else awaitable

    def end(self, settlement: Settlement | None) -> None:
        """End it with its outcome, and whatever the handler has left open in it."""
        subsegment, self._open.subsegment = self._open.subsegment, None
        if subsegment is None:
            return
        try:
            if subsegment.in_progress:  # otherwise the handler has ended more than it had begun
                _finish(subsegment, settlement, self._open.record.trace_header)
        finally:
            _return_to(self._open.outer)


class _Stepwise:
    """
    Await something so that in each of its steps, and in none of another's, this thread's subsegments are open.

    The X-Ray SDK keeps them by thread, and async handlers take turns in one while their own threads wait.

    Args:
        awaitable: what to await.
        kept: where the SDK keeps them.
    """

    def __init__(self, awaitable: Awaitable[Any], kept: threading.local) -> None:
        self._awaitable = awaitable
        self._kept = kept
        self._theirs = vars(kept)  # of the thread that is here now

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = _awaited(self._awaitable).__await__()
        error: BaseException | None = None
        while True:
            with self._opened():
                try:
                    waits_for = next(steps) if error is None else steps.throw(error)
                except StopIteration as end:
                    return end.value
            error = None
            try:
                yield waits_for
            except BaseException as raised:  # noqa: BLE001 - such as being cancelled: it is for the awaitable
                error = raised

    @contextmanager
    def _opened(self) -> Iterator[None]:
        here = vars(self._kept)
        outer = dict(here)
        _replace(here, self._theirs)
        try:
            yield
        finally:
            _replace(self._theirs, dict(here))  # the handler may have put others in their place
            _replace(here, outer)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    """Await something by the language's own means: a coroutine made by `types.coroutine` has no `__await__`."""
    return await awaitable


def _replace(content: dict[str, Any], new: dict[str, Any]) -> None:
    content.clear()
    content.update(new)


@functools.cache
def _xray() -> Any:
    """Return the recorder that all users of the X-Ray SDK share; None if the SDK is not installed, or cannot start."""
    try:
        from aws_xray_sdk.core import xray_recorder
    except Exception:  # noqa: BLE001 - such as for an AWS_XRAY_DAEMON_ADDRESS that is none
        return None
    return xray_recorder


def _finish(subsegment: Any, settlement: Settlement | None, trace_header: str | None) -> None:
    if settlement is not None:
        subsegment.put_annotation("outcome", settlement.outcome.value)
        if settlement.error is not None:
            subsegment.add_exception(_of_its_kind(settlement), stack=[])
    try:
        while subsegment.in_progress and _xray().current_subsegment() is not None:
            _xray().end_subsegment()
    finally:
        if subsegment.in_progress:  # or what it hangs under would never be sent
            _xray().set_trace_entity(subsegment)
            _xray().end_subsegment()
    if subsegment.sampled:
        _send_copy(subsegment, trace_header)


def _return_to(outer: Any) -> None:
    """Have open in this thread what was open before a message, whatever its handler has left behind."""
    if _xray().current_subsegment() is outer:
        return
    if outer is None:
        _xray().clear_trace_entities()
    elif outer.in_progress:
        _xray().set_trace_entity(outer)


def _of_its_kind(settlement: Settlement) -> Exception:
    """
    Return an exception that reads like the settlement's.

    The SDK leaves marks on those that it is given, which some do not take, and sends text of any length.
    """
    kind: type[Exception] = type(type(settlement.error).__name__, (Exception,), {})
    return kind(settlement.reason)


def _send_copy(subsegment: Any, trace_header: str | None) -> None:
    """Send a subsegment once more, by itself, to the trace that a producer's header names."""
    from aws_xray_sdk.core.models.facade_segment import FacadeSegment
    from aws_xray_sdk.core.models.subsegment import Subsegment

    # Read here, since the SDK warns of each header that it cannot read.
    fields = dict(field.strip().partition("=")[::2] for field in (trace_header or "").split(";"))
    root, parent = fields.get("Root", ""), fields.get("Parent", "")
    is_whole = _TRACE_ID.fullmatch(root) and _SEGMENT_ID.fullmatch(parent) and fields.get("Sampled") == "1"
    if not is_whole or root == subsegment.trace_id:
        return
    producer = FacadeSegment("producer", entityid=parent, traceid=root, sampled=True)
    copy = Subsegment(subsegment.name, subsegment.namespace, producer)
    producer.add_subsegment(copy)
    copy.start_time = subsegment.start_time
    for name in ("fault", "cause"):  # there only if the handler raised
        if hasattr(subsegment, name):
            setattr(copy, name, getattr(subsegment, name))
    copy.annotations = {**subsegment.annotations, "handled_in": subsegment.trace_id}
    copy.close(subsegment.end_time)
    _xray().emitter.send_entity(copy)
