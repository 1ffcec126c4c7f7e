"""Checks of single arguments, and the exceptions they raise."""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Collection
from typing import Any

import numpy as np


def as_integer(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """An argument as an int; a TypeError that names it for bools and fractions, ValueError out of bounds."""
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {shown(value)}") from None
    if least is not None and not least <= number <= (number if most is None else most):
        wanted = f"be at least {least}" if most is None else f"lie in [{least}, {most}]"
        raise ValueError(f"{name} must {wanted}, got {number}")
    return number


def as_dtype(name: str, value: Any) -> np.dtype[Any]:
    """An argument as a type of NumPy; a TypeError that names it for others."""
    try:
        return np.dtype(value)
    except (TypeError, ValueError):
        raise TypeError(f'{name} must be a type such as "float64", got {value!r}') from None


def as_path(name: str, value: Any) -> str:
    """An argument that is a string or a path."""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{name} must be a string or a path, got {shown(value)}") from None


def as_number(name: str, value: Any) -> float:
    """An argument as a float; a TypeError that names it for what is no number, such as a string."""
    with contextlib.suppress(TypeError, ValueError):
        if not isinstance(value, str | bytes):
            return float(value)
    raise TypeError(f"{name} must be a number, got {shown(value)}")


def integer(text: str) -> int:
    """An integer in ASCII digits; `int` takes 1_000 and the digits of other scripts, too."""
    return int(_plain(text))


def number(text: str) -> float:
    """A number in ASCII characters without underscores, as `integer`."""
    return float(_plain(text))


def _plain(text: str) -> str:
    if not text.isascii() or "_" in text:
        raise ValueError(f"{text!r} must have the digits 0 to 9 alone, as in 10 or 1e-8")
    return text


def as_flag(name: str, value: Any) -> bool:
    """An argument as True or False; integers are taken, too: 0 is False."""
    if not isinstance(value, bool | int | np.bool_ | np.integer):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def as_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """An argument that is one of several words; a ValueError that names it and them for others."""
    if isinstance(value, str) and value in choices:
        return value
    *others, last = (f'"{choice}"' for choice in choices)
    raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {shown(value)}")


def shown(value: Any) -> str:
    """An argument in an error: arrays and matrices by their type alone."""
    return f"a {type(value).__name__}" if hasattr(value, "shape") else repr(value)
