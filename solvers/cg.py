"""Conjugate gradients."""

from __future__ import annotations

from typing import Any

from .driver import solve
from .problem import checked


class Cg:
    """The method: M is symmetric and fixed."""

    name, names, copies = "cg", ("z", "p", "q"), ()

    def alias(self, space):
        space.alias("z", "r")

    def iterate(self, space, A, M):
        space.precondition(M, "r", "z")
        space.dot("cg_rho", ("r", "z"))
        space.update("cg_direction")
        space.multiply(A, "p", "q", "cg_curvature", ("p", "q"))
        space.update("cg_step")
        space.record_error(half=False)


def cg(
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
    """Solve A x = b by conjugate gradients, for a Hermitian positive definite A.

    Parameters
    ----------
    A : sparse matrix, 2-D array or LinearOperator
        Of SciPy and NumPy or of CuPy, n x n.
    b : (n,), (n, 1) or (n, k) array
        One right-hand side, or k of them that are solved for together; each column stops on its own.
    x0 : array, optional
        Where to start, 0 by default; of b's shape.
    rtol, atol : float
        Solved where the residual's norm is at most ``max(rtol * norm(b), atol)``. That is asked of the true
        residual: where the recursive one is smaller, the true one takes its place, and the iteration goes on.
    maxiter : int, optional
        The most iterations, 10 n by default.
    M : LinearOperator, matrix or array, optional
        An approximate inverse of A, Hermitian and positive definite.
    callback : function, optional
        Called with the current x after each iteration.
    history : History, optional
        Collects what happens on the way.
    inner : function, optional
        ``inner(u, v)``, the inner product of two vectors with u conjugated, in place of the plain sum: for
        vectors that are distributed.

    Returns
    -------
    x : array
        (n,), or (n, k) for k right-hand sides.
    info : int, or (k,) array of int
        0: solved. Positive: the iterations made, `maxiter`. Negative: a `Status`, which was also warned of.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.aniso(2, 50)
    >>> history = lf.solvers.History()
    >>> x, info = lf.solvers.cg(A, np.ones(2500), rtol=1e-8, M=lf.tridiagonal(A), history=history)
    >>> info, bool(np.linalg.norm(A @ x - 1) <= 1e-8 * 50)
    (0, True)
    >>> history.status.name
    'CONVERGED'
    """
    problem = checked(A, b, x0, rtol, atol, maxiter, M, callback, inner)
    return solve(Cg(), problem, callback, history)
