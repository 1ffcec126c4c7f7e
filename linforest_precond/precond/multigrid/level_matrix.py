"""`LevelMatrix` is the matrix of a level during the setup, with eigenvalue estimates computed once."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.flags import all_set
from linforest_precond.backends.returns import RowFacts
from linforest_precond.matrix.checked import CheckedMatrix, described
from linforest_precond.precond.multigrid.eigenvalue_estimates import estimated_eigenvalue, gershgorin_bound
from linforest_precond.precond.parts.lockstep import completed

# A damped Jacobi step annihilates the error at three quarters of the largest eigenvalue.
DAMPING = 4 / 3


class LevelMatrix:
    """The matrix of a level, and quantities that several steps of the setup use, each computed once.

    Galerkin products of a Hermitian matrix are Hermitian, so coarse matrices have the properties of the
    finest one.
    """

    def __init__(self, csr: CheckedMatrix, finest: LevelMatrix | None = None):
        self.csr, self.finest = csr, self if finest is None else finest
        self.backend = csr.backend

    @property
    def n(self) -> int:
        return self.csr.n

    def galerkin(self, indptr: Array, indices: Array, data: Array) -> LevelMatrix:
        """The matrix of the next level from the CSR arrays of the Galerkin product, which may be changed."""
        if self.hermitian:
            self.backend.matrix.hermitian.mirror_upper(indptr, indices, data)
        return LevelMatrix(described(indptr, indices, data), self.finest)

    @property
    def facts(self) -> RowFacts:
        """Row facts of the finest matrix."""
        return self.csr.facts if self.finest is self else self.finest.facts

    @property
    def hermitian(self) -> bool:
        return self.facts.hermitian

    @property
    def definite(self) -> bool:
        """Whether A may be positive definite: Hermitian with a positive diagonal."""
        return self.hermitian and self.finest.n > 0 and self.facts.positive

    @property
    def centered(self) -> bool:
        """Whether A is Hermitian and maps constants to 0, up to rounding."""
        return self.hermitian and self.finest.n > 1 and self.facts.centered

    def holds_in_all_rows(self, flags: Array) -> bool:
        return all_set(flags)  # stall: decides a method

    @cached_property
    def row_magnitudes(self) -> Array:
        """The sum of the magnitudes of each row, in double precision."""
        return self.backend.multigrid.strength.row_sums(self.csr)[0]

    @cached_property
    def inverse_diagonal(self) -> Array:
        """D^-1; a zero on the diagonal is replaced by the sum of its row's magnitudes, or by 1."""
        xp, diagonal, tiny = self.backend.xp, self.csr.diagonal, np.finfo(self.csr.data.dtype).tiny
        filled = self.filled_magnitudes
        return (1 / xp.where(abs(diagonal) >= tiny, diagonal, filled)).astype(self.csr.data.dtype)

    @property
    def filled_magnitudes(self) -> Array:
        """`row_magnitudes`, 1 where their reciprocals would overflow."""
        magnitudes, tiny = self.row_magnitudes, np.finfo(self.csr.data.dtype).tiny
        return self.backend.xp.where(magnitudes >= tiny, magnitudes, 1)

    @cached_property
    def largest_eigenvalue(self) -> float:
        """The largest eigenvalue of D^-1 A: an estimate, at most Gershgorin's bound."""
        ops, weights = self.backend.multigrid.vector_ops, self.inverse_diagonal

        def scale(r: Array, z: Array) -> None:
            ops.scale(weights, 1.0, r, z)

        operand, dtype = self.csr.operand(), self.csr.data.dtype
        steps = estimated_eigenvalue(operand, dtype, scale, self.definite, self.backend)
        return min(completed(steps), gershgorin_bound(self.csr, self.row_magnitudes)) or 1.0

    @property
    def damped_jacobi(self) -> Array:
        """The weights of a damped Jacobi step: omega D^-1."""
        return min(1.0, DAMPING / self.largest_eigenvalue) * self.inverse_diagonal
