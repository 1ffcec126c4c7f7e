"""Numbers and dates of a report as text; missing values are a dash."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from datetime import datetime
from functools import partial
from typing import Any

NONE = "–"
MINUS = "−"


def coverage(value: float | None) -> str:
    """A coverage with two digits, as the paper prints it."""
    return fixed(value, 2)


def fixed(value: float | None, digits: int) -> str:
    """A number with that many digits after the point."""
    return NONE if missing(value) else f"{value:.{digits}f}".replace("-", MINUS)


one_digit, two_digits, three_digits, four_digits = (partial(fixed, digits=digits) for digits in range(1, 5))


def count(value: float | None) -> str:
    """A count with commas; half iterations keep their half."""
    if value is None or missing(value):
        return NONE
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def rounded(value: float | None) -> str:
    """A number rounded to a count."""
    return count(value if value is None else round(value))


def words(field: str) -> str:
    """The name of a field as a heading."""
    return field.replace("_", " ").capitalize()


def seconds(value: float | None) -> str:
    """A time with three digits and a suitable unit."""
    if value is None or missing(value):
        return NONE
    if value >= 120:
        return f"{digits3(value / 60)} min"
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= 0.9995 * scale:
            return f"{digits3(value / scale)} {unit}"
    return f"{digits3(value / 1e-9)} ns"


def digits3(value: float | None) -> str:
    """Three digits, without an exponent."""
    if value is None or missing(value):
        return NONE
    size = math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(max(2 - size, 0), 9)}f}".replace("-", MINUS)


def small(value: float | None) -> str:
    """A residual or an error: two digits and a power of ten."""
    return NONE if missing(value) else f"{value:.1e}".replace("e-0", "e-").replace("-", MINUS)


def percent(share: float | None) -> str:
    return NONE if share is None or missing(share) else f"{100 * share:.0f} %"


def yes_no(value: bool | None) -> str:
    return NONE if value is None else "yes" if value else "no"


def difference(value: float, digits: int) -> str:
    """A difference with its sign."""
    rounded = round(value, digits) + 0.0  # turns -0.0 into 0.0
    return f"{rounded:+,.{digits}f}".replace("-", MINUS)


def moment(text: str | None) -> str:
    """An ISO time to the minute; other text is returned unchanged."""
    if not text:
        return NONE
    try:
        return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M %Z}".rstrip()
    except (TypeError, ValueError):
        return str(text)


def spread(values: Collection[float], form: Callable[[Any], str] = digits3) -> str:
    """The least and the greatest of some values, or one number where both look alike."""
    return " to ".join(dict.fromkeys((form(min(values)), form(max(values)))))


def missing(value: Any) -> bool:
    """True for None, NaN and infinities."""
    return value is None or not math.isfinite(value)


def listed(words: list[str]) -> str:
    """Words with commas and an "and"."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)
