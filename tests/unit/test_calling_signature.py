"""What can be registered as a handler, and what is refused at once."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from idempotent_consumer.calling import check_signature
from idempotent_consumer.errors import ConfigurationError

Handler = Callable[..., Any]


class Callables:
    """Everything that a person might register."""

    def plain(self, message: object, work: object) -> None: ...

    def with_default(self, message: object, work: object, retries: int = 3) -> None: ...

    def variadic(self, *arguments: object) -> None: ...

    async def coroutine(self, message: object, work: object) -> None: ...

    def none(self) -> None: ...

    def too_few(self, message: object) -> None: ...

    def too_many(self, message: object, work: object, more: object) -> None: ...

    def keywords(self, *, message: object, work: object) -> None: ...

    def generator(self, message: object, work: object) -> Iterator[int]:
        yield 1

    async def async_generator(self, message: object, work: object) -> AsyncIterator[int]:
        yield 1

    @staticmethod
    def static(message: object, work: object) -> None: ...

    @classmethod
    def of_class(cls, message: object, work: object) -> None: ...


HANDLERS = Callables()


class CallableObject:
    def __call__(self, message: object, work: object) -> None: ...


class CallableGenerator:
    def __call__(self, message: object, work: object) -> Iterator[int]:
        yield 1


class CallableAsyncGenerator:
    async def __call__(self, message: object, work: object) -> AsyncIterator[int]:
        yield 1


@pytest.mark.parametrize(
    "handler",
    [
        HANDLERS.plain,
        HANDLERS.with_default,
        HANDLERS.variadic,
        HANDLERS.coroutine,
        HANDLERS.static,
        HANDLERS.of_class,
        lambda message, work: None,
        functools.partial(HANDLERS.too_many, more=1),
        functools.partial(HANDLERS.too_many, 0),
        CallableObject(),
        max,
        print,
    ],
)
def test_what_takes_a_message_and_work_can_be_a_handler(handler: Handler) -> None:
    check_signature(handler, "message", "work")  # raises nothing


@pytest.mark.parametrize(
    "handler",
    [HANDLERS.none, HANDLERS.too_few, HANDLERS.too_many, HANDLERS.keywords, functools.partial(HANDLERS.plain, 0)],
)
def test_a_wrong_signature_is_refused_with_the_right_one(handler: Handler) -> None:
    with pytest.raises(ConfigurationError, match=r"must take \(message, work\)"):
        check_signature(handler, "message", "work")


@pytest.mark.parametrize("handler", [None, "text", 42, object(), []])
def test_what_cannot_be_called_is_refused(handler: object) -> None:
    with pytest.raises(ConfigurationError, match="is no function"):
        check_signature(handler, "message", "work")


@pytest.mark.parametrize(
    "handler",
    [
        HANDLERS.generator,
        HANDLERS.async_generator,
        functools.partial(HANDLERS.generator),
        CallableGenerator(),
        CallableAsyncGenerator(),
    ],
)
def test_a_generator_is_refused_since_its_body_would_never_run(handler: Handler) -> None:
    with pytest.raises(ConfigurationError, match="generator"):
        check_signature(handler, "message", "work")
