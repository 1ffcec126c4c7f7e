"""`Graph` and `Pattern` of a checked matrix, the inputs of factors, matchings and orderings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linforest_precond.backends import OnBackend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.returns import PatternScan
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.matrix.value_range import is_nonzero

# The expected longest row, or about twice the mean length. More lanes per row would slow down short rows.
LONGEST_EXPECTED = 128


@dataclass(frozen=True, eq=False)
class Pattern(OnBackend):
    """The pattern of a square matrix: each stored entry off the diagonal is an edge from row to column."""

    indptr: Array
    indices: Array  # 32-bit whatever `indptr` is; may hold diagonal entries
    degrees: Array  # off-diagonal entries of each row, 32-bit
    symmetric: bool  # every edge goes both ways
    longest_row: int  # stored entries of the longest row

    @property
    def n(self) -> int:
        return self.indptr.size - 1

    @property
    def nnz(self) -> int:
        return self.indices.size


@dataclass(eq=False)
class Begun:
    """Work on a graph that was launched before the check of its matrix was read."""

    purpose: object
    values: Array  # the weights of the graph
    longest_row: int  # the result is valid where no row is longer
    result: Any

    def take(self, purpose: object, values: Array) -> Any | None:
        """The result, once, since its arrays may be changed in place; None for other purposes or weights."""
        result, self.result = self.result, None
        return result if self.purpose == purpose and self.values is values else None


@dataclass(frozen=True, eq=False)
class Graph(OnBackend):
    """The undirected weighted graph of a matrix: ``|A| - diag(|A|)``, made symmetric where it was not.

    The weight of an edge is the magnitude of its (real) value. Diagonal and zero entries may be stored; they
    are no edges.
    """

    indptr: Array
    indices: Array  # sorted in each row
    values: Array
    total_weight: float  # as in `CheckedMatrix`, like `scale` and `longest_row`
    scale: float
    longest_row: int
    slots_are_matrix: bool  # the graph has A's pattern: an entry has the same slot in both
    values_are_matrix: bool  # `values` are A's own, signs included
    begun: Begun | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        return self.indptr.size - 1

    def take_begun(self, purpose: object) -> Any | None:
        """The result for a purpose that was begun with these weights; None where there is none."""
        return None if self.begun is None else self.begun.take(purpose, self.values)


def expected_graph(indptr: Array, indices: Array, values: Array) -> Graph:
    """The graph that most matrices have, of one not checked yet: sorted, symmetric, without long rows."""
    mean = indices.size / max(indptr.size - 1, 1)
    longest = max(LONGEST_EXPECTED, 2 ** math.ceil(math.log2(2 * mean or 1)))
    return Graph(indptr, indices, values, 0.0, 1.0, longest, True, True)


def unit_graph(graph: Graph) -> Graph:
    """The graph with all weights 1."""
    ones = is_nonzero(graph.values).astype(graph.values.dtype)
    total = graph.backend.matrix.entries.scan(graph.indptr, graph.indices, ones).total
    return replace(graph, values=ones, total_weight=total, scale=1.0, values_are_matrix=False)


def pattern_from_scan(indptr: Array, indices: Array, scan: PatternScan) -> Pattern:
    """The pattern of sorted index arrays, with the properties that a scan of them found."""
    return Pattern(
        indptr, indices.astype(np.int32, copy=False), scan.degrees, scan.symmetric, scan.longest_row
    )


def symmetrized_pattern(pattern: Pattern) -> Pattern:
    """The pattern of A + A^T; the pattern itself where it is symmetric."""
    if pattern.symmetric:
        return pattern
    backend = pattern.backend
    index = index_dtype(2 * pattern.nnz, pattern.indptr.dtype)
    before, columns = pattern.indptr.astype(index, copy=False), pattern.indices.astype(index, copy=False)
    ones = backend.xp.ones(pattern.nnz, np.float32)
    indptr, indices, _, _ = backend.matrix.entries.symmetrized(before, columns, ones)
    added = indptr - before
    degrees = pattern.degrees + (added[1:] - added[:-1]).astype(np.int32)
    # stall: one number, where the pattern was not symmetric
    longest = int((indptr[1:] - indptr[:-1]).max())
    return Pattern(indptr, indices.astype(np.int32, copy=False), degrees, True, longest)
