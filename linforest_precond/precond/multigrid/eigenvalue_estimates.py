"""The largest eigenvalue of a preconditioned matrix, estimated from below and bounded from above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linforest_precond.backends import backend_of

STEPS = 10
# Estimates from below are raised by so much.
MARGIN = 1.1
_GOLDEN = np.uint32(2654435769)  # 2**32 over the golden ratio


def rough_vector(n: int, dtype: np.dtype, xp: Any) -> Any:
    """A column without any pattern to speak of, the same on every device: numbers between -1/2 and 1/2."""
    bits = xp.arange(1, n + 1, dtype=np.uint32) * _GOLDEN
    bits = (bits ^ (bits >> np.uint32(15))) * _GOLDEN
    return (bits.astype(np.float64) / 2.0**32 - 0.5).astype(dtype).reshape(n, 1)


def largest_eigenvalue(
    n: int, dtype: np.dtype, multiply: Callable, solve: Callable, definite: bool, backend: Any
) -> float:
    """Estimate the largest eigenvalue of M A: 10 steps of Lanczos' method where both are definite.

    Elsewhere of the power method. ``multiply(x, y)`` and ``solve(r, z)`` write A x and M r.
    """
    xp = backend.xp
    r = rough_vector(n, dtype, xp)
    if definite:
        found = _by_lanczos(r, multiply, solve, xp)
        if found is not None:
            return MARGIN * found
    return MARGIN * _by_powers(r, multiply, solve, xp)


def _by_lanczos(r: Any, multiply: Callable, solve: Callable, xp: Any) -> float | None:
    """From the coefficients of conjugate gradients; None where A or M turn out not to be definite."""
    z, q = xp.empty_like(r), xp.empty_like(r)
    solve(r, z)
    p, rhos, curvatures = z.copy(), [_dot(r, z, xp)], []
    with np.errstate(all="ignore"):  # what comes after the end is not looked at
        for _ in range(STEPS):
            multiply(p, q)
            curvatures.append(_dot(p, q, xp))
            r = r - (rhos[-1] / curvatures[-1]).astype(r.dtype) * q
            solve(r, z)
            rhos.append(_dot(r, z, xp))
            p = z + (rhos[-1] / rhos[-2]).astype(r.dtype) * p
    numbers = xp.stack([*rhos, *curvatures]).tolist()  # stall: decides
    rho, curvature = np.array(numbers[: STEPS + 1]), np.array(numbers[STEPS + 1 :])
    going = (rho[:-1] > 0) & (curvature > 0) & np.isfinite(rho[:-1]) & np.isfinite(curvature)
    count = STEPS if going.all() else int(going.argmin())
    if not count:
        return None
    alpha, beta = rho[:count] / curvature[:count], rho[1:count] / rho[: count - 1]
    diagonal = 1 / alpha
    diagonal[1:] += beta / alpha[:-1]
    beside = np.sqrt(beta) / alpha[:-1]
    values = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    return float(values[-1]) if np.isfinite(values[-1]) else None


def _by_powers(r: Any, multiply: Callable, solve: Callable, xp: Any) -> float:
    """The largest growth in the last steps of the power method."""
    z, q = r.copy(), xp.empty_like(r)
    growths = [0.0]
    for _ in range(STEPS):
        before = np.sqrt(float(_dot(z, z, xp)))  # stall: decides
        if not 0 < before < np.inf:
            break
        z /= r.dtype.type(before)
        multiply(z, q)
        solve(q, z)
        growths.append(np.sqrt(float(_dot(z, z, xp))))
    largest = max(growths[-3:])
    return float(largest) if 0 < largest < np.inf else 1.0


def _dot(u: Any, v: Any, xp: Any) -> Any:
    wide = np.result_type(u.dtype, np.float64)
    return xp.vdot(u.astype(wide, copy=False), v.astype(wide, copy=False)).real


def gershgorin(csr: Any, sizes: Any) -> float:
    """A bound of the eigenvalues of the matrix over its diagonal: the largest row sum."""
    xp = backend_of(csr.data).xp
    diagonal = abs(csr.diagonal)
    ratios = xp.where(diagonal > 0, sizes / xp.where(diagonal > 0, diagonal, 1), 0)
    return float(ratios.max()) if ratios.size else 1.0  # stall: one number
