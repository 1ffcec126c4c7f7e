"""Candidates are pairs of sets that pass the length filter and the prefix filter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from linforest_precond.backends.annotations import Array
from linforest_precond.similarity.pairs import bounded_ranges
from linforest_precond.similarity.token_sets import UNIT, TokenSets

# The relative tolerance of required overlaps, far above the rounding errors of sums. Upper bounds and filters
# use twice the tolerance, so they keep every similar pair.
TOLERANCE = 2.0**-40
# The most products of prefixes in one chunk, which bounds its candidate pairs.
CHUNK = 2**22


@dataclass(frozen=True, eq=False)
class Sides:
    """The sets of a join by increasing size: numbers of the left ones and of the right ones."""

    lefts: Array
    rights: Array
    itself: bool

    @classmethod
    def of(cls, sizes: Array, lefts: int | None) -> Sides:
        """The sides of a join of the first `lefts` sets with the others, or of all with themselves."""
        ends = (0, sizes.size) if lefts is None else (lefts, lefts)
        left, right = np.arange(ends[1]), np.arange(ends[0], sizes.size)
        return cls(_by_size(left, sizes), _by_size(right, sizes), lefts is None)


def _by_size(side: Array, sizes: Array) -> Array:
    return side[np.argsort(sizes[side], kind="stable")]


def required_overlap(threshold: float, sizes: Array) -> Array:
    """The overlap from which on a pair is similar, for the sum of the two sizes."""
    return threshold / (1.0 + threshold) * sizes


def in_units(overlap: Array) -> Array:
    """A required overlap as an integer for filters, rounded down."""
    return np.floor(overlap * (UNIT * (1.0 - 2.0 * TOLERANCE))).astype(np.int64)


class Index:
    """The inverted index of the prefixes of both sides."""

    def __init__(self, token_sets: TokenSets, sizes: Array, sides: Sides, threshold: float):
        self.sizes, self.sides, self.threshold = sizes, sides, threshold
        # Of a self-join, left sets are not larger than their partners: they need the overlap of equal sizes,
        # and have the shorter prefixes of an index (Xiao et al., Efficient similarity joins, 2011).
        smallest = required_overlap(threshold, 2 * sizes) if sides.itself else threshold * sizes
        left, left_open = token_sets.prefixes(in_units(smallest))
        right, right_open = token_sets.prefixes(in_units(threshold * sizes))
        # A set without a prefix is paired with all others by an additional column of its side.
        self.left = _with_columns(left, left_open, np.ones_like(left_open), sides.lefts)
        self.right = _with_columns(right, np.ones_like(right_open), right_open, sides.rights)
        frequencies = np.bincount(self.right.indices, minlength=self.right.shape[1])
        # Products for each left set.
        self.work = np.asarray(self.left @ frequencies)

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Ranges of left sets with a bounded number of products; a single set may have more."""
        return bounded_ranges(self.work, CHUNK)

    def pairs(self, begin: int, end: int) -> tuple[Array, Array]:
        """The candidates of a range of left sets: numbers of the left and of the right sets."""
        first, last = self._right_range(begin, end)
        products = (self.left[begin:end] @ self.right[first:last].T).tocoo()
        left, right = products.coords
        left, right = left + begin, right + first
        if self.sides.itself:
            left, right = left[left < right], right[left < right]
        lefts, rights = self.sides.lefts[left], self.sides.rights[right]
        fitting = self._sizes_fit(lefts, rights)
        return lefts[fitting], rights[fitting]

    def _right_range(self, begin: int, end: int) -> tuple[int, int]:
        """The right sets whose size fits to one of the left sets."""
        of_left, of_right = self.sizes[self.sides.lefts[begin:end]], self.sizes[self.sides.rights]
        smallest = np.floor(of_left[0] * self.threshold * (1.0 - 2.0 * TOLERANCE))
        largest = np.ceil(of_left[-1] / self.threshold * (1.0 + 2.0 * TOLERANCE))
        first = int(np.searchsorted(of_right, smallest, side="left"))
        return max(first, begin) if self.sides.itself else first, int(
            np.searchsorted(of_right, largest, side="right")
        )

    def _sizes_fit(self, lefts: Array, rights: Array) -> Array:
        of_left, of_right = self.sizes[lefts], self.sizes[rights]
        needed = required_overlap(self.threshold, of_left + of_right) * (1.0 - 2.0 * TOLERANCE)
        return np.minimum(of_left, of_right) >= needed


def _with_columns(prefixes: sp.csr_array, first: Array, second: Array, side: Array) -> sp.csr_array:
    columns = sp.csr_array(np.column_stack((first, second)).astype(np.int32))
    return sp.csr_array(sp.hstack((prefixes, columns), format="csr")[side])
