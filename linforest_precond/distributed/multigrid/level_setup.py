"""The setup of all levels of a hierarchy over ranks, from the finest matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.workspaces import Workspaces
from linforest_precond.distributed.multigrid.aggregation import PairwiseAggregation, aggregate_pairwise
from linforest_precond.distributed.multigrid.candidate_aggregation import (
    CandidateAggregation,
    RankCandidateCoarsening,
)
from linforest_precond.distributed.multigrid.level import RankLevel
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.multigrid.smoothed_aggregation import (
    SmoothedAggregation,
    smoothed_aggregation,
)
from linforest_precond.distributed.partition.matrix import Matrix, scaled_into_range
from linforest_precond.graph.matching.repeated_coarsening import coarsen_until_small
from linforest_precond.precond.multigrid.coarsest import LARGEST_DENSE
from linforest_precond.precond.multigrid.multilevel import coarsen_level
from linforest_precond.precond.multigrid.multilevel_options import MultilevelOptions
from linforest_precond.precond.multigrid.multilevel_part import SCHEMA, MultilevelPart, part_of_levels
from linforest_precond.precond.storage.operator_state import moved

Coarsening = PairwiseAggregation | SmoothedAggregation | CandidateAggregation


@dataclass(frozen=True, eq=False)
class RankPart:
    """The levels of a hierarchy, and their coarsenings."""

    finest: RankLevelMatrix
    # All levels: the partitioned ones, then the replicated ones. It may be on a GPU, all else is on the host.
    part: MultilevelPart
    coarsenings: list[Coarsening]  # of the partitioned levels that have a coarser one
    gathered: MultilevelPart | None  # the replicated levels, if any

    def with_cycle(self, cycle: str) -> RankPart:
        """The same hierarchy with another cycle."""
        return self if cycle == self.part.cycle else replace(self, part=self.part.with_cycle(cycle))

    def on(self, backend: Backend) -> RankPart:
        """The hierarchy for vectors on another backend, or itself: collective."""
        if backend is self.finest.backend:
            return self
        levels, coarse, coarsest = self.part.levels, (), None
        if self.gathered is not None:
            replicated = moved(self.gathered, SCHEMA, backend.xp)
            coarse, coarsest = replicated.levels, replicated.coarsest
        over_ranks = [cast(RankLevel, level).on(backend) for level in levels[: len(levels) - len(coarse)]]
        part = replace(
            self.part, levels=(*over_ranks, *coarse), coarsest=coarsest, own_data=None, _cycles=Workspaces()
        )
        return replace(self, part=part)

    @property
    def is_gathered(self) -> bool:
        """Whether all levels are replicated: the matrix is not coarsened over ranks."""
        return self.gathered is not None and not self.coarsenings

    def __getattr__(self, name: str) -> Any:
        """The other attributes of a part: kind, stored, nbytes, coverage, repairs, positive_definite."""
        return getattr(self.part, name)

    @property
    def n(self) -> int:
        """Own rows."""
        return self.finest.csr.n

    @property
    def name(self) -> str:
        return f"{self.part.name}, over {self.finest.comm.size} ranks"

    def details(self) -> list[tuple[str, str]]:
        """Lines for print: the levels of one rank, and where they are."""
        coarse = 0 if self.gathered is None else len(self.gathered.levels)
        over_ranks = 0 if self.is_gathered else len(self.part.levels) - coarse
        where = "over ranks" if self.gathered is None else "on every rank"
        if self.gathered is not None and over_ranks:
            where = f"the first {over_ranks} over ranks, the others on every rank"
        return [*self.part.details(), ("levels", where)]

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        """Apply one cycle to own parts of vectors, (own rows, k); the first transposed one sets that up."""
        xp = xp_of(x)
        if transpose and self.part.is_self_adjoint:  # the transpose is the conjugate
            self.solve_into(b.conj(), x, False)
            xp.conj(x, out=x)
            return
        if not self.is_gathered:
            self.part.solve_into(b, x, transpose)
            return
        whole = self.finest.comm.allgather_known(b, np.diff(self.finest.A.offsets))
        solution = xp.empty_like(whole)
        self.part.solve_into(whole, solution, transpose)
        first = self.finest.A.first
        x[...] = solution[first : first + x.shape[0]]

    def refreshed(self, A: Matrix) -> tuple[RankPart, int]:
        """The values of A 2**-exponent, of the same pattern, for the same aggregates; and the exponent."""
        scaled, exponent = scaled_into_range(A, self.part.stored)
        levels, last = list[tuple[RankLevelMatrix, Coarsening]](), RankLevelMatrix(scaled)
        for each in self.coarsenings:
            levels.append((last, each.refreshed(last)))
            last = levels[-1][1].coarse_matrix(last)
        gathered = None if self.gathered is None else self.gathered.refreshed_from(last.gathered())
        part = self.part
        return assembled(levels, last, gathered, part.stored, part.options, part.stalled), exponent


def part_of_ranks(
    finest: RankLevelMatrix,
    stored: DType,
    options: MultilevelOptions,
    gather_below: int,
    keeping: RankCandidateCoarsening | None = None,
) -> tuple[RankPart, str]:
    """The part of a hierarchy, and the warning where coarsening stalled, else empty.

    Near-null space candidates are kept by the coarsening `keeping`.
    """
    cause = options.stall_cause if keeping is None else keeping.stall_cause
    coarsen: Any = keeping or (lambda matrix: coarsening_of(matrix, options))
    levels, last, stall = coarsen_until_small(
        finest, coarsen, options.max_coarse, options.max_levels, cause, gather_below
    )
    gathered = None
    if last.n <= max(gather_below, LARGEST_DENSE):
        left = replace(options, max_levels=options.max_levels - len(levels))
        on_all: Any = lambda matrix: coarsen_level(matrix, left)  # noqa: E731
        if keeping is not None:
            on_all = keeping.gathered(last)
        gathered, stall = part_of_levels(last.gathered(), stored, left, on_all, cause)
    return assembled(levels, last, gathered, stored, options, bool(stall)), stall


def coarsening_of(matrix: RankLevelMatrix, options: MultilevelOptions) -> tuple[Coarsening, RankLevelMatrix]:
    """The coarsening of a level, and the next level's matrix: collective.

    Where aggregation around roots stalls, pairs are matched by magnitude, as on one rank.
    """
    found: Coarsening | None = None
    if options.coarsening == "smoothed_aggregation":
        found = smoothed_aggregation(matrix, options)
        options = replace(options, weights="magnitude")
    if found is None:
        connection = options.weights, options.strength, options.seed
        found = PairwiseAggregation(aggregate_pairwise(matrix, options.matchings, *connection))
    return found, found.coarse_matrix(matrix)


def assembled(
    fine_levels: list[tuple[RankLevelMatrix, Coarsening]],
    last: RankLevelMatrix,
    gathered: MultilevelPart | None,
    stored: DType,
    options: MultilevelOptions,
    stalled: bool,
) -> RankPart:
    """The partitioned levels with their smoothers and transfers, and the replicated ones."""
    if gathered is not None and not fine_levels:
        return RankPart(last, gathered, [], gathered)
    levels = []
    for i, (matrix, each) in enumerate(fine_levels, 1):
        transfer = each.transfer(matrix, to_all=gathered is not None and i == len(fine_levels))
        levels.append(RankLevel.of(matrix, stored, options, transfer))
    if gathered is None:
        levels.append(RankLevel.of(last, stored, options, None))
    coarse, coarsest = ((), None) if gathered is None else (gathered.levels, gathered.coarsest)
    finest = fine_levels[0][0] if fine_levels else last
    part = MultilevelPart(
        finest.csr.n, (*levels, *coarse), coarsest, options, own_data=None, hermitian=finest.hermitian,
        definite=finest.definite, centered=finest.centered, stalled=stalled,
    )  # fmt: skip
    return RankPart(finest, part, [each for _, each in fine_levels], gathered)
