"""Multiplicative and additive combinations of preconditioners, and polynomials of them.

The vectors are allocated beforehand, and the host decides nothing in between: a CUDA graph can capture it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.workspaces import Workspaces
from linforest_precond.matrix.checked import CheckedMatrix, described
from linforest_precond.precond.parts.part import Part
from linforest_precond.precond.parts.work_vectors import WorkVectors, apply_in_columns

Steps = tuple[tuple[float, float], ...]
# The identity as a polynomial.
ONE_STEP: Steps = ((0.0, 1.0),)


def visits(count: int, combine: str) -> list[int]:
    """The parts in the order in which they are applied: 0, 1, ..., and back to 0 in a sweep."""
    there = list(range(count))
    return there + there[-2::-1] if combine == "multiplicative" else there


@dataclass(frozen=True, eq=False)
class PartIterations:
    """Sweeps or sums of the parts T, approximations of A, for any number of columns and for the transpose.

    "multiplicative" makes symmetric sweeps of ``x += T^-1 (b - A x)``, "additive" sums ``T^-1 b``. `steps`
    are momentum and factor of each step of the polynomial. `csr` is A in the stored type, and `hermitian`
    tells whether A is Hermitian.
    """

    csr: CheckedMatrix
    parts: tuple[Part, ...]
    combine: str
    steps: Steps
    hermitian: bool
    _pool: Workspaces = field(default_factory=Workspaces, repr=False)

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        apply_in_columns(
            self._pool, self._backend, b, x, lambda columns: self.iteration(columns, transpose), transpose
        )

    def iteration(self, columns: int, transpose: bool = False) -> PartIteration:
        return PartIteration(self, columns, transpose)

    @cached_property
    def matrix(self) -> Any:
        """A as the backend's vector operations take it."""
        return self.csr.operand()

    @cached_property
    def transposed_matrix(self) -> Any:
        if self.hermitian and self.csr.data.dtype.kind != "c":
            return self.matrix
        csr, backend = self.csr, self._backend
        arrays = backend.matrix.entries.transposed(csr.indptr, csr.indices, csr.data)
        other = described(*arrays)
        backend.runtime.streams.finish()  # stall: other streams may use it as soon as it is cached
        return other.operand()

    @property
    def _backend(self) -> Backend:
        return self.csr.backend


class PartIteration(WorkVectors):
    """The vectors of `PartIterations` for one number of columns, and the iteration with them."""

    def __init__(self, iterations: PartIterations, columns: int, transpose: bool) -> None:
        backend, csr = iterations.csr.backend, iterations.csr
        super().__init__(backend, csr.n, columns, csr.data.dtype)
        self._matrix = iterations.transposed_matrix if transpose else iterations.matrix
        self._parts, self._transpose = iterations.parts, transpose
        self._combine, self._steps = iterations.combine, iterations.steps
        self._visits = visits(len(self._parts), self._combine)
        self._extrapolate = backend.tridiagonal.sweeps.extrapolate
        # The residual and correction of a sweep; the right-hand side, solution and iterate of a step.
        self._of_sweep = [self._vector() for _ in range(2 if len(self._visits) > 1 else 0)]
        self._of_steps = [self._vector() for _ in range(3 if len(self._steps) > 1 else 0)]

    def _apply(self, b: Array, x: Array) -> None:
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
            self._extrapolate(now, output, new, momentum, factor)
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
