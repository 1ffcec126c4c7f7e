"""Conjugate gradients, with a fixed and with a changing preconditioner."""

from __future__ import annotations

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.krylov_codes import ScalarStep, VectorUpdate
from linforest_precond.interop.dlpack import takes_foreign_arrays

from .driver import Callback, Info, Method, solve
from .history import History
from .problem import Inner, LinearMap, checked_problem
from .shared_parameters import with_shared_parameters
from .vector_space import MatrixProduct, Preconditioning, VectorSpace


class Cg(Method):
    """Preconditioned conjugate gradients; M is Hermitian positive definite and does not change."""

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
@with_shared_parameters
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
    {A, b, x0, rtol, maxiter}
    M : LinearOperator, matrix or array, optional
        An approximate inverse of A, Hermitian and positive definite.
    {callback, history, inner, nullspace, reorder, verbose}

    Returns
    -------
    {x, info}

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


class Fcg(Cg):
    """Flexible conjugate gradients with truncation 1: each direction is A-orthogonal to the previous one.

    For a fixed Hermitian M it is `Cg` in exact arithmetic.
    """

    name = "fcg"

    def iterate(self, space: VectorSpace, A: MatrixProduct, M: Preconditioning) -> None:
        if M.is_identity:
            super().iterate(space, A, M)
            return
        space.precondition(M, "r", "z")
        space.dot(ScalarStep.FCG_RHO, ("r", "z"), ("q", "z"))
        space.update(VectorUpdate.CG_DIRECTION)
        space.multiply(A, "p", "q", ScalarStep.CG_CURVATURE, ("p", "q"))
        space.update(VectorUpdate.CG_STEP)
        space.record_error(half=False)


@takes_foreign_arrays
@with_shared_parameters
def fcg(
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
    """Solve A x = b by flexible conjugate gradients, for a Hermitian positive definite A.

    Notay (2000), doi:10.1137/S1064827599362314. M may change from one product to the next, like an inner
    iteration, or be slightly nonsymmetric. An iteration has one inner product more than one of `cg`.

    Parameters
    ----------
    {A, b, x0, rtol, maxiter}
    M : LinearOperator, matrix or array, optional
        An approximate inverse of A, close to a Hermitian and positive definite one.
    {callback, history, inner, nullspace, reorder, verbose}

    Returns
    -------
    {x, info}

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((30, 30))
    >>> x, info = lf.solvers.fcg(A, np.ones(900), M=lf.block_tridiagonal(A))
    >>> info
    0
    """
    problem = checked_problem(A, b, x0, rtol, atol, maxiter, M, callback, inner, nullspace, reorder)
    return solve(Fcg(), problem, callback, history, verbose)
