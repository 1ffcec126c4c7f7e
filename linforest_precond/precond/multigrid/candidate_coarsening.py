"""Smoothed aggregation that reproduces near-null space candidates on every level."""

from __future__ import annotations

from dataclasses import replace

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.graph.matching.repeated_coarsening import STALLED_SHARE
from linforest_precond.matrix.checked import described
from linforest_precond.precond.multigrid.grid_transfer import GridTransfer, Interpolation
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.multilevel_options import MultilevelOptions
from linforest_precond.precond.multigrid.multilevel_part import part_of_levels
from linforest_precond.precond.multigrid.near_null_space import (
    CandidateAggregates,
    adaptive_candidates,
    improved_candidates,
)
from linforest_precond.precond.multigrid.near_null_space_options import NearNullSpace
from linforest_precond.precond.multigrid.root_aggregates import RootAggregates

# Adaptive candidates of single unknowns need large aggregates: smaller shares of the strongest coupling that
# are tried in turn, and the unknowns that a level may leave.
SMALLER_STRENGTHS = 0.25, 0.1
ADAPTIVE_SHARE = 0.75


class CandidateCoarsening:
    """Coarsens a matrix and its candidates B, (n, k); each call continues on the level of the one before."""

    stall_cause = (
        "too few nodes are coupled strongly for this many candidates; "
        "try fewer candidates, or a smaller strength"
    )

    def __init__(self, B: Array, block_size: int, adaptive: bool, options: MultilevelOptions):
        self.B, self.block_size, self.adaptive, self.options = B, block_size, adaptive, options

    def __call__(self, matrix: LevelMatrix) -> tuple[GridTransfer | None, LevelMatrix]:
        roots = self._roots(matrix)
        if roots is None:
            return None, matrix
        aggregates, matrices = CandidateAggregates.of(
            matrix, roots.numbers, roots.count, self.block_size, self.B
        )
        transfer = Interpolation.smoothed_from(aggregates, matrices)
        self.B, self.block_size = aggregates.coarse_candidates, self.B.shape[1]
        return transfer, transfer.coarse_matrix(matrix)

    def _roots(self, matrix: LevelMatrix) -> RootAggregates | None:
        """Aggregates of nodes; None where every attempt leaves no or too many unknowns."""
        nodes, k = self._nodes(matrix), self.B.shape[1]
        most = (ADAPTIVE_SHARE if self.adaptive else STALLED_SHARE) * matrix.n
        for strength, signed in self._attempts():
            found = self._aggregates(nodes, strength, signed)
            if self.block_size < k:
                found = self._without_single_nodes(found, nodes)
            if 0 < found.count * k <= most:
                return found
        return None

    def _aggregates(self, nodes: LevelMatrix, strength: float, signed: bool) -> RootAggregates:
        return RootAggregates.of(nodes, strength, self.options.seed, signed)[0]

    def _without_single_nodes(self, aggregates: RootAggregates, nodes: LevelMatrix) -> RootAggregates:
        return without_single_nodes(aggregates)

    def _attempts(self) -> list[tuple[float, bool]]:
        """Strengths, and whether only couplings with the opposite sign of the diagonal count."""
        strength, signed = self.options.strength, self.options.weights != "magnitude"
        if self.adaptive:
            return [(strength, signed), *((each, signed) for each in SMALLER_STRENGTHS if each < strength)]
        fallback = [(strength, False)] if signed and self.block_size == 1 else []
        return [(strength, signed), *fallback]

    def _nodes(self, matrix: LevelMatrix) -> LevelMatrix:
        """The matrix of nodes: of single unknowns, the matrix itself, whose couplings have signs."""
        if self.block_size == 1:
            return matrix
        csr, node_matrix = matrix.csr, matrix.backend.multigrid.strength.node_matrix
        return LevelMatrix(described(*node_matrix(csr.indptr, csr.indices, csr.data, self.block_size)))


def without_single_nodes(aggregates: RootAggregates) -> RootAggregates:
    """The aggregates of at least two nodes; smoothing interpolates the others from their neighbours."""
    numbers, xp = aggregates.numbers, xp_of(aggregates.numbers)
    several = xp.bincount(numbers + 1, minlength=aggregates.count + 1)[1:] > 1
    places = xp.cumsum(several)
    renumbered = xp.append(xp.where(several, places - 1, -1), -1)  # the last one for nodes without aggregate
    count = int(several.sum())  # stall: the size of the next level
    return replace(aggregates, numbers=renumbered[numbers].astype(numbers.dtype), count=count)


def coarsening_of(
    space: NearNullSpace, matrix: LevelMatrix, options: MultilevelOptions
) -> CandidateCoarsening:
    B, adaptive = space.candidates, space.candidates is None
    if B is None:
        B = adaptive_candidates(matrix, space.count, options.seed)
        first = CandidateCoarsening(B, space.block_size, adaptive, options)
        one_visit = replace(options, cycle="V")
        part, _ = part_of_levels(matrix, matrix.csr.data.dtype, one_visit, first, first.stall_cause)
        B = improved_candidates(matrix, B, lambda r, z: part.solve_into(r, z, False))
    return CandidateCoarsening(B, space.block_size, adaptive, options)
