"""Stabilized bi-conjugate gradients (BiCGStab)."""

from __future__ import annotations

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.krylov_codes import ScalarStep, VectorUpdate
from linforest_precond.interop.dlpack import takes_foreign_arrays

from .driver import Callback, Info, Method, solve
from .history import History
from .problem import Inner, LinearMap, checked_problem
from .shared_parameters import with_shared_parameters
from .vector_space import MatrixProduct, Preconditioning, VectorSpace


class Bicgstab(Method):
    """BiCGStab with right preconditioning; between its two half steps the vector r holds s = r - alpha v."""

    name = "bicgstab"
    names = ("shadow", "p", "v", "phat", "shat", "t")
    copies = ("shadow",)

    def alias(self, space: VectorSpace) -> None:
        space.alias("phat", "p")
        space.alias("shat", "r")

    def iterate(self, space: VectorSpace, A: MatrixProduct, M: Preconditioning) -> None:
        space.update(VectorUpdate.BICGSTAB_DIRECTION)
        space.precondition(M, "p", "phat")
        space.multiply(A, "phat", "v", ScalarStep.BICGSTAB_ALPHA, ("shadow", "v"))
        space.update(VectorUpdate.BICGSTAB_HALF_STEP)
        space.record_error(half=True)
        space.precondition(M, "r", "shat")
        space.multiply(A, "shat", "t", ScalarStep.BICGSTAB_OMEGA, ("t", "r"), ("t", "t"))
        space.update(VectorUpdate.BICGSTAB_STEP)
        space.record_error(half=False)


@takes_foreign_arrays
@with_shared_parameters
def bicgstab(
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
    """Solve A x = b by stabilized bi-conjugate gradients (BiCGStab), for any nonsingular A.

    van der Vorst (1992), doi:10.1137/0913035. A history has the half steps, too. After a breakdown (rho or
    omega vanishes) the method restarts from b - A x, as long as that residual keeps halving.

    Parameters
    ----------
    {A, b, x0, rtol, maxiter, M, callback, history, inner, nullspace, reorder, verbose}

    Returns
    -------
    {x, info}

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.stencil((40, 40), [[0, -1, 0], [-2, 5, -1], [0, -1, 0]])
    >>> x, info = lf.solvers.bicgstab(A, np.ones(1600), rtol=1e-8, M=lf.tridiagonal(A))
    >>> info, bool(np.linalg.norm(A @ x - 1) <= 1e-8 * 40)
    (0, True)
    """
    problem = checked_problem(A, b, x0, rtol, atol, maxiter, M, callback, inner, nullspace, reorder)
    return solve(Bicgstab(), problem, callback, history, verbose)
