"""Flexible conjugate gradients."""

from __future__ import annotations

from typing import Any

from .cg import Cg
from .driver import solve
from .problem import checked


class Fcg(Cg):
    """The method: directions stay conjugate to the last one, also where M changes."""

    name = "fcg"

    def iterate(self, space, A, M):
        if M.is_identity:
            super().iterate(space, A, M)
            return
        space.precondition(M, "r", "z")
        space.dot("fcg_rho", ("r", "z"), ("q", "z"))
        space.update("cg_direction")
        space.multiply(A, "p", "q", "cg_curvature", ("p", "q"))
        space.update("cg_step")
        space.record_error(half=False)


def fcg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
    history: Any = None,
    inner: Any = None,
) -> tuple[Any, Any]:
    """Solve A x = b by flexible conjugate gradients (Notay, doi:10.1137/S1064827599362314).

    For a Hermitian positive definite A, and an M that may change from one product to the next or is not
    quite symmetric, such as an inner iteration. It costs one inner product more than `cg` an iteration.

    Parameters
    ----------
    A, b, x0, rtol, atol, maxiter, M, callback, history, inner
        As for `cg`.

    Returns
    -------
    x, info
        As of `cg`.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((30, 30))
    >>> x, info = lf.solvers.fcg(A, np.ones(900), M=lf.block_tridiagonal(A))
    >>> info
    0
    """
    problem = checked(A, b, x0, rtol, atol, maxiter, M, callback, inner)
    return solve(Fcg(), problem, callback, history)
