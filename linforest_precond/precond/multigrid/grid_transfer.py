"""Grid transfer between a level and the next coarser one: by aggregates, or by a prolongator with weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from linforest_precond.backends import OnBackend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.level_vectors import LevelVectors
from linforest_precond.precond.multigrid.near_null_space import SCHEMA as CANDIDATES_SCHEMA
from linforest_precond.precond.multigrid.near_null_space import CandidateAggregates
from linforest_precond.precond.multigrid.prolongation import (
    ProductPlans,
    adjoint,
    adjoint_on,
    galerkin_product,
    smoothed_tentative,
)
from linforest_precond.precond.multigrid.root_aggregates import SCHEMA as ROOT_AGGREGATES_SCHEMA
from linforest_precond.precond.multigrid.root_aggregates import RootAggregates, no_aggregate_is_empty
from linforest_precond.precond.parts.number_types import stored_array
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.record_schemas import RECTANGLE

# Prolongator entries are below 2**LARGEST_WEIGHT_EXPONENT for root aggregates, paths and plain aggregates.
LARGEST_WEIGHT_EXPONENT = 2


AGGREGATES_SCHEMA = schema.FieldsSpec(
    {"count": schema.size("coarse"), "numbers": schema.indices("n", below="coarse")}, no_aggregate_is_empty
)


@dataclass(frozen=True, eq=False)
class Aggregates(OnBackend, schema.Stored):
    """The tentative prolongator of aggregates: a one in each row, in the unknown's aggregate's column."""

    numbers: Array  # each unknown's aggregate
    count: int

    schema = AGGREGATES_SCHEMA

    @cached_property
    def members(self) -> tuple[Array, Array]:
        """Row pointers and members of the aggregates: the pattern of the restriction."""
        return self.backend.multigrid.aggregates.members_of(self.numbers, self.count)

    @property
    def held(self) -> list[Any]:
        """The objects whose arrays count in `nbytes`."""
        return [self.numbers, self.members]

    def restrict(self, vectors: LevelVectors, r: Array, coarse: Array) -> None:
        vectors.transfers.restrict(*self.members, r, coarse)

    def prolong_add(self, vectors: LevelVectors, coarse: Array, x: Array) -> None:
        vectors.transfers.prolong_add(self.numbers, coarse, x)

    def coarse_matrix(self, fine: LevelMatrix) -> LevelMatrix:
        """The Galerkin product P^T A P."""
        aggregates = fine.backend.multigrid.aggregates
        return fine.galerkin(*aggregates.coarse_matrix(fine.csr, self.numbers, *self.members))

    @property
    def values(self) -> list[Array]:
        """The values of the prolongator and the restriction; none where all are 1."""
        return []

    exponent = None

    def smoothed(self, fine: LevelMatrix) -> tuple[RectangularCSR, RectangularCSR]:
        """The tentative prolongator smoothed by a damped Jacobi step, and its adjoint."""
        P = smoothed_tentative(fine.csr, self.prolongator_csr(fine.csr.data.dtype), fine.damped_jacobi)
        return P, adjoint(P)

    def prolongator_csr(self, dtype: DType) -> RectangularCSR:
        xp, rows = xp_of(self.numbers), self.numbers.size
        indptr = xp.arange(rows + 1, dtype=self.numbers.dtype)
        return RectangularCSR(indptr, self.numbers, xp.ones(rows, dtype), self.count)

    def restrictor_csr(self, dtype: DType) -> RectangularCSR:
        indptr, members = self.members
        ones = xp_of(members).ones(members.size, dtype)
        return RectangularCSR(indptr, members, ones, self.numbers.size)

    def refreshed(self, fine: LevelMatrix) -> Aggregates:
        """The aggregates for another matrix of the pattern, which may have another index type."""
        return self.indexed_by(fine.csr.indices.dtype)

    def indexed_by(self, index: DType) -> Aggregates:
        if self.numbers.dtype == index:
            return self
        return Aggregates(self.numbers.astype(index), self.count)

    def with_values(self, values: list[Array]) -> Aggregates:
        return self

    def conjugated(self) -> Aggregates:
        return self


def restrictor_is_adjoint(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    """The restriction is the prolongator's conjugate transpose, so that Galerkin products are Hermitian."""
    P, R = (RectangularCSR(**fields[name]) for name in ("prolongator", "restrictor"))
    same = P.n >= P.width and all(map(np.array_equal, adjoint(P).arrays, R.arrays))
    yield "restrictor", "be the conjugate transpose of the prolongator", same


# Aggregates with a tentative prolongator that can be smoothed.
Smoothable = Aggregates | RootAggregates | CandidateAggregates
SMOOTHABLE = schema.either(
    candidates=CANDIDATES_SCHEMA, strength=ROOT_AGGREGATES_SCHEMA, numbers=AGGREGATES_SCHEMA
)


