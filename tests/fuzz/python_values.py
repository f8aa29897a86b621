"""Values of Python that a strategy of a user's own may return, and how the rules write them."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any
from uuid import UUID

from tests.fuzz.bodies import is_unicode
from tests.fuzz.choices import Choices
from tests.fuzz.values import NO_IDS, NUMBERS, TEXTS
from tests.fuzz.wrapping import Raw

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    LARGE = 42


class Plain(Enum):
    THING = "thing"


WHOLE = [number for number in NUMBERS if not isinstance(number, Raw)]
OTHERS = [value for value in NO_IDS if not isinstance(value, Raw)]
EXPONENTS = (0, -2, 1, 2, -1, -5, 5, 99, 101, -120, 5_000)


LIKE_OTHERS = (
    "2026-01-01",
    "2026-01-01T00:00:00+00:00",
    str(UUID(int=1)),
    "1.1",
    "red",
    Colour.RED,
    Size.LARGE,
    Plain.THING,
    b"red",
    bytearray(b"red"),
    (1, 2),
    {"a"},
    object(),
    Decimal("NaN"),
    Decimal("-Infinity"),
    1e30,
)
ZONES = (UTC, timezone(timedelta(hours=2)), timezone(timedelta(hours=-5, minutes=-30)), None)
MOMENTS = (
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 1, 2, tzinfo=UTC),
    datetime(2025, 12, 31, 18, 30, tzinfo=UTC),
    datetime(2026, 1, 1, 0, 0, 0, 5, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
)
MAKERS: Sequence[Callable[[Choices], Any]] = (
    lambda choose: choose.of(TEXTS),
    lambda choose: choose.of(WHOLE),
    lambda choose: Decimal(choose.of((0, 1, 42, 110, -7, 4_200, 10**30))).scaleb(choose.of(EXPONENTS)),
    lambda choose: UUID(int=choose.below(3)),
    lambda choose: date(2026, 1, 1 + choose.below(3)),
    lambda choose: choose.of(MOMENTS).replace(tzinfo=choose.of(ZONES)),
    lambda choose: choose.of(OTHERS),
    lambda choose: choose.of(LIKE_OTHERS),
)


def value(choose: Choices) -> Any:
    """Make a value."""
    return choose.of(MAKERS)(choose)


def written(found: Any) -> str | None:
    """Return the text that the rules make of a value; None if they refuse it."""
    if isinstance(found, bool) or found is None:
        return None
    if isinstance(found, str):
        return str.__str__(found) if found.strip() and is_unicode(found) else None
    if isinstance(found, int):
        return f"{found:d}"
    if isinstance(found, Decimal):
        return _decimal(found)
    if isinstance(found, datetime):
        return _instant(found)
    if isinstance(found, date):
        return f"{found.year:04}-{found.month:02}-{found.day:02}"
    return f"{found}" if isinstance(found, UUID) else None


def _decimal(found: Decimal) -> str | None:
    """Write digits; none of more than a hundred, before the point or as zeros after it, which nobody means."""
    sign, digits, exponent = found.as_tuple()
    if not isinstance(exponent, int) or abs(found.adjusted()) > 100:
        return None
    text = "".join(map(str, digits)) + "0" * max(0, exponent)
    whole, fraction = (text[:exponent], text[exponent:].rjust(-exponent, "0")) if exponent < 0 else (text, "")
    number = (whole.lstrip("0") or "0") + ("." + fraction).rstrip("0").rstrip(".")
    return f"-{number}" if sign and number != "0" else number


def _instant(found: datetime) -> str | None:
    """Write the moment in UTC; a datetime without zone is none."""
    if found.tzinfo is None:
        return None
    try:
        utc = (EPOCH + (found - EPOCH)).replace(tzinfo=None)
    except OverflowError:
        return None
    return utc.isoformat() + "+00:00"
