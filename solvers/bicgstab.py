"""Stabilized bi-conjugate gradients."""

from __future__ import annotations

from typing import Any

from .driver import solve
from .problem import checked


class Bicgstab:
    """The method: after the half step, r is what that leaves."""

    name, names, copies = "bicgstab", ("shadow", "p", "v", "phat", "shat", "t"), ("shadow",)

    def alias(self, space):
        space.alias("phat", "p")
        space.alias("shat", "r")

    def iterate(self, space, A, M):
        space.update("bi_direction")
        space.precondition(M, "p", "phat")
        space.multiply(A, "phat", "v", "bi_alpha", ("shadow", "v"))
        space.update("bi_half")
        space.record_error(half=True)
        space.precondition(M, "r", "shat")
        space.multiply(A, "shat", "t", "bi_omega", ("t", "r"), ("t", "t"))
        space.update("bi_step")
        space.record_error(half=False)


def bicgstab(
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
    """Solve A x = b by stabilized bi-conjugate gradients, for any A that is not singular.

    Parameters
    ----------
    A, b, x0, rtol, atol, maxiter, callback, history, inner
        As for `cg`; A need not be symmetric. A history has the half steps, too. Where rho or omega vanish,
        it starts again from the true residual, as long as that helps.
    M : LinearOperator, matrix or array, optional
        An approximate inverse of A.

    Returns
    -------
    x, info
        As of `cg`.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.stencil((40, 40), [[0, -1, 0], [-2, 5, -1], [0, -1, 0]])
    >>> x, info = lf.solvers.bicgstab(A, np.ones(1600), rtol=1e-8, M=lf.tridiagonal(A))
    >>> info, bool(np.linalg.norm(A @ x - 1) <= 1e-8 * 40)
    (0, True)
    """
    problem = checked(A, b, x0, rtol, atol, maxiter, M, callback, inner)
    return solve(Bicgstab(), problem, callback, history)
