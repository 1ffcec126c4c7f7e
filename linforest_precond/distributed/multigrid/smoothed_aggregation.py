"""Smoothed aggregation over ranks: prolongator, restriction and Galerkin product."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.matching.aggregates import RankAggregates
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.multigrid.rectangles import RankRectangle, assembled, in_ascending_order
from linforest_precond.distributed.multigrid.root_aggregates import aggregate_roots
from linforest_precond.distributed.multigrid.transfers import RankInterpolation
from linforest_precond.distributed.partition.halo import Halo
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.graph.matching.repeated_coarsening import is_stalled
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.precond.multigrid.multilevel import root_aggregates
from linforest_precond.precond.multigrid.multilevel_options import MultilevelOptions
from linforest_precond.precond.multigrid.prolongation import MOST_TERMS, adjoint, has_hubs, most_terms
from linforest_precond.precond.multigrid.root_aggregates import RootAggregates


@dataclass(frozen=True, eq=False)
class Prolongation:
    """The own rows of a prolongator and its adjoint."""

    aggregates: RankAggregates  # of own unknowns or nodes; the offsets are those of the coarse unknowns
    prolongator: RankRectangle
    restrictor: RankRectangle

    def coarse_matrix(self, fine: RankLevelMatrix) -> RankLevelMatrix:
        """The Galerkin product R A P, with the bits of one rank: collective."""
        return fine.coarse(self.galerkin_product(fine))

    def galerkin_product(self, fine: RankLevelMatrix) -> Matrix:
        product = self.restrictor.times(in_ascending_order(fine.A, fine.csr).times(self.prolongator))
        indptr, indices, data = product.csr.arrays
        shape = indptr.size - 1, self.aggregates.count
        return Matrix(scipy.sparse.csr_array((data, product.ids[indices], indptr), shape=shape), fine.comm)

    def transfer(self, fine: RankLevelMatrix, to_all: bool) -> RankInterpolation:
        return RankInterpolation.between(self.prolongator, self.restrictor, self.aggregates.offsets, to_all)


@dataclass(frozen=True, eq=False)
class SmoothedAggregation(Prolongation):
    """The prolongator of aggregates around roots."""

    local: RootAggregates  # of own unknowns and ghosts, numbered as the prolongator's columns
    is_smoothed: bool  # otherwise the prolongator is the tentative one

    @classmethod
    def of(
        cls, fine: RankLevelMatrix, aggregates: RankAggregates, strength: float, signed: bool, strong: Array
    ) -> SmoothedAggregation:
        """From aggregates and what `aggregate_roots` found for their prolongator: collective.

        It is not smoothed where the coarse matrix would fill up, as on one rank.
        """
        numbers = fine.A.halo.with_ghosts(aggregates.numbers)
        halo, places = Halo.ascending_numbering(fine.comm, aggregates.offsets, numbers)
        local = RootAggregates(places.astype(fine.csr.indices.dtype), halo.ids.size, strength, signed)
        local, (P, R) = local.smoothed(fine, strong)
        is_smoothed = not fills_up(fine, P, aggregates.count)
        if not is_smoothed:
            P = replace(local, numbers=local.numbers[: fine.csr.n]).tentative(fine.csr.data.dtype)
            R = adjoint(P)
        restrictor = assembled(halo, R, fine.A.offsets)
        return cls(aggregates, RankRectangle.of(P, halo), restrictor, local, is_smoothed)

    def refreshed(self, fine: RankLevelMatrix) -> SmoothedAggregation:
        """For the values of another matrix: the pattern of the prolongator stays."""
        if not self.is_smoothed:
            return self
        P, halo = self.local.smoothed_on(self.prolongator.csr, fine), self.prolongator.halo
        restrictor = assembled(halo, adjoint(P), fine.A.offsets)
        return replace(self, prolongator=RankRectangle.of(P, halo), restrictor=restrictor)


def smoothed_aggregation(fine: RankLevelMatrix, options: MultilevelOptions) -> SmoothedAggregation | None:
    """The prolongator of aggregates around roots; None where too few unknowns are coupled: collective."""

    def aggregate(
        fine: RankLevelMatrix, strength: float, seed: int, signed: bool
    ) -> tuple[RankAggregates, tuple[bool, Array]]:
        aggregates, strong = aggregate_roots(fine, strength, seed, signed)
        return aggregates, (signed, strong)

    aggregates, (signed, strong) = root_aggregates(fine, options, aggregate)
    if is_stalled(fine.n, aggregates.count):
        return None
    return SmoothedAggregation.of(fine, aggregates, options.strength, signed, strong)


def fills_up(fine: RankLevelMatrix, P: RectangularCSR, count: int) -> bool:
    """Whether the Galerkin product has many more terms than A has entries, as on one rank: collective."""
    csr, comm = fine.csr, fine.comm
    longest = comm.largest(csr.longest_row)
    if not has_hubs(longest, fine.n, fine.entries):
        return False
    terms = most_terms(csr, fine.A.halo.with_ghosts(np.diff(P.indptr)), count)
    return comm.total(terms) > MOST_TERMS * fine.entries
