"""Verification of candidates: weights between all elements, bounds, and a matching for each pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from linforest_precond.backends import Backend, backend_named
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.similarity.candidates import TOLERANCE, required_overlap
from linforest_precond.similarity.encoding import Sets, Symbols
from linforest_precond.similarity.pairs import SetPairs, batches, on_device

# Bytes per weight, with the heap of a greedy matching or SciPy's copy for an exact one.
BYTES_PER_CELL = 16
# Bytes per weight of a CSR matrix, with the ends of its edges and their order.
BYTES_PER_EDGE = 64

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
    host_arrays: tuple[Sets, Symbols]
    sets: Sets
    symbols: Symbols
    similarity: str
    name_of: Callable[[int], str]

    @classmethod
    def on(
        cls, backend: Backend, sets: Sets, symbols: Symbols, similarity: str, name_of: Callable[[int], str]
    ) -> Weigher:
        there = on_device(sets, backend), on_device(symbols, backend)
        return cls(backend, (sets, symbols), *there, similarity, name_of)

    @property
    def most_cells(self) -> int:
        """The weights of a batch."""
        return int(self.backend.similarity.set_pairs.CELLS)

    def __call__(self, pairs: SetPairs) -> Array:
        if pairs.cells > self.most_cells:
            self._check_memory(pairs, BYTES_PER_CELL * pairs.cells, self.backend)
        module = self.backend.similarity.set_pairs
        weigh = module.jaccard_weights if self.similarity == "jaccard" else module.edit_weights
        return weigh(self.sets, self.symbols, pairs)

    def sparse(self, pairs: SetPairs) -> csr_array | None:
        """The nonzero weights of a pair too large for a batch, on the host; None if they are many."""
        if pairs.cells <= self.most_cells or self.similarity != "jaccard":
            return None
        (sets, symbols), host = self.host_arrays, backend_named("cpu")
        elements = (
            sets.elements[sets.indptr[i] : sets.indptr[i + 1]] for i in (pairs.lefts[0], pairs.rights[0])
        )
        weights = host.similarity.sparse_weights
        left, right = (weights.token_matrix(symbols, each) for each in elements)
        needed = BYTES_PER_EDGE * int(left.sum(axis=0) @ right.sum(axis=0))  # an edge for each common token
        if needed > BYTES_PER_CELL * pairs.cells:
            return None
        self._check_memory(pairs, needed, host)
        return weights.jaccard_weights(left, right)

    def _check_memory(self, pairs: SetPairs, needed: int, backend: Backend) -> None:
        """Raise if the weights of a pair of sets, too large for a batch, do not fit into memory."""
        free = backend.runtime.calibration.free_bytes()
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
        return self.weigher.most_cells

    def __call__(self, lefts: Array, rights: Array) -> Iterator[Verified]:
        for pairs in batches(lefts, rights, self.sizes, self.cells):
            yield self._verify(pairs)

    def _verify(self, pairs: SetPairs) -> Verified:
        sparse = self.weigher.sparse(pairs)
        if sparse is not None:
            return self._of_edges(pairs, sparse)
        backend = self.weigher.backend
        there = pairs.on(backend)
        weights = self.weigher(there)
        # stall: chooses the pairs that are matched
        bounds = on_host(backend.similarity.set_matchings.largest_weight_bounds(weights, there))
        possible = self._possible(pairs, bounds)
        pairs, bounds = pairs[possible], bounds[possible]
        if self.matching == "exact":
            # On the backends that have it, which `as_matching` asks.
            overlaps = getattr(backend.similarity.set_matchings, self.matching)(weights, pairs)
            return self._similar(pairs, overlaps, overlaps)
        return self._approximate(pairs, weights, bounds)

    def _possible(self, pairs: SetPairs, bounds: Array) -> Array:
        return bounds >= self._required(pairs) * (1.0 - 2.0 * TOLERANCE)

    def _required(self, pairs: SetPairs) -> Array:
        return required_overlap(self.threshold, pairs.rows + pairs.columns)

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
        return self._similar(pairs, overlaps, np.minimum(bounds, limits))

    def _of_edges(self, pairs: SetPairs, weights: csr_array) -> Verified:
        """The same for one large pair, from the weights that are not zero."""
        module = backend_named("cpu").similarity.sparse_weights
        bounds = np.array([module.largest_weight_bound(weights)])
        pairs = pairs[possible := self._possible(pairs, bounds)]
        if not possible.any():
            return self._similar(pairs, bounds[possible], bounds[possible])
        if self.matching == "exact":
            overlaps = np.array([module.overlap(weights, module.exact(weights))])
            return self._similar(pairs, overlaps, overlaps)
        paz_schwartzman = self.matching == "paz_schwartzman"
        mates, *duals = (
            module.paz_schwartzman(weights, self.epsilon) if paz_schwartzman else module.greedy(weights)
        )
        overlaps = np.array([module.overlap(weights, mates)])
        limits = module.dual_bound(weights, *duals) if self.bound == "upper" else self._factor * overlaps
        return self._similar(pairs, overlaps, np.minimum(bounds, limits))

    def _similar(self, pairs: SetPairs, overlaps: Array, bounds: Array) -> Verified:
        """The pairs that reach the threshold, by their bounds or by what was matched."""
        bounds = np.maximum(bounds, overlaps)  # despite rounding
        by_bound = self.bound == "upper" and self.matching != "exact"
        reached, slack = (bounds, 2.0) if by_bound else (overlaps, 1.0)
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
