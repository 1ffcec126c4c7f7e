"""Aggregates of nodes with near-null space candidates, and their smoothed prolongator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from linforest_precond.backends import OnBackend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.near_null_space import (
    MOST_CANDIDATES,
    prolongator_weights,
    tentative,
)
from linforest_precond.precond.multigrid.prolongation import adjoint, smoothed_tentative
from linforest_precond.precond.storage import schema


def candidates_fit_aggregates(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    """Each node has as many unknowns, and each aggregate a coarse unknown for each candidate."""
    k = fields["candidates"].shape[1]
    divided = fields["numbers"].size * fields["block_size"] == names["n"]
    yield "block_size", f"divide the {names['n']} unknowns into nodes", divided
    fitting = 1 <= k <= MOST_CANDIDATES and fields["count"] * k == names["coarse"]
    yield "candidates", f"have columns for the {names['coarse']} unknowns of the next level", fitting
    kinds = {fields[name].dtype.kind for name in ("candidates", "coarse_candidates")}
    yield "candidates", "be real for real matrices", kinds == {names["value"].kind}


SCHEMA = schema.FieldsSpec(
    {
        "count": schema.size("aggregates"),
        "numbers": schema.indices("nodes", least=-1, below="aggregates"),
        "block_size": schema.integer(1, MOST_CANDIDATES),
        "candidates": schema.own_numbers("n", "candidates"),
        "coarse_candidates": schema.own_numbers("coarse", "candidates"),
    },
    candidates_fit_aggregates,
)


@dataclass(frozen=True, eq=False)
class CandidateAggregates(OnBackend, schema.Stored):
    """Aggregates of nodes, and near-null space candidates that their prolongator reproduces."""

    numbers: Array  # each node's aggregate; -1 for none
    count: int  # of aggregates
    block_size: int  # unknowns of a node
    candidates: Array  # (n, k), in the precision of A
    coarse_candidates: Array  # (k count, k), on the next level

    schema = SCHEMA

    @classmethod
    def of(
        cls, fine: LevelMatrix, numbers: Array, count: int, block_size: int, candidates: Array
    ) -> tuple[CandidateAggregates, tuple[RectangularCSR, RectangularCSR]]:
        """The aggregates with the candidates on both levels; the smoothed prolongator and its adjoint."""
        numbers = numbers.astype(fine.csr.indices.dtype, copy=False)
        P, coarse = tentative(fine.backend, numbers, count, block_size, candidates)
        smoothed = smoothed_tentative(fine.csr, P, prolongator_weights(fine))
        return cls(numbers, count, block_size, candidates, coarse), (smoothed, adjoint(smoothed))

    @property
    def held(self) -> list[Any]:
        """The objects whose arrays count in `nbytes`."""
        return [self.numbers, self.candidates, self.coarse_candidates]

    def smoothed(self, fine: LevelMatrix) -> tuple[RectangularCSR, RectangularCSR]:
        """The prolongator smoothed by a damped Jacobi step, and its adjoint; the candidates stay."""
        return self.of(fine, self.numbers, self.count, self.block_size, self.candidates)[1]

    def fill_dropped(self, indptr: Array, indices: Array, data: Array) -> None:
        """Fill the diagonal of the Galerkin product where an aggregate has too few rows for a candidate."""
        self.backend.multigrid.tentative.fill_dropped(self.coarse_candidates, indptr, indices, data)

    def refreshed(self, fine: LevelMatrix) -> CandidateAggregates:
        """The aggregates for another matrix of the pattern, which may have another index type."""
        return self.indexed_by(fine.csr.indices.dtype).stored_in(fine.csr.data.dtype)

    def indexed_by(self, index: DType) -> CandidateAggregates:
        return replace(self, numbers=self.numbers.astype(index, copy=False))

    def stored_in(self, dtype: DType) -> CandidateAggregates:
        own, coarse = (each.astype(dtype, copy=False) for each in (self.candidates, self.coarse_candidates))
        return replace(self, candidates=own, coarse_candidates=coarse)
