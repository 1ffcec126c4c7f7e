"""Records of matchings, and of the coarse matrices made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linforest_precond.backends import OnBackend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.matrix.conversion import sparse_like
from linforest_precond.records.forest import ChosenEdges, Progress, ratio_to_finest
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.records.read_only import ReadOnlyArrays

# Bounds of the rounding errors of a sum of dual variables: relative, and per vertex for subnormal ones.
ROUNDING, SUBNORMAL_ROUNDING = 2.0**-40, 2.0**-1070


@dataclass(frozen=True, eq=False, repr=False)
class Matching(ChosenEdges):
    """A matching: edges no two of which share a vertex.

    Attributes
    ----------
    mate : (N,) integer array
        The other end of each vertex's edge, -1 for a single vertex.
    values : (N,) array
        The graph's values on these edges, 0 for a single vertex.
    progress : array of two numbers
        `iterations` and `maximal`, on the device.
    total_weight, scale
        Those of the graph; coverages are relative to them.
    method : str
        The algorithm.
    duals : (N,) float64 array or None
        Of "augmented": dual variables of the vertices, times `scale`. Those of the two ends of any edge sum
        to its weight at least, up to rounding.
    """

    mate: Array
    values: Array
    progress: Progress
    total_weight: float
    scale: float = 1.0
    method: str = "locally_dominant"
    duals: Array | None = None

    @cached_property
    def size(self) -> int:
        """Number of edges."""
        return int((self.mate >= 0).sum()) // 2  # stall: on demand

    @cached_property
    def weight(self) -> float:
        """Sum of the weights of the edges, in float64."""
        both_ends: float = self.backend.matrix.sums.tree_sum(self.values, self.scale)
        return both_ends / (2.0 * self.scale)

    @cached_property
    def upper_bound(self) -> float | None:
        """No matching weighs more: the sum of the dual variables, rounded up; None where there are none."""
        if self.duals is None:
            return None
        if self.total_weight == 0:
            return 0.0
        total = self.backend.matrix.sums.tree_sum(self.duals) * (1.0 + ROUNDING)
        return float((total + self.mate.size * SUBNORMAL_ROUNDING) / self.scale)

    @property
    def gap(self) -> float | None:
        """The share of the optimum's weight that may be missing, at most: 1 - weight / upper_bound."""
        if self.upper_bound is None:
            return None
        return max(0.0, 1.0 - self.weight / self.upper_bound) if self.upper_bound else 0.0

    def _printout(self) -> Printout:
        vertices, gap = self.mate.size, self.gap
        bounds = [] if gap is None else [("gap", f"at most {gap:.4f} of the optimum is missing")]
        return self._table(
            f"matching ({self.method})",
            ("vertices", f"{vertices:,}"),
            ("edges", f"{self.size:,}, {vertices - 2 * self.size:,} vertices are single"),
            ("weight", f"{self.weight:.6g}"),
            *bounds,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Coarsening(OnBackend, ReadOnlyArrays, Printed):
    """A coarse matrix: the Galerkin product ``A = P.T @ A_fine @ P`` of an aggregation.

    Attributes
    ----------
    A : sparse matrix
        The coarse matrix, of the class and format of the fine one.
    aggregates : (N,) integer array
        The aggregate of each vertex, which is its row in the coarse matrix. Aggregates are numbered in the
        order of their lowest vertices.
    fine_nnz : int
        Stored entries of the fine matrix.
    """

    A: Any
    aggregates: Array
    fine_nnz: int

    @property
    def n(self) -> int:
        """Rows of the coarse matrix."""
        return int(self.A.shape[0])

    @cached_property
    def P(self) -> Any:  # noqa: N802
        """The tentative prolongator: N x n, with a one in each row, of the class and format of A."""
        xp, rows = xp_of(self.aggregates), self.aggregates.size
        indptr = xp.arange(rows + 1, dtype=self.aggregates.dtype)
        return sparse_like(self.A, xp.ones(rows, self.A.dtype), self.aggregates, indptr, (rows, self.n))

    def _printout(self) -> Printout:
        return Printout.of(
            "coarsening",
            ("unknowns", f"{self.aggregates.size:,} to {self.n:,}"),
            ("entries", f"{self.fine_nnz:,} to {self.A.nnz:,}"),
            self._sizes(),
        )

    def _sizes(self) -> tuple[str, str]:
        rows = self.aggregates.size
        largest = int(xp_of(self.aggregates).bincount(self.aggregates).max()) if rows else 0  # stall
        return "aggregates", f"{rows / max(self.n, 1):.2f} vertices on average, {largest:,} at most"


@dataclass(frozen=True, eq=False, repr=False)
class HypergraphCoarsening(Coarsening):
    """A coarse hypergraph: the rows `nets` of ``A_fine @ P``; rows are nets, columns are vertices.

    Attributes
    ----------
    A : sparse matrix
        The coarse incidence matrix, of the class and format of the fine one.
    aggregates : (N,) integer array
        The coarse vertex of each vertex.
    fine_nnz : int
        Pins of the fine hypergraph.
    nets : integer array
        The fine net of each coarse one, ascending. Nets with a single vertex left are dropped.
    fine_nets : int
        Nets of the fine hypergraph.
    """

    nets: Array
    fine_nets: int

    @property
    def n(self) -> int:
        """Vertices of the coarse hypergraph: columns of the coarse matrix."""
        return int(self.A.shape[1])

    def _printout(self) -> Printout:
        return Printout.of(
            "hypergraph coarsening",
            ("vertices", f"{self.aggregates.size:,} to {self.n:,}"),
            ("nets", f"{self.fine_nets:,} to {self.nets.size:,}"),
            ("pins", f"{self.fine_nnz:,} to {self.A.nnz:,}"),
            self._sizes(),
        )


@dataclass(frozen=True, eq=False, repr=False)
class CoarseningHierarchy(Printed, Sequence[Coarsening]):
    """A sequence of coarsenings: ``hierarchy[i]`` is that from level i to level i + 1.

    Attributes
    ----------
    A : sparse matrix
        The matrix of level 0.
    steps : tuple of Coarsening
        The coarsenings from each level to the next.
    stalled : bool
        Whether coarsening stopped early, because the coarsening ratio was too small: few vertices had edges.
    """

    A: Any
    steps: tuple[Coarsening, ...]
    stalled: bool

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, i: Any) -> Any:
        return self.steps[i]

    @property
    def levels(self) -> list[Any]:
        """The matrices, the finest first."""
        return [self.A, *(step.A for step in self.steps)]

    def _printout(self) -> Printout:
        levels = [(A.shape[0], A.nnz) for A in self.levels]
        unknowns, entries = map(ratio_to_finest, zip(*levels))
        return Printout.of(
            "coarsening hierarchy" + (", stalled" if self.stalled else ""),
            *((f"level {i}", f"{n:,} unknowns, {nnz:,} entries") for i, (n, nnz) in enumerate(levels)),
            ("in all", f"{unknowns:.2f} x the unknowns, {entries:.2f} x the entries"),
        )
