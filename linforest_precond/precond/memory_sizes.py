"""The quantities that estimates of memory are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Sizes:
    """The quantities of the formulas: rows, entries, and the bytes of an index and of values."""

    rows: int
    entries: int
    index: int
    value: int
    weight: int
    stored: int
    symmetric: bool
    copied: bool  # A is not in CSR format, and is converted
    matrix: Any = None  # A, for the pattern of factors

    @property
    def graph(self) -> int:
        """Bytes of the graph; none for a symmetric real matrix, which is its own graph."""
        if self.symmetric:
            return 0 if self.weight == self.value else self.weight * self.entries
        return 2 * (self.index + self.weight) * self.entries + self.index * self.rows

    @property
    def graph_in_making(self) -> int:
        """Peak bytes while A' + A'^T is formed: rows, sums, and the sorted entries without a mirror entry."""
        return self.graph + (0 if self.symmetric else (3 * self.index + 2 * self.weight + 24) * self.entries)

    @property
    def checks(self) -> int:
        """Bytes of the checks: the diagonal, the results of the scan, copied indices or converted CSR."""
        copies = self.index * (self.rows + self.entries)
        if self.copied:
            copies = (2 * self.index + 2 * self.value + 40) * self.entries
        return (
            (self.value + 16) * self.rows + self.weight * self.entries * (self.weight < self.value) + copies
        )


# The bytes of the operator and of its setup, for a matrix and the options of `memory_estimate` by name.
Estimate: TypeAlias = Callable[[Sizes, Mapping[str, Any]], tuple[int, int]]