@dataclass(frozen=True, eq=False)
class Interpolation(schema.Stored):
    """A prolongator with weights and its conjugate transpose, the restriction, in the hierarchy's type."""

    prolongator: Annotated[RectangularCSR, schema.nested(RECTANGLE, "n", "value", width="coarse")]
    restrictor: Annotated[RectangularCSR, schema.nested(RECTANGLE, "value", n="coarse", width="n")]
    # The aggregates whose tentative prolongator was smoothed, kept for updates.
    smoothed: Annotated[Smoothable | None, schema.optional(SMOOTHABLE)] = None
    # Symbolic plans of the Galerkin product, shared by prolongators of one pattern.
    plans: ProductPlans = field(default_factory=ProductPlans, repr=False)

    @classmethod
    def of(cls, prolongator: RectangularCSR) -> Interpolation:
        return cls(prolongator, adjoint(prolongator))

    @classmethod
    def smoothed_from(
        cls, aggregates: Smoothable, matrices: tuple[RectangularCSR, RectangularCSR]
    ) -> Interpolation:
        """The transfer by a smoothed prolongator and its adjoint; the aggregates are kept for updates."""
        return cls(*matrices, aggregates)

    @cached_property
    def _matrices(self) -> tuple[Any, Any]:
        matrix_of = self.prolongator.backend.multigrid.vector_ops.Matrix
        return matrix_of(*self.restrictor.arrays, None), matrix_of(*self.prolongator.arrays, None)

    @property
    def held(self) -> list[Any]:
        smoothed = [] if self.smoothed is None else self.smoothed.held
        return [self.prolongator, self.restrictor, *smoothed, *self.plans.held]

    def restrict(self, vectors: LevelVectors, r: Array, coarse: Array) -> None:
        vectors.ops.multiply(self._matrices[0], r, coarse)

    def prolong_add(self, vectors: LevelVectors, coarse: Array, x: Array) -> None:
        vectors.ops.multiply_add(self._matrices[1], coarse, x)

    def coarse_matrix(self, fine: LevelMatrix, most: float = math.inf) -> LevelMatrix:
        """The Galerkin product R A P; TooManyEntriesError where it has more than `most` entries."""
        arrays = galerkin_product(self.restrictor, fine.csr, self.prolongator, self.plans, most)
        if isinstance(self.smoothed, CandidateAggregates):
            self.smoothed.fill_dropped(*arrays)
        return fine.galerkin(*arrays)

    def prolongator_csr(self, dtype: DType) -> RectangularCSR:
        return self.prolongator

    def restrictor_csr(self, dtype: DType) -> RectangularCSR:
        return self.restrictor

    def refreshed(self, fine: LevelMatrix) -> Interpolation:
        if self.smoothed is None or isinstance(self.smoothed, RootAggregates):
            return self.indexed_by(fine.csr.indices.dtype)._on_same_pattern(fine)
        aggregates = self.smoothed.refreshed(fine)
        return self.smoothed_from(aggregates, aggregates.smoothed(fine))

    def _on_same_pattern(self, fine: LevelMatrix) -> Interpolation:
        """The transfer for other values of the matrix, on the same pattern."""
        if not isinstance(self.smoothed, RootAggregates):
            return self.stored_in(fine.csr.data.dtype)
        if not self.smoothed.keeps_couplings_of(fine):
            return self.smoothed_from(*self.smoothed.smoothed(fine))
        P = self.smoothed.smoothed_on(self.prolongator, fine)
        return replace(self, prolongator=P, restrictor=adjoint_on(self.restrictor, P))

    def indexed_by(self, index: DType) -> Interpolation:
        smoothed = None if self.smoothed is None else self.smoothed.indexed_by(index)
        if self.prolongator.indices.dtype == index:
            return replace(self, smoothed=smoothed)
        P, R = (each.indexed_by(index) for each in (self.prolongator, self.restrictor))
        return Interpolation(P, R, smoothed)

    @property
    def values(self) -> list[Array]:
        return [self.prolongator.data, self.restrictor.data]

    @property
    def exponent(self) -> int | None:
        """An exponent e with all magnitudes below 2**e; None if not known."""
        known = self.smoothed is None or isinstance(self.smoothed, RootAggregates)
        return LARGEST_WEIGHT_EXPONENT if known else None

    def with_values(self, values: list[Array]) -> Interpolation:
        """The transfer with other numbers."""
        P, R = (replace(each, data=data) for each, data in zip((self.prolongator, self.restrictor), values))
        return replace(self, prolongator=P, restrictor=R)

    def stored_in(self, dtype: DType) -> Interpolation:
        """The transfer with numbers of another precision."""
        return self.with_values([stored_array(data, dtype, self.exponent) for data in self.values])

    def conjugated(self) -> Interpolation:
        return self.with_values([data.conj() for data in self.values])


INTERPOLATION_SCHEMA = schema.of_fields(Interpolation, restrictor_is_adjoint)


GridTransfer = Aggregates | Interpolation
TRANSFER_SCHEMA = schema.either(numbers=AGGREGATES_SCHEMA, prolongator=INTERPOLATION_SCHEMA)


def columns_of(state: dict[str, Any]) -> int:
    """The unknowns of the next level, from the state of a transfer."""
    return int(state["count"] if "count" in state else state["prolongator"]["width"])
