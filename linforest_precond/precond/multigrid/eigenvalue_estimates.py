"""Estimates and bounds of the largest eigenvalue of a preconditioned matrix; Chebyshev coefficients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.parts.lockstep import Steps

STEPS = 10
# The safety factor of estimates: Lanczos and the power method approach the largest eigenvalue from below.
SAFETY = 1.1

# Writes the product of a fixed matrix with the first argument into the second one.
ApplyInto = Callable[[Array, Array], None]


def estimated_eigenvalue(
    matrix: Any, dtype: DType, solve: ApplyInto, definite: bool, backend: Backend
) -> Steps[float]:
    """Estimate the largest eigenvalue of M A by the Lanczos method, or by the power method.

    Lanczos needs A and M positive definite. `matrix` is A, as the backend's vector operations take it, and
    ``solve(r, z)`` writes M r. Yields before the stall.
    """
    ops = backend.multigrid.vector_ops
    r = ops.pseudorandom_vector(matrix.rows, dtype)
    return eigenvalue_from(r, matrix, solve, definite, ops.DotProducts(dtype, 2 * STEPS))


def eigenvalue_from(r: Array, matrix: Any, solve: ApplyInto, definite: bool, dots: Any) -> Steps[float]:
    """`estimated_eigenvalue` from a start vector r with given `DotProducts`, also for distributed vectors."""
    if definite:
        found = yield from _by_lanczos(r, matrix, solve, dots)
        if found is not None:
            return SAFETY * found
    return SAFETY * _by_power_method(r, matrix, solve, dots)


def _by_lanczos(r: Array, matrix: Any, solve: ApplyInto, dots: Any) -> Steps[float | None]:
    """The largest Ritz value: the Lanczos matrix follows from the coefficients of conjugate gradients.

    As in section 6.7.3 of Saad, "Iterative methods for sparse linear systems" (2003). None where A or M turn
    out not to be definite.
    """
    xp = xp_of(r)
    r, z, q = r.copy(), xp.empty_like(r), xp.empty_like(r)
    solve(r, z)
    p = z.copy()
    dots.dot(0, r, z)
    with np.errstate(all="ignore"):  # coefficients after a breakdown are cut off below
        for k in range(STEPS):
            if k:
                dots.subtract(k - 1, STEPS + k - 1, q, r)
                solve(r, z)
                dots.dot(k, r, z)
                dots.extend(k, k - 1, z, p)
            dots.multiply(STEPS + k, matrix, p, q)
    yield
    return _largest_ritz_value(dots.values.tolist())  # stall: the coefficients of all steps at once


def _largest_ritz_value(numbers: list[float]) -> float | None:
    rho, curvature = np.array(numbers[:STEPS]), np.array(numbers[STEPS:])
    valid = (rho > 0) & (curvature > 0) & np.isfinite(rho) & np.isfinite(curvature)
    count = STEPS if valid.all() else int(valid.argmin())
    if not count:
        return None
    alpha, beta = rho[:count] / curvature[:count], rho[1:count] / rho[: count - 1]
    diagonal = 1 / alpha
    diagonal[1:] += beta / alpha[:-1]
    off_diagonal = np.sqrt(beta) / alpha[:-1]
    values = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1))
    return float(values[-1]) if np.isfinite(values[-1]) else None


def _by_power_method(r: Array, matrix: Any, solve: ApplyInto, dots: Any) -> float:
    """The largest growth of the vector's norm in the last three steps; 1 where there is none."""
    z, q = r.copy(), xp_of(r).empty_like(r)

    def norm() -> float:
        dots.dot(0, z, z)
        return float(np.sqrt(float(dots.values[0])))  # stall: ends where the vector vanishes or overflows

    growths, length = [0.0], norm()
    for _ in range(STEPS):
        if not 0 < length < np.inf:
            break
        z /= r.dtype.type(length)
        dots.multiply(1, matrix, z, q)
        solve(q, z)
        length = norm()
        growths.append(length)
    largest = max(growths[-3:])
    return float(largest) if 0 < largest < np.inf else 1.0


def gershgorin_bound(csr: CheckedMatrix, row_magnitudes: Array) -> float:
    """Gershgorin's bound of the eigenvalues of D^-1 A: the largest sum of a row's magnitudes."""
    xp = csr.backend.xp
    diagonal = abs(csr.diagonal)
    ratios = xp.where(diagonal > 0, row_magnitudes / xp.where(diagonal > 0, diagonal, 1), 0)
    return float(ratios.max()) if ratios.size else 1.0  # stall: one number


def chebyshev_steps(largest: float, lowest_share: float, degree: int) -> tuple[tuple[float, float], ...]:
    """Momentum and factor of each step of the Chebyshev iteration on [lowest_share largest, largest].

    Algorithm 12.1 of Saad, "Iterative methods for sparse linear systems" (2003); as a smoother: Adams,
    Brezina, Hu & Tuminaro, "Parallel multigrid smoothing: polynomial versus Gauss-Seidel" (2003),
    doi:10.1016/S0021-9991(03)00194-3.
    """
    lowest = lowest_share * largest
    center, half_width = (largest + lowest) / 2, (largest - lowest) / 2
    steps, rho = [(0.0, 1 / center)], half_width / center
    for _ in range(degree - 1):
        new = 1 / (2 * center / half_width - rho)
        steps.append((new * rho, 2 * new / half_width))
        rho = new
    return tuple(steps)
