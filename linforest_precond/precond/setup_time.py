"""The time that the setup of a preconditioner took."""

from __future__ import annotations

import functools
from typing import Protocol


class Stopwatch(Protocol):
    """A backend's stopwatch, stopped."""

    def milliseconds(self) -> float:
        """The time that it measured."""


class SetupTime:
    """The time of a setup, read from the stopwatch on demand, and whether it includes compilation."""

    def __init__(self, watch: Stopwatch, first: bool):
        self._watch = watch
        self.first = first

    @functools.cached_property
    def milliseconds(self) -> float:
        return float(self._watch.milliseconds())

    def __str__(self) -> str:
        return f"{self.milliseconds:.3f} ms" + (" with compilation" if self.first else "")


class StoredTime:
    """The stopwatch of a restored preconditioner."""

    def __init__(self, milliseconds: float):
        self._milliseconds = milliseconds

    def milliseconds(self) -> float:
        return self._milliseconds
