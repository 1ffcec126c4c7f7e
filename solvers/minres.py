"""Minimal residuals for Hermitian systems (MINRES)."""

from __future__ import annotations

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.krylov_codes import ScalarStep, VectorUpdate
from linforest_precond.interop.dlpack import takes_foreign_arrays

from .driver import Callback, Info, Method, solve
from .history import History
from .problem import Inner, LinearMap, checked_problem
from .shared_parameters import with_shared_parameters
from .vector_space import MatrixProduct, Preconditioning, VectorSpace


class Minres(Method):
    """Preconditioned MINRES: Lanczos vectors r1, r2 before M and v after it, directions w1, w2.

    The method minimizes the norm of the residual that belongs to M; the residual itself is updated beside it,
    r = sn^2 r - phibar cs r2 / beta, so that iterations stop by its 2-norm as in all methods here.
    """

    name = "minres"
    names = ("r1", "r2", "z", "v", "w1", "w2", "q")
    copies = ("r2",)

    def alias(self, space: VectorSpace) -> None:
        space.alias("z", "r2")

    def begin(self, space: VectorSpace, A: MatrixProduct, M: Preconditioning) -> None:
        space.precondition(M, "r2", "z")
        space.dot(ScalarStep.MINRES_BEGIN, ("r2", "z"))
        space.update(VectorUpdate.MINRES_BEGIN)

    def iterate(self, space: VectorSpace, A: MatrixProduct, M: Preconditioning) -> None:
        space.multiply(A, "v", "q", ScalarStep.MINRES_ALPHA, ("v", "q"))
        space.update(VectorUpdate.MINRES_LANCZOS)
        space.precondition(M, "r2", "z")
        space.dot(ScalarStep.MINRES_BETA, ("r2", "z"))
        space.update(VectorUpdate.MINRES_STEP)
        space.record_error(half=False)


@takes_foreign_arrays
@with_shared_parameters
def minres(
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
    """Solve A x = b by minimal residuals (MINRES), for a Hermitian A that may be indefinite or singular.

    Paige & Saunders (1975), doi:10.1137/0712047. A singular system is solved where b is in the range of A;
    elsewhere the result is close to a least squares solution, with the status `SINGULAR`; not where a row of
    A is zero and b is not zero there, which is seen before the first iteration: x is then x0. There is no
    `shift`: pass A - shift I. SciPy stops by a norm that depends on M and on an estimate of the norm of A,
    this function by the 2-norm of b - A x.

    Parameters
    ----------
    {A, b, x0, rtol, maxiter}
    M : LinearOperator, matrix or array, optional
        An approximate inverse of A or of abs(A), Hermitian and positive definite.
    {callback, history, inner, nullspace, reorder, verbose}

    Returns
    -------
    {x, info}

    Examples
    --------
    An indefinite matrix, the Laplacian minus a shift:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((20, 20)) - 0.3 * sp.eye_array(400)
    >>> x, info = lf.solvers.minres(A, np.ones(400), rtol=1e-8)
    >>> info, bool(np.linalg.norm(A @ x - 1) <= 1e-8 * 20)
    (0, True)
    """
    problem = checked_problem(A, b, x0, rtol, atol, maxiter, M, callback, inner, nullspace, reorder)
    return solve(Minres(), problem, callback, history, verbose)
