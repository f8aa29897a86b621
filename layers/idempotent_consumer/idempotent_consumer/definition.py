"""What is fixed about a consumer, checked as a whole before the first message: every problem is named at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from idempotent_consumer.backoff import Backoff
from idempotent_consumer.clock import Clock
from idempotent_consumer.dead_letters import DeadLetterQueue
from idempotent_consumer.dynamodb import DynamoDBStore
from idempotent_consumer.envelopes import OPENER_FACTORIES, Opener
from idempotent_consumer.errors import ConfigurationError
from idempotent_consumer.fingerprint import FingerprintSpecification
from idempotent_consumer.identity import MessageIdStrategy, consumer_name_problem
from idempotent_consumer.modes import Mode
from idempotent_consumer.outcome import DeliveryReport
from idempotent_consumer.parsing import Parser, parser_of
from idempotent_consumer.sending import SQSAccess
from idempotent_consumer.settings import MOST_CONCURRENT, Settings, read_settings
from idempotent_consumer.store import Store
from idempotent_consumer.strategies import STRATEGY_FACTORIES


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """Hold what `IdempotentConsumer` was given; its docstring describes the parts."""

    name: str
    mode: Mode
    message_id: MessageIdStrategy | None
    store: Store | None
    envelope: tuple[Opener, ...]
    parse: Parser | None
    reject_on: tuple[type[BaseException], ...]
    retention: timedelta
    fingerprint: FingerprintSpecification | None
    concurrency: int
    on_outcome: Callable[[DeliveryReport], None] | None
    settings: Settings
    backoff: Backoff
    sqs: SQSAccess
    shaping_sqs: SQSAccess
    clock: Clock

    @property
    def dead_letter_queue(self) -> DeadLetterQueue | None:
        """Return where deliveries go that are given up; None if that is not known."""
        url = self.settings.dead_letter_queue_url
        return DeadLetterQueue(url, self.sqs) if url else None

    @property
    def retention_ms(self) -> int:
        """Return the retention in whole milliseconds."""
        return self.retention // timedelta(milliseconds=1)


def define(
    *,
    envelope: Opener | Sequence[Opener],
    parse: Any,
    fingerprint: Sequence[str] | None,
    reject_on: Sequence[type[BaseException]],
    backoff: Backoff | None,
    settings: Settings | None,
    **parts: Any,
) -> Definition:
    """
    Check what a consumer was given, and find it a store.

    Raises:
        ConfigurationError: naming every problem, those of the environment included.
    """
    problems: list[str] = []
    if settings is None:
        settings, problems = read_settings()
    specification = None
    try:
        specification = FingerprintSpecification(fingerprint) if fingerprint is not None else None
    except ConfigurationError as error:
        problems += error.problems
    if backoff is None:
        try:
            backoff = Backoff(settings.backoff_base, settings.backoff_cap)
        except ConfigurationError as error:
            problems.append(f"BACKOFF_BASE_SECONDS, BACKOFF_CAP_SECONDS: {error}")
    definition = Definition(
        backoff=backoff or Backoff(),
        envelope=_all(envelope),
        parse=parser_of(parse),
        fingerprint=specification,
        reject_on=_all(reject_on),
        settings=settings,
        **parts,
    )
    problems += _problems(definition)
    if problems:
        raise ConfigurationError(*problems)
    if settings.queue_urls:
        definition.shaping_sqs.client()  # made now, because at the end of an invocation there is no time for it
    if definition.store is None and definition.mode.remembers:
        return replace(definition, store=DynamoDBStore(settings.processed_messages_table or ""))
    return definition


def _all(one_or_more: Any) -> tuple[Any, ...]:
    return tuple(one_or_more) if isinstance(one_or_more, (tuple, list)) else (one_or_more,)


def _problems(definition: Definition) -> Iterator[str]:
    if problem := consumer_name_problem(definition.name):
        yield problem
    if isinstance(definition.mode, type) or not isinstance(definition.mode, Mode):
        yield f"mode is {definition.mode!r}: give Lazy(), Eager(), Transactional() or Natural()"
    if getattr(definition.mode, "remembers", True):
        yield from _problems_of_remembering(definition)
    elif definition.message_id is not None:
        yield "a Natural consumer remembers nothing: leave message_id out, or choose another mode"
    yield from _problems_of_opening(definition)
    yield from _problems_of_handling(definition)


def _problems_of_remembering(definition: Definition) -> Iterator[str]:
    if definition.message_id is None:
        yield (
            "message_id is missing, and there is no default: say what identifies a message, such as "
            'attribute("message-id") or body_field("order_id")'
        )
    elif definition.message_id in STRATEGY_FACTORIES:
        name = getattr(definition.message_id, "__name__", "")
        yield f"message_id is {name} itself: {name} is to be called, such as {name}(…)"
    elif not callable(definition.message_id):
        yield (
            f"message_id is {definition.message_id!r}: give a function of the message, such as "
            f"body_field({definition.message_id!r}) or attribute({definition.message_id!r})"
        )
    if not isinstance(definition.retention, timedelta):
        yield f"retention is {definition.retention!r}: give a timedelta"
    elif definition.retention < definition.settings.shortest_retention:
        yield (
            f"retention is {definition.retention}: a message can come back for days, so remember it for "
            f"{definition.settings.shortest_retention} at least"
        )
    if definition.store is not None and not isinstance(definition.store, Store):
        yield f"store is {definition.store!r}: give a DynamoDBStore, or what has all methods of one"
    if definition.store is None and not definition.settings.processed_messages_table:
        yield "PROCESSED_MESSAGES_TABLE is not set: name the table of processed messages, or pass store="


def _problems_of_opening(definition: Definition) -> Iterator[str]:
    for opener in definition.envelope:
        if opener in OPENER_FACTORIES:
            name = getattr(opener, "__name__", "")
            yield f"envelope is {name} itself: {name} is to be called, such as envelopes.{name}()"
        elif not _is_function(opener):
            yield f"envelope holds {opener!r}: give envelopes.sns() and the like, or a function of the text inside"
    if definition.parse is not None and not _is_function(definition.parse):
        yield f"parse is {definition.parse!r}: give a function of the body, one that is not async, or a Pydantic model"


def _problems_of_handling(definition: Definition) -> Iterator[str]:
    for error in definition.reject_on:
        if not (isinstance(error, type) and issubclass(error, BaseException)):
            yield f"reject_on holds {error!r}: give exception classes"
    if definition.on_outcome is not None and not callable(definition.on_outcome):
        yield f"on_outcome is {definition.on_outcome!r}: give a function of the report"
    if not isinstance(definition.backoff, Backoff):
        yield f"backoff is {definition.backoff!r}: give a Backoff"
    if not isinstance(definition.concurrency, int) or not 1 <= definition.concurrency <= MOST_CONCURRENT:
        yield f"concurrency is {definition.concurrency!r}: give a whole number from 1 to {MOST_CONCURRENT}"


def _is_function(value: object) -> bool:
    return callable(value) and not inspect.iscoroutinefunction(value)
