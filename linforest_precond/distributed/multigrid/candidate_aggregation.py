"""Smoothed aggregation over ranks with near-null space candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.matching.aggregates import RankAggregates
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.multigrid.rectangles import (
    RankRectangle,
    RankRows,
    assembled,
    in_ascending_order,
)
from linforest_precond.distributed.multigrid.root_aggregates import aggregate_roots
from linforest_precond.distributed.multigrid.smoothed_aggregation import Prolongation
from linforest_precond.distributed.partition import host
from linforest_precond.distributed.partition.entries import entry_rows
from linforest_precond.distributed.partition.halo import Halo
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.distributed.partition.owners import lookup, send_to_owners
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.precond.multigrid.candidate_coarsening import CandidateCoarsening
from linforest_precond.precond.multigrid.near_null_space import prolongator_weights, tentative
from linforest_precond.precond.multigrid.prolongation import adjoint, with_smoothing_step

node_matrix = host.multigrid.strength.node_matrix


@dataclass(frozen=True, eq=False)
class CandidateAggregation(Prolongation):
    """The smoothed prolongator of aggregates of nodes, and the candidates that it reproduces."""

    tentative: RankRows  # own rows of the tentative prolongator
    coarse_candidates: Array  # of own unknowns on the next level

    @classmethod
    def of(
        cls, fine: RankLevelMatrix, nodes: RankAggregates, block_size: int, candidates: Array
    ) -> CandidateAggregation:
        """From aggregates of nodes, and the candidates of own unknowns: collective."""
        k = candidates.shape[1]
        tentative, coarse = tentative_of_ranks(fine, nodes, block_size, candidates)
        unknowns = RankAggregates(nodes.numbers, k * nodes.offsets)
        return cls(unknowns, *_smoothed(fine, unknowns, tentative), tentative, coarse)

    def refreshed(self, fine: RankLevelMatrix) -> CandidateAggregation:
        """For the values of another matrix; the candidates do not depend on them."""
        prolongator, restrictor = _smoothed(fine, self.aggregates, self.tentative)
        return replace(self, prolongator=prolongator, restrictor=restrictor)

    def galerkin_product(self, fine: RankLevelMatrix) -> Matrix:
        """With a diagonal where an aggregate has too few rows for a candidate, as on one rank."""
        A, B = super().galerkin_product(fine), self.coarse_candidates
        own, k = np.arange(A.n_local), B.shape[1]
        dropped = B[own, own % k] == 0
        if dropped.any():
            rows = entry_rows(A)
            slots = np.flatnonzero(A.rows.indices == rows)
            diagonal = np.zeros(A.n_local)
            diagonal[rows[slots]] = abs(A.rows.data[slots].real)
            largest = np.repeat(diagonal.reshape(-1, k).max(axis=1), k)
            filled = slots[dropped[rows[slots]]]
            A.rows.data[filled] = np.where(largest > 0, largest, 1.0)[rows[filled]]
        return A


def _smoothed(
    fine: RankLevelMatrix, aggregates: RankAggregates, T: RankRows
) -> tuple[RankRectangle, RankRectangle]:
    """The tentative prolongator after a damped Jacobi step, and its adjoint: collective."""
    A = in_ascending_order(fine.A, fine.csr)
    ids = A.times(T).ids
    numbers = np.searchsorted(ids, T.ids).astype(T.csr.indices.dtype)
    own = RectangularCSR(T.csr.indptr, numbers[T.csr.indices], T.csr.data, ids.size)
    P = with_smoothing_step(own, lambda: A.times(T).csr, prolongator_weights(fine))
    halo, places = Halo.ascending_numbering(fine.comm, aggregates.offsets, ids)
    columns = places.astype(P.indices.dtype)[P.indices]
    P = RectangularCSR(P.indptr, columns, P.data, halo.ids.size)
    return RankRectangle.of(P, halo), assembled(halo, adjoint(P), fine.A.offsets)


def tentative_of_ranks(
    fine: RankLevelMatrix, nodes: RankAggregates, block_size: int, B: Array
) -> tuple[RankRows, Array]:
    """The own rows of the tentative prolongator, and the candidates of own coarse unknowns: collective.

    The rank of an aggregate gets the candidates of all its nodes, and sends back their orthonormal basis.
    """
    comm, k, b = fine.comm, B.shape[1], block_size
    offsets = fine.A.offsets // b
    kept, first = np.flatnonzero(nodes.numbers >= 0), offsets[comm.rank]
    numbers = nodes.numbers[kept]
    sent = first + kept, B.reshape(-1, b * k)[kept]
    # Nodes arrive in ascending order, as ranks own ascending ranges of them.
    members, ids, rows = send_to_owners(comm, nodes.offsets, numbers, *sent)
    begin, end = (int(each) for each in nodes.offsets[comm.rank : comm.rank + 2])
    local = (members - begin).astype(fine.csr.indices.dtype)
    basis, coarse = tentative(fine.backend, local, end - begin, b, rows.reshape(-1, k))
    returned = send_to_owners(comm, offsets, ids, basis.data.reshape(-1, b * k))
    values = returned[1][np.argsort(returned[0], kind="stable")]
    lengths = np.where(np.repeat(nodes.numbers >= 0, b), k, 0)
    columns = np.repeat(numbers, b)[:, None] * k + np.arange(k)
    ids, indices = np.unique(columns, return_inverse=True)
    index = fine.csr.indices.dtype
    indptr = np.append(0, np.cumsum(lengths)).astype(index)
    return RankRows(
        RectangularCSR(indptr, indices.ravel().astype(index), values.ravel(), ids.size), ids
    ), coarse


class RankCandidateCoarsening(CandidateCoarsening):
    """Coarsens a matrix over ranks and its candidates, level by level; calls are collective."""

    def __call__(self, matrix: RankLevelMatrix) -> tuple[CandidateAggregation | None, RankLevelMatrix]:  # type: ignore[override]
        roots: Any = self._roots(matrix)
        if roots is None:
            return None, matrix
        made = CandidateAggregation.of(matrix, roots, self.block_size, self.B)
        self.B, self.block_size = made.coarse_candidates, self.B.shape[1]
        return made, made.coarse_matrix(matrix)

    def gathered(self, matrix: RankLevelMatrix) -> CandidateCoarsening:
        """The coarsening of the levels that every rank has."""
        B = matrix.comm.allgather_known(self.B, np.diff(matrix.A.offsets))
        return CandidateCoarsening(B, self.block_size, self.adaptive, self.options)

    def _aggregates(self, nodes: RankLevelMatrix, strength: float, signed: bool) -> RankAggregates:  # type: ignore[override]
        return aggregate_roots(nodes, strength, self.options.seed, signed)[0]

    def _without_single_nodes(self, aggregates: RankAggregates, nodes: RankLevelMatrix) -> RankAggregates:  # type: ignore[override]
        comm, numbers = nodes.comm, aggregates.numbers
        begin, end = (int(each) for each in aggregates.offsets[comm.rank : comm.rank + 2])
        kept = numbers >= 0
        (members,) = send_to_owners(comm, aggregates.offsets, numbers[kept])
        several = np.bincount(members - begin, minlength=end - begin) > 1
        offsets, renumbered = comm.numbered(several)
        found = np.full_like(numbers, -1)
        found[kept] = lookup(comm, aggregates.offsets, np.where(several, renumbered, -1), numbers[kept])
        return RankAggregates(found, offsets)

    def _nodes(self, matrix: RankLevelMatrix) -> RankLevelMatrix:  # type: ignore[override]
        b = self.block_size
        if b == 1:
            return matrix
        A, csr = matrix.A, matrix.csr
        columns = A.columns[csr.indices]
        # Norms are positive on the diagonal and negative off it, as signed strengths need them.
        ids = np.unique(columns // b)
        places = np.searchsorted(ids, columns // b) * b + columns % b
        arrays = csr.indptr, places.astype(csr.indices.dtype), csr.data
        indptr, nodes, norms = node_matrix(*arrays, b)
        rows = A.first // b + np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
        norms = np.where(ids[nodes] == rows, abs(norms), -abs(norms))
        shape = csr.n // b, A.shape[0] // b
        return RankLevelMatrix(
            Matrix(scipy.sparse.csr_array((norms, ids[nodes], indptr), shape=shape), A.comm)
        )
