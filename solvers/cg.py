"""Conjugate gradients."""

from __future__ import annotations

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.krylov_codes import ScalarStep, VectorUpdate
from linforest_precond.interop.dlpack import takes_foreign_arrays

from .driver import Callback, Info, Method, solve
from .history import History
from .problem import Inner, LinearMap, checked_problem
from .vector_space import MatrixProduct, Preconditioning, VectorSpace


class Cg(Method):
    """Preconditioned conjugate gradients; M is Hermitian positive definite and does not change.

    Hestenes & Stiefel, "Methods of conjugate gradients for solving linear systems", J. Res. Natl. Bur. Stand.
    49 (1952), doi:10.6028/jres.049.044.
    """

    name = "cg"
    names = ("z", "p", "q")

    def alias(self, space: VectorSpace) -> None:
        space.alias("z", "r")

    def iterate(self, space: VectorSpace, A: MatrixProduct, M: Preconditioning) -> None:
        space.precondition(M, "r", "z")
        space.dot(ScalarStep.CG_RHO, ("r", "z"))
        space.update(VectorUpdate.CG_DIRECTION)
        space.multiply(A, "p", "q", ScalarStep.CG_CURVATURE, ("p", "q"))
        space.update(VectorUpdate.CG_STEP)
        space.record_error(half=False)


@takes_foreign_arrays
def cg(
    A: LinearMap,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: LinearMap | None = None,
    callback: Callback | None = None,
    history: History | None = None,
    inner: Inner | None = None,
    nullspace: str | Array | None = None,
    reorder: bool = False,
    verbose: bool = False,
) -> tuple[Array, Info]:
    """Solve A x = b by conjugate gradients, for a Hermitian positive definite A.

    Hestenes & Stiefel (1952), doi:10.6028/jres.049.044.

    Parameters
    ----------
    A : sparse matrix, 2-D array or LinearOperator
        Of SciPy and NumPy or of CuPy, n x n.
    b : (n,), (n, 1) or (n, k) array
        One right-hand side, or k of them that are solved for together; each column stops on its own.
    x0 : array, optional
        The initial guess, of b's shape; 0 by default.
    rtol, atol : float
        Converged when the norm of the residual is at most ``max(rtol * norm(b), atol)``. Convergence is
        verified on b - A x: where the recursive residual is smaller, it is replaced by the true one and the
        iteration goes on.
    maxiter : int, optional
        The most iterations, 10 n by default.
    M : LinearOperator, matrix or array, optional
        An approximate inverse of A, Hermitian and positive definite.
    callback : function, optional
        Called with the current x after each iteration.
    history : History, optional
        Records the residuals of all iterations.
    inner : function, optional
        ``inner(u, v)``, the inner product of two vectors with u conjugated, instead of the plain sum: for
        vectors that are distributed.
    nullspace : "constant", (n,) or (n, m) array, optional
        Vectors that a singular A maps to zero. They are projected out of b and of all vectors: the result
        solves P A x = P b, with the orthogonal projection P, and is orthogonal to them. For a Hermitian A it
        is the least squares solution of the smallest norm.
    reorder : bool
        Iterate in the order of M, which is one of `linforest_precond.tridiagonal`: A is permuted once, and
        products with M read and write vectors in order. For a sparse A, at the cost of a permuted copy of it;
        all that is passed in and returned is in A's order. It pays for many iterations on a GPU. Not together
        with `inner`.
    verbose : bool
        Show iteration, residual, rate and estimated end on the standard error output while it runs. Python's
        `logging` at the level INFO (logger ``linforest_precond.solvers``) gets a line every five seconds.

    Returns
    -------
    x : array
        (n,), or (n, k) for k right-hand sides.
    info : int, or (k,) array of int
        0: converged. Positive: the iterations made, `maxiter`. Negative: a `Status`, with a RuntimeWarning.

    Raises
    ------
    Interrupted
        A KeyboardInterrupt with the present iterate, after Ctrl-C.

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
    problem = checked_problem(A, b, x0, rtol, atol, maxiter, M, callback, inner, nullspace, reorder)
    return solve(Cg(), problem, callback, history, verbose)
