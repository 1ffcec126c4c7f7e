"""Numbers and dates of a report as text; missing values are a dash."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

NONE = "–"
MINUS = "−"


def coverage(value: float | None) -> str:
    """
    A coverage with two digits, as the paper prints it.

    Examples
    --------
    >>> from linforest_precond.study.number_formats import coverage
    >>> coverage(0.6666), coverage(None)
    ('0.67', '–')
    """
    return fixed(value, 2)


def fixed(value: float | None, digits: int) -> str:
    """A number with that many digits after the point."""
    return NONE if missing(value) else f"{value:.{digits}f}".replace("-", MINUS)


def count(value: float | None) -> str:
    """
    A count with commas; half iterations keep their half.

    Examples
    --------
    >>> from linforest_precond.study.number_formats import count
    >>> count(6250000), count(87.5), count(88.0)
    ('6,250,000', '87.5', '88')
    """
    if value is None or missing(value):
        return NONE
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def seconds(value: float | None) -> str:
    """
    A time with three digits and a suitable unit.

    Examples
    --------
    >>> from linforest_precond.study.number_formats import seconds
    >>> seconds(0.00293), seconds(41.0), seconds(754)
    ('2.93 ms', '41.0 s', '12.6 min')
    """
    if value is None or missing(value):
        return NONE
    if value >= 120:
        return f"{digits3(value / 60)} min"
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= 0.9995 * scale:
            return f"{digits3(value / scale)} {unit}"
    return f"{digits3(value / 1e-9)} ns"


def digits3(value: float | None) -> str:
    """
    Three digits, without an exponent.

    Examples
    --------
    >>> from linforest_precond.study.number_formats import digits3
    >>> digits3(0.04567), digits3(4.567), digits3(4567.8)
    ('0.0457', '4.57', '4,568')
    """
    if value is None or missing(value):
        return NONE
    size = math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(2 - size, 0), 9)}f}".replace("-", MINUS)


def small(value: float | None) -> str:
    """A residual or an error: two digits and a power of ten."""
    return NONE if missing(value) else f"{value:.1e}".replace("e-0", "e-").replace("-", MINUS)


def yes_no(value: bool | None) -> str:
    return NONE if value is None else "yes" if value else "no"


def difference(value: float, digits: int) -> str:
    """
    A difference with its sign.

    Examples
    --------
    >>> from linforest_precond.study.number_formats import difference
    >>> difference(0.004, 2), difference(-0.03, 2), difference(-2, 0)
    ('+0.00', '−0.03', '−2')
    """
    rounded = round(value, digits) + 0.0  # turns -0.0 into 0.0
    return f"{rounded:+,.{digits}f}".replace("-", MINUS)


def moment(text: str | None) -> str:
    """
    An ISO time to the minute; other text is returned unchanged.

    Examples
    --------
    >>> from linforest_precond.study.number_formats import moment
    >>> moment("2026-01-05T10:00:59+00:00"), moment("2026-01-05T10:00:59")
    ('2026-01-05 10:00 UTC', '2026-01-05 10:00')
    """
    if not text:
        return NONE
    try:
        return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M %Z}".rstrip()
    except (TypeError, ValueError):
        return str(text)


def elapsed(start: str | None, end: str | None) -> float | None:
    """Seconds between two ISO times."""
    if start is None or end is None:
        return None
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (TypeError, ValueError):
        return None


def missing(value: Any) -> bool:
    """True for None, NaN and infinities."""
    return value is None or not math.isfinite(value)


def listed(words: list[str]) -> str:
    """
    Words with commas and an "and".

    Examples
    --------
    >>> from linforest_precond.study.number_formats import listed
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)
