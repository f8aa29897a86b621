"""A wrong consumer is refused while the function is imported, with everything that is wrong about it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import idempotent_consumer
from idempotent_consumer import (
    ConfigurationError,
    Eager,
    IdempotentConsumer,
    Lazy,
    Message,
    Natural,
    Transactional,
    UnitOfWork,
    attribute,
    body_field,
    envelopes,
    first_of,
    sqs_message_id,
)
from idempotent_consumer.testing import InMemoryStore, sqs_event


def consumer(**options: Any) -> IdempotentConsumer:
    return IdempotentConsumer("consumer", mode=Lazy(), message_id=attribute("id"), store=InMemoryStore(), **options)


def test_everything_that_is_wrong_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_RECEIVE_COUNT", "five")
    monkeypatch.setenv("IDEMPOTENCY_DISABLED", "perhaps")

    with pytest.raises(ConfigurationError) as caught:
        IdempotentConsumer(
            "my#consumer",
            mode=Lazy(),
            retention=timedelta(hours=1),
            concurrency=0,
            reject_on=["ValueError"],  # type: ignore[list-item]
            fingerprint="amount",
            envelope=[envelopes.sns, "sns"],  # type: ignore[list-item]
            parse="json",
        )

    for part in (
        "MAX_RECEIVE_COUNT is 'five'",
        "IDEMPOTENCY_DISABLED is 'perhaps'",
        "the consumer name is 'my#consumer'",
        "message_id is missing",
        "retention is 1:00:00",
        "concurrency is 0",
        "reject_on holds 'ValueError'",
        "fingerprint takes a sequence",
        "envelope is sns itself: sns is to be called, such as envelopes.sns()",
        "envelope holds 'sns'",
        "parse is 'json'",
        "PROCESSED_MESSAGES_TABLE is not set",
    ):
        assert part in str(caught.value)
    assert len(caught.value.problems) == 12


def test_one_bad_setting_does_not_make_the_others_look_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_RECEIVE_COUNT", "many")
    monkeypatch.setenv("PROCESSED_MESSAGES_TABLE", "processed-messages")

    with pytest.raises(ConfigurationError) as caught:
        IdempotentConsumer("consumer", mode=Lazy(), message_id=attribute("id"))

    assert caught.value.problems == ("MAX_RECEIVE_COUNT is 'many': give a whole number from 1",)


def test_a_variable_of_powertools_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "bogus")

    with pytest.raises(ConfigurationError, match="Unknown level"):
        IdempotentConsumer("new-logger", mode=Natural())


@pytest.mark.parametrize("factory", [attribute, body_field, sqs_message_id, first_of])
def test_an_id_strategy_that_was_not_called_is_refused(factory: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"{factory.__name__} is to be called"):
        IdempotentConsumer("consumer", mode=Lazy(), message_id=factory, store=InMemoryStore())


def test_an_id_that_is_no_strategy_is_told_what_would_be_one() -> None:
    with pytest.raises(ConfigurationError, match="message_id is 'order_id'"):
        IdempotentConsumer("consumer", mode=Lazy(), message_id="order_id", store=InMemoryStore())  # type: ignore[arg-type]


def test_the_function_that_lambda_calls_is_not_taken_for_the_handler() -> None:
    def lambda_handler(event: Any, context: Any) -> None: ...

    with pytest.raises(ConfigurationError, match=r"must take \(message, work\)"):
        consumer().handler(lambda_handler)


def test_an_answer_to_failed_conditions_is_refused_where_there_are_none() -> None:
    with pytest.raises(ConfigurationError, match="Transactional"):
        consumer().on_condition_failed(lambda message, work, failure: None)


def test_a_region_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("PROCESSED_MESSAGES_TABLE", "processed-messages")

    with pytest.raises(ConfigurationError, match="AWS_DEFAULT_REGION"):
        IdempotentConsumer("consumer", mode=Lazy(), message_id=attribute("id"))


def test_the_table_of_the_environment_is_used_without_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCESSED_MESSAGES_TABLE", "processed-messages")

    IdempotentConsumer("consumer", mode=Lazy(), message_id=attribute("id"))


def test_natural_mode_needs_no_table_and_takes_no_id() -> None:
    IdempotentConsumer("consumer", mode=Natural())

    with pytest.raises(ConfigurationError, match="remembers nothing"):
        IdempotentConsumer("consumer", mode=Natural(), message_id=attribute("id"))


@pytest.mark.parametrize("mode", [None, "eager", Lazy])
def test_a_mode_that_is_none_is_refused(mode: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"give Lazy\(\), Eager\(\)"):
        IdempotentConsumer("consumer", mode=mode, message_id=attribute("id"), store=InMemoryStore())


@pytest.mark.parametrize("lease", [timedelta(0), timedelta(seconds=-1), timedelta(days=1), 30])
def test_a_lease_of_nothing_or_for_ever_is_refused(lease: Any) -> None:
    with pytest.raises(ConfigurationError, match="give a timedelta of at most 12:00:00"):
        Eager(lease=lease)


@pytest.mark.parametrize("make", [lambda: body_field("a["), lambda: attribute(""), first_of])
def test_an_id_strategy_that_cannot_work_is_refused_where_it_is_made(make: Any) -> None:
    with pytest.raises(ConfigurationError):
        make()


def test_a_second_handler_is_refused() -> None:
    twice = consumer()
    twice.handler(lambda message, work: None)

    with pytest.raises(ConfigurationError, match="make another consumer"):
        twice.handler(lambda message, work: None)


def test_a_second_answer_to_failed_conditions_is_refused() -> None:
    twice = IdempotentConsumer("consumer", mode=Transactional(), message_id=attribute("id"), store=InMemoryStore())
    twice.on_condition_failed(lambda message, work, failure: None)

    with pytest.raises(ConfigurationError, match="has its on_condition_failed"):
        twice.on_condition_failed(lambda message, work, failure: None)


def test_without_a_handler_nothing_is_acknowledged() -> None:
    with pytest.raises(ConfigurationError, match="has no handler"):
        consumer().consume(sqs_event())


def generator(message: Message, work: UnitOfWork) -> Iterator[None]:
    yield


@pytest.mark.parametrize(
    "wrong",
    [lambda: None, lambda message: None, lambda a, b, c: None, lambda *, message, work: None, generator, "text"],
)
def test_a_handler_that_cannot_be_called_or_would_not_run_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError):
        consumer().handler(wrong)


def test_a_handler_stays_what_it_was() -> None:
    def handle(message: Message, work: UnitOfWork) -> None:
        """Handle."""

    assert consumer().handler(handle) is handle


def test_the_public_names_are_these() -> None:
    """A name more or less is a decision: say so in CHANGELOG.md, and document it."""
    assert idempotent_consumer.__all__ == [
        "Backoff",
        "BatchResponse",
        "ConditionFailed",
        "ConfigurationError",
        "DeliveryReport",
        "DynamoDBStore",
        "Eager",
        "IdempotentConsumer",
        "Lazy",
        "Message",
        "Natural",
        "Outcome",
        "Reject",
        "RetryLater",
        "S3Object",
        "Settings",
        "Transactional",
        "UnitOfWork",
        "all_of",
        "attribute",
        "body_field",
        "content_hash",
        "deduplication_id",
        "envelopes",
        "event_id",
        "first_of",
        "s3_event_id",
        "s3_objects",
        "sns_message_id",
        "sqs_message_id",
    ]
