"""The way between a level and the next, coarser one: aggregates, or a prolongator with weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.gate import checked_csr
from linforest_precond.precond.multigrid.prolongation import (
    Rectangle,
    adjoint,
    smoothed_prolongator,
    triple_product,
)
from linforest_precond.precond.multigrid.smoothers import jacobi_damping
from linforest_precond.precond.stored import stored_array
from linforest_precond.records import CSR


@dataclass(frozen=True, eq=False)
class Aggregates:
    """Every unknown takes the value of its aggregate: a prolongator with a one in each row."""

    numbers: Array  # each unknown's aggregate
    count: int

    @cached_property
    def members(self) -> tuple[Array, Array]:
        """The unknowns of each aggregate, and where they begin."""
        return backend_of(self.numbers).matching.aggregates.members_of(self.numbers, self.count)

    @property
    def held(self) -> list[Any]:
        """What has arrays that last."""
        return [self.numbers, self.members]

    def restrict(self, space: Any, r: Any, coarse: Any) -> None:
        space.transfers.restrict(*self.members, r, coarse)

    def prolong_add(self, space: Any, coarse: Any, x: Any) -> None:
        space.transfers.prolong_add(self.numbers, coarse, x)

    def coarse_csr(self, csr: CSR, hermitian: bool) -> CSR:
        """The matrix between aggregates, Hermitian where the fine one is."""
        coarse = backend_of(csr.data).multigrid.galerkin.coarse_matrix(csr, self.numbers, *self.members)
        return _checked(coarse, hermitian)

    def prolongator_of(self, dtype: np.dtype) -> Rectangle:
        xp, rows = backend_of(self.numbers).xp, self.numbers.size
        indptr = xp.arange(rows + 1, dtype=self.numbers.dtype)
        return Rectangle(indptr, self.numbers, xp.ones(rows, dtype), self.count)

    def restrictor_of(self, dtype: np.dtype) -> Rectangle:
        indptr, members = self.members
        ones = backend_of(members).xp.ones(members.size, dtype)
        return Rectangle(indptr, members, ones, self.numbers.size)

    def renewed(self, csr: CSR, definite: bool) -> Aggregates:
        """For the values of another matrix."""
        return self

    def stored_in(self, dtype: np.dtype) -> Aggregates:
        return self

    def conjugated(self) -> Aggregates:
        return self

    def state(self) -> dict[str, Any]:
        return {"numbers": self.numbers, "count": self.count}


@dataclass(frozen=True, eq=False)
class Interpolation:
    """A prolongator with weights and its conjugate transpose, of the type that the hierarchy works in."""

    prolongator: Rectangle
    restrictor: Rectangle
    smoothed: Aggregates | None = None  # whose prolongator was smoothed, and is again for other values

    @classmethod
    def of(cls, prolongator: Rectangle) -> Interpolation:
        return cls(prolongator, adjoint(prolongator))

    @classmethod
    def smoothed_from(cls, aggregates: Aggregates, csr: CSR, definite: bool) -> Interpolation:
        """By a step of Jacobi's iteration."""
        weights = jacobi_damping(csr, definite)
        P = smoothed_prolongator(csr, aggregates.numbers, aggregates.count, weights)
        return replace(cls.of(P), smoothed=aggregates)

    @cached_property
    def _matrices(self) -> tuple[Any, Any]:
        pair = []
        for each in (self.restrictor, self.prolongator):
            longest = int((each.indptr[1:] - each.indptr[:-1]).max())  # stall: chooses the kernel
            pair.append(backend_of(each.data).multigrid.vector_ops.Matrix(*each.arrays, longest))
        return tuple(pair)

    @property
    def held(self) -> list[Any]:
        smoothed = [] if self.smoothed is None else self.smoothed.held
        return [self.prolongator, self.restrictor, *smoothed]

    def restrict(self, space: Any, r: Any, coarse: Any) -> None:
        space.ops.multiply(self._matrices[0], r, coarse)

    def prolong_add(self, space: Any, coarse: Any, x: Any) -> None:
        space.ops.multiply_add(self._matrices[1], coarse, x)

    def coarse_csr(self, csr: CSR, hermitian: bool) -> CSR:
        """The matrix behind the prolongator, Hermitian where the fine one is."""
        return _checked(triple_product(self.restrictor, csr, self.prolongator), hermitian)

    def prolongator_of(self, dtype: np.dtype) -> Rectangle:
        return self.prolongator

    def restrictor_of(self, dtype: np.dtype) -> Rectangle:
        return self.restrictor

    def renewed(self, csr: CSR, definite: bool) -> Interpolation:
        if self.smoothed is not None:
            return self.smoothed_from(self.smoothed, csr, definite)
        return self.stored_in(csr.data.dtype)

    def stored_in(self, dtype: np.dtype) -> Interpolation:
        """The same with numbers of another precision."""
        return self._with(lambda data: stored_array(data, dtype))

    def conjugated(self) -> Interpolation:
        return self._with(lambda data: data.conj())

    def _with(self, change: Any) -> Interpolation:
        pair = (replace(each, data=change(each.data)) for each in (self.prolongator, self.restrictor))
        return Interpolation(*pair, self.smoothed)

    def state(self) -> dict[str, Any]:
        smoothed = None if self.smoothed is None else self.smoothed.state()
        return {"prolongator": self.prolongator, "restrictor": self.restrictor, "smoothed": smoothed}


def restored(state: dict[str, Any]) -> Aggregates | Interpolation:
    """The transfer whose state that is."""
    if "numbers" in state:
        return Aggregates(**state)
    smoothed = None if state["smoothed"] is None else Aggregates(**state["smoothed"])
    return Interpolation(state["prolongator"], state["restrictor"], smoothed)


def _checked(coarse: tuple[Array, Array, Array], hermitian: bool) -> CSR:
    if hermitian:
        backend_of(coarse[2]).multigrid.galerkin.mirror_upper(*coarse)
    return checked_csr(*coarse)
