"""Products that iterate with the parts of preconditioners: sweeps over the parts, and a polynomial of them.

The vectors are allocated beforehand, and the host decides nothing in between: a CUDA graph can capture it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.workspaces import Workspaces
from linforest_precond.matrix.checked import CheckedMatrix, described
from linforest_precond.precond.parts.part import Part

Steps = tuple[tuple[float, float], ...]


def visits(count: int, combine: str) -> list[int]:
    """The parts in the order in which they are applied: 0, 1, ..., and back to 0 in a sweep."""
    there = list(range(count))
    return there + there[-2::-1] if combine == "multiplicative" else there


class PartIteration:
    """Vectors for one shape and type, and sweeps or sums of the parts T, approximations of `matrix`.

    "multiplicative" makes symmetric sweeps of ``x += T^-1 (b - A x)``, "additive" sums ``T^-1 b``. `steps`
    are momentum and factor of each step of the polynomial; one step of factor 1 is none.
    """

    def __init__(
        self,
        backend: Backend,
        matrix: Any,
        parts: Sequence[Part],
        combine: str,
        steps: Steps,
        columns: int,
        dtype: DType,
        transpose: bool,
    ):
        self._matrix, self._parts, self._transpose = matrix, parts, transpose
        self._visits, self._combine, self._steps = visits(len(parts), combine), combine, steps
        self._ops, self._room = backend.multigrid.vector_ops, backend.tridiagonal
        self._xp, self._shape, self._dtype = backend.xp, (parts[0].n, columns), dtype
        # The residual and correction of a sweep; the right-hand side, solution and iterate of a step.
        self._of_sweep = self._vectors(2 if len(self._visits) > 1 else 0)
        self._of_steps = self._vectors(3 if len(steps) > 1 else 0)

    def _vectors(self, count: int) -> list[Array]:
        return [self._xp.zeros(self._shape, self._dtype) for _ in range(count)]

    @cached_property
    def _own_b(self) -> Array:
        """For arguments of another type or layout; the first application allocates it, as `_own_x`."""
        return self._xp.zeros(self._shape, self._dtype)

    @cached_property
    def _own_x(self) -> Array:
        return self._xp.zeros(self._shape, self._dtype)

    def apply(self, b: Array, x: Array) -> None:
        """Approximate the solution of A x = b; both are (n, k), of any strides and precision."""
        own_b, own_x = b, x
        if not self._is_own(b):
            own_b = self._own_b
            self._ops.copy(b, own_b)
        if not self._is_own(x):
            own_x = self._own_x
        self._polynomial(own_b, own_x)
        if own_x is not x:
            self._ops.copy(own_x, x)

    def _is_own(self, vector: Array) -> bool:
        return bool(vector.dtype == self._dtype and vector.flags.c_contiguous)

    def _polynomial(self, b: Array, x: Array) -> None:
        """Steps of x += momentum (x - previous x) + factor M (b - A x) from 0, for the sweep or sum M."""
        if len(self._steps) == 1:
            self._sweep(b, x)
            return
        right, output, other = self._of_steps
        # Each step writes the other vector: chosen so that the last one writes x.
        now, new = (x, other) if len(self._steps) % 2 == 0 else (other, x)
        self._ops.clear(now)
        for i, (momentum, factor) in enumerate(self._steps):
            if i > 0:
                self._ops.residual(self._matrix, b, now, right)
            self._sweep(right if i > 0 else b, output)
            self._room.extrapolation.extrapolate(now, output, new, momentum, factor)
            now, new = new, now

    def _sweep(self, b: Array, x: Array) -> None:
        """One sweep over all parts, or the sum of their solutions, into x."""
        first, *others = self._visits
        self._parts[first].solve_into(b, x, self._transpose)
        for i in others:
            residual, correction = self._of_sweep
            if self._combine == "multiplicative":
                self._ops.residual(self._matrix, b, x, residual)
            right = residual if self._combine == "multiplicative" else b
            self._parts[i].solve_into(right, correction, self._transpose)
            self._ops.add(correction, x)


@dataclass(frozen=True, eq=False)
class PartIterations:
    """Iterations with the parts of a matrix, for any number of columns and streams, and for the transpose.

    Parameters are those of `PartIteration`, for a matrix in the stored type; `hermitian` is that of A.
    """

    csr: CheckedMatrix
    parts: tuple[Part, ...]
    combine: str
    steps: Steps
    hermitian: bool
    _pool: Workspaces = field(default_factory=Workspaces, repr=False)

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        most = self._backend.multigrid.vector_ops.MOST_COLUMNS
        for first in range(0, b.shape[1], most):
            self._solve_columns(b[:, first : first + most], x[:, first : first + most], transpose)

    def _solve_columns(self, b: Array, x: Array, transpose: bool) -> None:
        columns, stream = b.shape[1], self._backend.runtime.streams.current()
        loan = self._pool.take((2 * columns + transpose, stream), lambda: self._iteration(columns, transpose))
        loan.workspace.apply(b, x)
        self._pool.give_back(loan)

    def _iteration(self, columns: int, transpose: bool) -> PartIteration:
        matrix = self._transposed_matrix if transpose else self.matrix
        fields = matrix, self.parts, self.combine, self.steps, columns, self.csr.data.dtype, transpose
        return PartIteration(self._backend, *fields)

    @cached_property
    def matrix(self) -> Any:
        """A as the backend's vector operations take it."""
        csr = self.csr
        return self._backend.multigrid.vector_ops.Matrix(csr.indptr, csr.indices, csr.data, csr.longest_row)

    @cached_property
    def _transposed_matrix(self) -> Any:
        if self.hermitian and self.csr.data.dtype.kind != "c":
            return self.matrix
        csr, backend = self.csr, self._backend
        arrays = backend.matrix.entries.transposed(csr.indptr, csr.indices, csr.data)
        other = described(*arrays)
        backend.runtime.streams.finish()  # stall: other streams may use it as soon as it is cached
        return backend.multigrid.vector_ops.Matrix(other.indptr, other.indices, other.data, other.longest_row)

    @property
    def _backend(self) -> Backend:
        return self.csr.backend
