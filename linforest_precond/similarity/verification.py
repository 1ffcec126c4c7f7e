"""Verification of candidates: weights between all elements, bounds, and a matching for each pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.similarity.candidates import TOLERANCE, required_overlap
from linforest_precond.similarity.encoding import Sets, Symbols
from linforest_precond.similarity.pairs import SetPairs, batches, on_device

# Bytes per weight, with the heap of a greedy matching or SciPy's copy for an exact one.
BYTES_PER_CELL = 16

MATCHINGS = ("greedy", "locally_dominant", "paz_schwartzman", "exact")


class Verified(NamedTuple):
    """Pairs of a batch: the weight of the matching and the upper bound on that of every matching."""

    lefts: Array
    rights: Array
    overlaps: Array
    bounds: Array


@dataclass(frozen=True, eq=False)
class Weigher:
    """Similarities of the elements of pairs of sets, on one device; `name_of` a set is for messages."""

    backend: Backend
    sets: Sets
    symbols: Symbols
    similarity: str
    name_of: Callable[[int], str]

    @classmethod
    def on(
        cls, backend: Backend, sets: Sets, symbols: Symbols, similarity: str, name_of: Callable[[int], str]
    ) -> Weigher:
        return cls(backend, on_device(sets, backend), on_device(symbols, backend), similarity, name_of)

    def __call__(self, pairs: SetPairs) -> Array:
        self._check_memory(pairs)
        module = self.backend.similarity.set_pairs
        weigh = module.jaccard_weights if self.similarity == "jaccard" else module.edit_weights
        return weigh(self.sets, self.symbols, pairs)

    def _check_memory(self, pairs: SetPairs) -> None:
        """Raise if a pair of sets, too large for a batch, has more weights than fit into memory."""
        if pairs.cells <= self.backend.similarity.set_pairs.CELLS:
            return
        needed, free = BYTES_PER_CELL * pairs.cells, self.backend.runtime.calibration.free_bytes()
        if needed > free:
            left, right = (self.name_of(int(side[0])) for side in (pairs.lefts, pairs.rights))
            raise MemoryError(
                f"{left} and {right} must have fewer elements, got {pairs.all_rows:,} and "
                f"{pairs.all_columns:,}: the weights between them need {needed:,} bytes, and {free:,} are "
                f"free; split such sets into parts of {math.isqrt(free // BYTES_PER_CELL):,} elements"
            )


@dataclass(frozen=True)
class Verifier:
    """Decides which candidates are similar."""

    weigher: Weigher
    sizes: Array
    threshold: float
    matching: str
    bound: str
    epsilon: float

    @property
    def cells(self) -> int:
        """The weights of a batch."""
        return int(self.weigher.backend.similarity.set_pairs.CELLS)

    def __call__(self, lefts: Array, rights: Array) -> Iterator[Verified]:
        for pairs in batches(lefts, rights, self.sizes, self.cells):
            yield self._verify(pairs)

    def _verify(self, pairs: SetPairs) -> Verified:
        backend = self.weigher.backend
        there = pairs.on(backend)
        weights = self.weigher(there)
        # stall: chooses the pairs that are matched
        bounds = on_host(backend.similarity.set_matchings.largest_weight_bounds(weights, there))
        possible = bounds >= self._required(pairs) * (1.0 - 2.0 * TOLERANCE)
        pairs, bounds = pairs[possible], bounds[possible]
        if self.matching == "exact":
            return self._exact(pairs, weights)
        return self._approximate(pairs, weights, bounds)

    def _required(self, pairs: SetPairs) -> Array:
        return required_overlap(self.threshold, pairs.rows + pairs.columns)

    def _exact(self, pairs: SetPairs, weights: Array) -> Verified:
        # On the backends that have it, which `as_matching` asks.
        overlaps = getattr(self.weigher.backend.similarity.set_matchings, self.matching)(weights, pairs)
        similar = overlaps >= self._required(pairs) * (1.0 - TOLERANCE)
        return Verified(*(array[similar] for array in (pairs.lefts, pairs.rights, overlaps, overlaps)))

    def _approximate(self, pairs: SetPairs, weights: Array, bounds: Array) -> Verified:
        backend, there = self.weigher.backend, pairs.on(self.weigher.backend)
        matchings = backend.similarity.set_matchings
        mates, *duals = matched(backend, self.matching, weights, there, self.epsilon)
        overlaps = on_host(
            matchings.overlaps(weights, there, mates)
        )  # stall: decides which pairs are similar
        if self.bound == "upper":
            # stall: decides which pairs are similar
            limits = on_host(matchings.dual_bounds(weights, there, *duals))
        else:
            limits = self._factor * overlaps  # at most the sum of the duals, and free
        bounds = np.maximum(np.minimum(bounds, limits), overlaps)  # at least the overlap, despite rounding
        reached, slack = (bounds, 2.0) if self.bound == "upper" else (overlaps, 1.0)
        similar = reached >= self._required(pairs) * (1.0 - slack * TOLERANCE)
        return Verified(*(array[similar] for array in (pairs.lefts, pairs.rights, overlaps, bounds)))

    @property
    def _factor(self) -> float:
        """The approximation factor of the matching."""
        return 2.0 + self.epsilon if self.matching == "paz_schwartzman" else 2.0


def matched(
    backend: Backend, matching: str, weights: Array, pairs: SetPairs, epsilon: float
) -> tuple[Array, Array, Array]:
    """The columns that the rows are matched with, and the duals of rows and columns."""
    module = backend.similarity.set_matchings
    if matching == "paz_schwartzman":
        return module.paz_schwartzman(weights, pairs, epsilon)
    return module.greedy(weights, pairs) if matching == "greedy" else module.locally_dominant(weights, pairs)
