"""Checks of the options of joins."""

from __future__ import annotations

import math
from typing import Any

from linforest_precond.backends import Backend, backend_named
from linforest_precond.backends.arguments import as_choice
from linforest_precond.matrices.arrays import array_modules
from linforest_precond.similarity.verification import MATCHINGS

SIMILARITIES = ("jaccard", "edit")
BOUNDS = ("matching", "upper")


def as_threshold(value: Any) -> float:
    number = _as_number("threshold", value)
    if not 0.0 < number <= 1.0:
        raise ValueError(f"threshold must be greater than 0 and at most 1, got {value!r}")
    return number


def as_epsilon(value: Any) -> float:
    number = _as_number("epsilon", value)
    if not (number >= 0.0 and math.isfinite(number)):
        raise ValueError(f"epsilon must be a number of at least 0, got {value!r}")
    return number


def as_matching(value: Any, device: Any) -> str:
    """One of the matchings that the device has."""
    matching = as_choice("matching", value, MATCHINGS)
    if not hasattr(backend_named(device or "cpu").similarity.set_matchings, matching):
        raise ValueError(
            f'matching="{matching}" runs on the CPU: use device="cpu", or bound="upper" to lose no pair'
        )
    return matching


def backend_on(device: str | None) -> Backend:
    array_modules(device)  # raises for an unusable device
    return backend_named(device or "cpu")


def _as_number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None
