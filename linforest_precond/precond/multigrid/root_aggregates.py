"""Smoothed aggregation: aggregates around the roots of MIS(2), and their smoothed prolongator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.storage import schema


def no_aggregate_is_empty(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    count, numbers = fields["count"], fields["numbers"]
    yield "count", f"be at most {numbers.size}", count <= numbers.size
    met = np.zeros(count, bool)
    met[numbers[numbers >= 0]] = True
    yield "numbers", f"hold each number below {count}", met.all()


@dataclass(frozen=True, eq=False)
class RootAggregates(schema.Stored):
    """Aggregates of roots that are more than two strong couplings apart, and of the unknowns next to them.

    A coupling is strong if it has at least the share `strength` of the strongest one of both unknowns; for
    the prolongator, of its row alone. `kept` is 1 for the couplings that the prolongator smoother keeps, 0
    for all other entries of the matrix; None before there is a prolongator, and in older files.
    """

    # each unknown's aggregate; -1 for dominant rows, which the smoother solves alone
    numbers: Annotated[Array, schema.indices("n", least=-1, below="coarse")]
    count: int  # of aggregates
    strength: Annotated[float, schema.real(0.0, 1.0)]
    signed: bool  # only couplings with the opposite sign of the diagonal are strong
    kept: Annotated[Array | None, schema.optional(schema.marks("couplings"))] = None

    @classmethod
    def of(cls, fine: LevelMatrix, strength: float, seed: int, signed: bool) -> tuple[RootAggregates, Any]:
        """The aggregates of a matrix, and its strong couplings, for one call of `smoothed`."""
        aggregate = fine.backend.multigrid.smoothed_aggregation.aggregate
        numbers, count, strong = aggregate(fine.csr, strength, seed, signed=signed)
        return cls(numbers, count, strength, signed), strong

    @property
    def held(self) -> list[Any]:
        """The objects whose arrays count in `nbytes`."""
        return [self.numbers, self.kept]

    def smoothed(
        self, fine: LevelMatrix, strong: Any = None
    ) -> tuple[RootAggregates, tuple[RectangularCSR, RectangularCSR]]:
        """The tentative prolongator smoothed by a Jacobi step with the strong couplings alone; its adjoint.

        The aggregates are returned with these couplings.
        """
        smooth = fine.backend.multigrid.smoothed_aggregation.smoothed_prolongator
        P, R, kept = smooth(fine.csr, self.strength, self.numbers, self.count, self.signed, strong)
        return replace(self, kept=kept), (RectangularCSR.of(P, self.count), RectangularCSR.of(R, fine.csr.n))

    def tentative(self, dtype: DType) -> RectangularCSR:
        """The tentative prolongator: a one in each row that has an aggregate."""
        xp, has_one = xp_of(self.numbers), self.numbers >= 0
        indptr = xp.zeros(self.numbers.size + 1, self.numbers.dtype)
        xp.cumsum(has_one, out=indptr[1:])
        indices = self.numbers[has_one]  # stall: how many there are
        return RectangularCSR(indptr, indices, xp.ones(indices.size, dtype), self.count)

    def keeps_couplings_of(self, fine: LevelMatrix) -> bool:
        """Whether it is known which of a matrix's couplings count: not after an older file was loaded."""
        return self.kept is not None and self.kept.size == fine.csr.nnz

    def smoothed_on(self, P: RectangularCSR, fine: LevelMatrix) -> RectangularCSR:
        """The smoothed prolongator on the pattern of P, for the values of another matrix."""
        assert self.kept is not None
        values_of = fine.backend.multigrid.smoothed_aggregation.prolongator_values
        data = values_of(fine.csr, self.numbers, self.count, self.kept, P.indptr, P.indices)
        return RectangularCSR(P.indptr, P.indices, data, self.count)

    def indexed_by(self, index: DType) -> RootAggregates:
        return replace(self, numbers=self.numbers.astype(index, copy=False))


SCHEMA = schema.of_fields(
    RootAggregates, no_aggregate_is_empty, defaults={"kept": None}, count=schema.size("coarse")
)
