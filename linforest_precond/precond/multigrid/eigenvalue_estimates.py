"""The largest eigenvalue of a preconditioned matrix: estimate and bound; Chebyshev iterations with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.matrix.checked import CheckedMatrix

STEPS = 10
# Lanczos and the power method approach the largest eigenvalue from below: the safety factor.
SAFETY = 1.1
_GOLDEN = np.uint32(2654435769)  # 2**32 over the golden ratio

# Writes the product of the first argument with a fixed matrix into the second one.
ApplyInto = Callable[[Array, Array], None]
# The real part of an inner product, in double precision.
Dot = Callable[[Array, Array], Any]


def pseudorandom_vector(n: int, dtype: DType, xp: Any, first: int = 0) -> Array:
    """A column of numbers between -1/2 and 1/2 by multiplicative hashing, the same on every device.

    Of a longer vector, the part from the row `first` on.
    """
    bits = xp.arange(first + 1, first + n + 1).astype(np.uint32) * _GOLDEN
    bits = (bits ^ (bits >> np.uint32(15))) * _GOLDEN
    return (bits.astype(np.float64) / 2.0**32 - 0.5).astype(dtype).reshape(n, 1)


def largest_eigenvalue(
    n: int, dtype: DType, multiply: ApplyInto, solve: ApplyInto, definite: bool, backend: Backend
) -> float:
    """Estimate the largest eigenvalue of M A by the Lanczos method, or by the power method.

    Lanczos needs A and M positive definite. ``multiply(x, y)`` and ``solve(r, z)`` write A x and M r.
    """
    xp = backend.xp
    r = pseudorandom_vector(n, dtype, xp)
    return largest_eigenvalue_from(r, multiply, solve, definite, xp, lambda u, v: _dot(u, v, xp))


def largest_eigenvalue_from(
    r: Array, multiply: ApplyInto, solve: ApplyInto, definite: bool, xp: Any, dot: Dot
) -> float:
    """The same from a start vector r and with an inner product, for vectors that are distributed."""
    if definite:
        found = _by_lanczos(r, multiply, solve, xp, dot)
        if found is not None:
            return SAFETY * found
    return SAFETY * _by_power_method(r, multiply, solve, xp, dot)


def _by_lanczos(r: Array, multiply: ApplyInto, solve: ApplyInto, xp: Any, dot: Dot) -> float | None:
    """The largest Ritz value: the Lanczos matrix follows from the coefficients of conjugate gradients.

    As in section 6.7.3 of Saad, "Iterative methods for sparse linear systems" (2003). None where A or M turn
    out not to be definite.
    """
    z, q = xp.empty_like(r), xp.empty_like(r)
    solve(r, z)
    p, rhos, curvatures = z.copy(), [dot(r, z)], []
    with np.errstate(all="ignore"):  # coefficients after a breakdown are cut off below
        for _ in range(STEPS):
            multiply(p, q)
            curvatures.append(dot(p, q))
            r = r - (rhos[-1] / curvatures[-1]).astype(r.dtype) * q
            solve(r, z)
            rhos.append(dot(r, z))
            p = z + (rhos[-1] / rhos[-2]).astype(r.dtype) * p
    numbers = xp.stack([*rhos, *curvatures]).tolist()  # stall: the coefficients of all steps at once
    rho, curvature = np.array(numbers[: STEPS + 1]), np.array(numbers[STEPS + 1 :])
    valid = (rho[:-1] > 0) & (curvature > 0) & np.isfinite(rho[:-1]) & np.isfinite(curvature)
    count = STEPS if valid.all() else int(valid.argmin())
    if not count:
        return None
    alpha, beta = rho[:count] / curvature[:count], rho[1:count] / rho[: count - 1]
    diagonal = 1 / alpha
    diagonal[1:] += beta / alpha[:-1]
    off_diagonal = np.sqrt(beta) / alpha[:-1]
    values = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1))
    return float(values[-1]) if np.isfinite(values[-1]) else None


def _by_power_method(r: Array, multiply: ApplyInto, solve: ApplyInto, xp: Any, dot: Dot) -> float:
    """The largest growth of the vector's norm in the last three steps; 1 where there is none."""
    z, q = r.copy(), xp.empty_like(r)
    growths = [0.0]
    for _ in range(STEPS):
        norm = np.sqrt(float(dot(z, z)))  # stall: ends where the vector vanishes or overflows
        if not 0 < norm < np.inf:
            break
        z /= r.dtype.type(norm)
        multiply(z, q)
        solve(q, z)
        growths.append(np.sqrt(float(dot(z, z))))
    largest = max(growths[-3:])
    return float(largest) if 0 < largest < np.inf else 1.0


def _dot(u: Array, v: Array, xp: Any) -> Any:
    """The real part of the inner product, in double precision."""
    wide = np.result_type(u.dtype, np.float64)
    return xp.vdot(u.astype(wide, copy=False), v.astype(wide, copy=False)).real


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
