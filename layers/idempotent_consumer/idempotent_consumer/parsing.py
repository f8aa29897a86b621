"""What `parse=` may be, and what is said of a body that does not parse: which field is wrong, never what it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from idempotent_consumer.errors import EmptyEnvelope, PermanentError, UnreadableMessageError
from idempotent_consumer.outcome import describe

Parser = Callable[[str], Any]
"""Makes a payload of a body."""

_MOST_NAMED = 5  # fields of one body


def parser_of(parse: Any) -> Parser:
    """
    Return the function that makes a payload of a body.

    Args:
        parse: a function of the text; or a Pydantic model or `TypeAdapter`, whose own validation of JSON is called.
    """
    for name in ("model_validate_json", "validate_json"):
        if validate := getattr(parse, name, None):
            return validate  # type: ignore[no-any-return]
    return parse  # type: ignore[no-any-return]


def parsed(body: str, parse: Parser) -> Any:
    """
    Return the payload.

    Raises:
        UnreadableMessageError: the body does not parse; the error names the fields and its cause is the parser's own.
        EmptyEnvelope, PermanentError: as the parser raised them; it knows what it says.
        MemoryError, OSError: as the parser raised them; they are not the message's fault.
    """
    try:
        return parse(body)
    except (EmptyEnvelope, PermanentError, MemoryError, OSError):
        raise
    except Exception as error:
        raise UnreadableMessageError(f"the body does not parse: {_named_fields(error) or describe(error)}") from error


def _named_fields(error: Exception) -> str:
    """Name the fields that a Pydantic `ValidationError` is about; its own text would quote the body."""
    if not hasattr(error, "errors") or not hasattr(error, "error_count"):
        return ""
    found = error.errors(include_input=False, include_url=False, include_context=False)
    named = [f"{'.'.join(map(str, one['loc'])) or 'the body'}: {one['msg']}" for one in found[:_MOST_NAMED]]
    rest = len(found) - len(named)
    return "; ".join(named) + (f"; and {rest} more" if rest else "")
