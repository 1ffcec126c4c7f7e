"""The stationary iteration x += M (b - A x) with multigrid cycles M, without a Krylov method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.flags import all_set
from linforest_precond.matrix.value_range import exponents_outside, shifted
from linforest_precond.matrix.vectors import checked_vectors, norms_of
from linforest_precond.precond.multigrid.hierarchy_level import Level


def repeat_cycles(
    level: Level,
    exponent: int,
    M: Any,
    b: Any,
    x0: Any,
    tol: float,
    maxiter: int,
    callback: Callable[[Array], Any] | None,
) -> tuple[Array, int, list[float]]:
    """Add ``M @ (b - A x)`` to x until the residual's norm is at most ``tol * norm(b)``.

    The level's matrix and M are those of A 2**-exponent. b is scaled by a power of two, too, where its norm
    would overflow or underflow. Returns x, 0 or the number of cycles, and the norms of all residuals; several
    columns count as one vector. The iteration ends with the last finite x where a number overflows.
    """
    backend = level.csr.backend
    n, dtype = level.csr.n, M.dtype
    b = checked_vectors("b", b, n, backend)
    dtype = np.result_type(dtype, b.dtype)
    columns = b.reshape(n, 1 if b.ndim == 1 else b.shape[1]).astype(dtype)
    own = int(exponents_outside(columns.reshape(-1, 1), np.array([_norm(columns)]))[0])
    columns = shifted(columns, -own) if own else columns

    def as_given(x: Array) -> Array:
        return (shifted(x, own - exponent) if own != exponent else x).reshape(b.shape)

    x = backend.xp.zeros_like(columns)
    if x0 is not None:
        x[...] = checked_vectors("x0", x0, n, backend).reshape(x.shape)
        x = shifted(x, exponent - own) if own != exponent else x
    r = backend.xp.empty_like(columns)
    target = tol * (_norm(columns) or 1.0)
    last, norms = x, list[float]()
    while True:
        backend.multigrid.vector_ops.residual(level.matrix, columns, x, r)
        norms.append(_norm(r))
        # stall: a number that A does not multiply may overflow, too
        if not (np.isfinite(norms[-1]) and all_set(backend.xp.isfinite(x))):
            x = last
            break
        if norms[-1] <= target or len(norms) > maxiter:
            break
        with np.errstate(all="ignore"):
            last, x = x, x + M @ r
        if callback is not None:
            callback(as_given(x))
    info = 0 if norms[-1] <= target else max(len(norms) - 1, 1)
    return as_given(x), info, [float(norm) for norm in np.ldexp(norms, own)]


def _norm(columns: Array) -> float:
    return float(np.linalg.norm(norms_of(columns, None)))
