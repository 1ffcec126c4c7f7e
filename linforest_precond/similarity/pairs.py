"""Batches of pairs of sets: one dense block of weights for each pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array


@dataclass(frozen=True, eq=False)
class SetPairs:
    """Pairs of sets, and where the weights, rows and columns of each begin."""

    lefts: Array
    rights: Array
    rows: Array
    columns: Array
    starts: Array
    row_starts: Array
    column_starts: Array
    cells: int
    all_rows: int
    all_columns: int

    @classmethod
    def of(cls, lefts: Array, rights: Array, sizes: Array) -> SetPairs:
        """Pairs of sets with these sizes, on the host."""
        rows, columns = sizes[lefts], sizes[rights]
        ends = [np.cumsum(counts) for counts in (rows * columns, rows, columns)]
        starts = (end - counts for end, counts in zip(ends, (rows * columns, rows, columns)))
        totals = (int(counts.sum()) for counts in (rows * columns, rows, columns))
        return cls(lefts, rights, rows, columns, *starts, *totals)

    def __getitem__(self, chosen: Any) -> SetPairs:
        """Some of the pairs; what was allocated for all of them stays where it is."""
        arrays = {name: array[chosen] for name, array in _arrays(self).items()}
        return replace(self, **arrays)

    def on(self, backend: Backend) -> SetPairs:
        return on_device(self, backend)


def on_device(record: Any, backend: Backend) -> Any:
    """A record with its arrays on a backend's device."""
    return replace(record, **{name: backend.xp.asarray(array) for name, array in _arrays(record).items()})


def _arrays(record: Any) -> dict[str, Array]:
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return {name: value for name, value in values.items() if hasattr(value, "shape")}


def batches(lefts: Array, rights: Array, sizes: Array, cells: int) -> Iterator[SetPairs]:
    """Batches of pairs with at most `cells` weights each; a pair with more is a batch by itself."""
    for begin, end in bounded_ranges(sizes[lefts] * sizes[rights], cells):
        yield SetPairs.of(lefts[begin:end], rights[begin:end], sizes)


def bounded_ranges(costs: Array, most: int) -> Iterator[tuple[int, int]]:
    """Consecutive ranges of items with a sum of costs of at most `most`; one item may cost more."""
    ends, begin = np.cumsum(costs), 0
    while begin < costs.size:
        done = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + most, side="right")))
        yield begin, end
        begin = end
