"""Setups as generators that yield before each stall, so that several run in lockstep.

The device works on one of them while the host prepares the others.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TypeAlias, TypeVar

Result = TypeVar("Result")
# Yields before each stall, and returns the result.
Steps: TypeAlias = Generator[None, None, Result]


def in_lockstep(computations: Iterable[Steps[Result]]) -> list[Result]:
    """The results of computations, each of which runs up to its next stall in turn."""
    running = dict(enumerate(computations))
    results: dict[int, Result] = {}
    while running:
        for number, steps in list(running.items()):
            try:
                next(steps)
            except StopIteration as end:
                results[number] = end.value
                del running[number]
    return [results[number] for number in sorted(results)]


def completed(steps: Steps[Result]) -> Result:
    return in_lockstep([steps])[0]
