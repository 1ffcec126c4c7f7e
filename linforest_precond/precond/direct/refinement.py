"""Iterative refinement in fixed precision, stopped by the componentwise backward error.

Arioli, Demmel & Duff, "Solving sparse linear systems with sparse backward error" (1989),
doi:10.1137/0610013.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.records.forest import magnitudes_of

MOST_STEPS = 3


class Residuals:
    """Residuals of A x = b and their backward errors, in A's precision.

    The backward error is that of Oettli & Prager (1964): the largest ``|b - A x| / (|A| |x| + |b|)`` of a
    row. Neither row nor column scalings change it. Rows in which x is negligible are compared with the
    largest component of x instead, as Arioli, Demmel & Duff do.
    """

    def __init__(self, csr: CheckedMatrix):
        backend = csr.backend
        self._xp, self._ops = backend.xp, backend.multigrid.vector_ops
        self._matrix, self._magnitudes = csr.operand(), csr.operand(magnitudes_of(csr.data))
        self.eps = float(np.finfo(csr.data.dtype).eps)
        self._negligible = 1000 * csr.n * self.eps
        self._row_sums = self._times_magnitudes(self._xp.ones((csr.n, 1), csr.data.real.dtype))

    def _times_magnitudes(self, x: Array) -> Array:
        y = self._xp.empty_like(x)
        self._ops.multiply(self._magnitudes, x, y)
        return y

    def of(self, b: Array, x: Array) -> tuple[Array, float]:
        """b - A x, and the backward error; infinite where x is not finite."""
        r = self._xp.empty_like(b)
        self._ops.residual(self._matrix, b, x, r)
        sizes, right = abs(x), abs(b)
        own = self._times_magnitudes(sizes)
        of_rows = self._row_sums * sizes.max(axis=0)
        scales = self._xp.where(
            own + right > self._negligible * (of_rows + right), own + right, own + of_rows
        )
        errors = abs(r) / self._xp.where(scales > 0, scales, 1)
        error = float(errors.max())  # stall: decides whether to go on
        return r, error if np.isfinite(error) else np.inf


def refined(residuals: Residuals, solve: Callable[[Array], Array], b: Array) -> tuple[Array, float]:
    """The refined solution for the columns of b, and its backward error."""
    x = solve(b)
    r, error = residuals.of(b, x)
    for _ in range(MOST_STEPS):
        if error <= residuals.eps or error == np.inf:
            break
        corrected = x + solve(r)
        r, found = residuals.of(b, corrected)
        if found < error:
            x = corrected
        if not found <= error / 2:
            error = min(error, found)
            break
        error = found
    return x, error


def probed(csr: CheckedMatrix, factors: Any) -> float | None:
    """The backward error of the refined solution for a random right-hand side; None for an infinite one."""
    if not csr.n:
        return 0.0
    xp, random = csr.backend.xp, np.random.default_rng(0)
    b = random.standard_normal((csr.n, 1))
    b = b + 1j * random.standard_normal(b.shape) if csr.data.dtype.kind == "c" else b

    def solve(right: Array) -> Array:
        x: Array = xp.empty_like(right)
        factors.solve_into(right, x, False)
        return x

    with np.errstate(all="ignore"):
        error = refined(Residuals(csr), solve, xp.asarray(b.astype(csr.data.dtype)))[1]
    return error if np.isfinite(error) else None
