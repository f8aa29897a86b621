"""Numbers by the digits they are written with."""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal


def exact(text: str) -> Decimal:
    """Read a number with every digit and no trailing zeros; it costs what the text is long, whatever its exponent."""
    return Decimal(text).normalize(Context(prec=len(text), Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[]))
