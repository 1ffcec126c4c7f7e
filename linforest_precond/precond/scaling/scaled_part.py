"""`ScaledPart` applies the preconditioner of a scaled matrix: M = D_c M(B) P D_r for B = P D_r A D_c."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.workspaces import Workspaces
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.parts.number_types import held_bytes
from linforest_precond.precond.parts.part import Part
from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling


@dataclass(frozen=True, eq=False)
class ScaledPart:
    """The part of B between both scalings and the permutation, with the attributes of the inner part."""

    inner: Part
    scaling: MatrixScaling
    _vectors: Workspaces = field(default_factory=Workspaces)

    kind = property(lambda self: self.inner.kind)
    name = property(lambda self: self.inner.name)
    n = property(lambda self: self.inner.n)
    stored = property(lambda self: self.inner.stored)
    forest = property(lambda self: self.inner.forest)
    ordering = property(lambda self: self.inner.ordering)
    bands = property(lambda self: self.inner.bands)
    coverage = property(lambda self: self.inner.coverage)
    repairs = property(lambda self: self.inner.repairs)

    @property
    def positive_definite(self) -> bool:
        """D M(B) D is where M(B) is; with other scalings, or a permutation of rows, it is not Hermitian."""
        return self.scaling.is_symmetric and self.inner.positive_definite

    @property
    def nbytes(self) -> int:
        return self.inner.nbytes + held_bytes(self.scaling)

    def refreshed(self, csr: CheckedMatrix) -> ScaledPart:
        """Permutation and factors stay those of the first matrix."""
        return ScaledPart(self.inner.refreshed(self.scaling.applied(csr)), self.scaling)

    def with_cycle(self, cycle: str) -> Self:
        """Of a hierarchy."""
        inner: Any = self.inner
        return replace(self, inner=inner.with_cycle(cycle))

    def state(self) -> dict[str, Any]:
        return self.inner.state()

    def details(self) -> list[tuple[str, str]]:
        return [("scaling", self.scaling.summary()), *self.inner.details()]

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        backend = self.scaling.backend
        # The key of a work space: number of columns and type.
        key = b.shape[1] << 8 | ord(b.dtype.char), backend.runtime.streams.current()
        loan = self._vectors.take(key, lambda: backend.xp.empty(b.shape, b.dtype))
        if transpose:
            self._solve_transposed(b, x, loan.workspace)
        else:
            self._solve(b, x, loan.workspace)
        self._vectors.give_back(loan)

    def _solve(self, b: Array, x: Array, work: Array) -> None:
        scaling, rows = self.scaling, self.scaling.backend.matrix.copies
        rows.gather_scaled(b, work, scaling.permutation, scaling.row)
        self.inner.solve_into(work, x, False)
        rows.gather_scaled(x, x, None, scaling.column)

    def _solve_transposed(self, b: Array, x: Array, work: Array) -> None:
        """D_r P^T M(B)^T D_c b; x holds D_c b, unless the last step can be done in place."""
        scaling, rows = self.scaling, self.scaling.backend.matrix.copies
        given, found = (work, x) if scaling.permutation is None else (x, work)
        rows.gather_scaled(b, given, None, scaling.column)
        self.inner.solve_into(given, found, True)
        rows.scatter_scaled(found, x, scaling.permutation, scaling.row)
