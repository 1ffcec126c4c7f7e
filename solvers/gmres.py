"""Generalized minimal residuals (GMRES), with a fixed and with a changing preconditioner."""

from __future__ import annotations

from typing import Any

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_choice, as_integer
from linforest_precond.interop.dlpack import takes_foreign_arrays

from .driver import Callback, Info, Method, solve
from .history import History
from .problem import Inner, LinearMap, Problem, checked_problem
from .shared_parameters import with_shared_parameters
from .vector_space import MatrixProduct, Preconditioning, VectorSpace

# The default length of a cycle.
RESTART = 30
# SciPy's names of the arguments of callbacks.
CALLBACK_TYPES = ("x", "pr_norm", "legacy")


class Gmres(Method):
    """Restarted GMRES with right preconditioning, so that the residual it minimizes is that of the system.

    The basis is orthogonalized by classical Gram-Schmidt twice (Giraud, Langou, Rozloznik & van den Eshof
    2005, doi:10.1007/s00211-005-0615-4), with one pass of inner products each.

    An iteration is a step of the Arnoldi process. x is completed at the end of a cycle, whose length the
    host knows; within a cycle nothing is read from the device.
    """

    name = "gmres"
    names = ("b", "current", "v", "z", "w")
    flexible = False

    def __init__(self, restart: int) -> None:
        self.restart = restart

    def alias(self, space: VectorSpace) -> None:
        space.alias("z", "v")

    def prepare(self, space: VectorSpace, problem: Problem) -> None:
        self.cycle = max(1, min(self.restart, problem.unknowns, problem.most_iterations))
        self.keeps_z = self.flexible and not problem.preconditioning.is_identity
        self.arnoldi = problem.backend.krylov.arnoldi.Arnoldi(space, self.cycle, self.keeps_z)
        space["b"][...] = problem.b

    def begin(self, space: VectorSpace, A: MatrixProduct, M: Preconditioning) -> None:
        self.arnoldi.begin()

    def iterate(self, space: VectorSpace, A: MatrixProduct, M: Preconditioning) -> None:
        space.precondition(M, "v", "z")
        space.multiply(A, "z", "w")
        self.arnoldi.extend()
        if space.records_errors():
            self.current(space, M)
            space.record_error(half=False, name="current")

    def current(self, space: VectorSpace, M: Preconditioning) -> Array:
        """x + Z y, where Z y is M V y unless Z is kept."""
        if M.is_identity or self.keeps_z:
            self.arnoldi.correct("current", "x")
        else:
            self.arnoldi.correct("w", None)
            M.into(space, "w", "current")
            self.arnoldi.add("current")
        return space["current"]

    def finish(self, space: VectorSpace, A: MatrixProduct, M: Preconditioning) -> None:
        self.current(space, M)
        self.arnoldi.accept("current")
        space.multiply(A, "x", "w")
        self.arnoldi.restart()
        self.arnoldi.begin()


class Fgmres(Gmres):
    """Flexible GMRES: keeps the preconditioned vectors, so that M may change from step to step."""

    name = "fgmres"
    flexible = True


@takes_foreign_arrays
@with_shared_parameters
def gmres(
    A: LinearMap,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: LinearMap | None = None,
    callback: Callback | None = None,
    callback_type: str | None = None,
    history: History | None = None,
    inner: Inner | None = None,
    nullspace: str | Array | None = None,
    reorder: bool = False,
    verbose: bool = False,
) -> tuple[Array, Info]:
    """Solve A x = b by restarted generalized minimal residuals (GMRES), for any nonsingular A.

    Saad & Schultz (1986), doi:10.1137/0907058, with right preconditioning: the residuals are those of the
    system, whatever M is. In each cycle of `restart` iterations their norms never grow.

    Parameters
    ----------
    {A, b, x0, rtol, restart}
    maxiter : int, optional
        The most iterations, 10 n by default. Unlike SciPy's, it counts products with A, not cycles.
    M : LinearOperator, matrix or array, optional
        An approximate inverse of A, which must not change: see `fgmres`. SciPy's `gmres` preconditions from
        the left: it has other iterates.
    {callback, callback_type, history, inner, nullspace, reorder, verbose}

    Returns
    -------
    {x, info}

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.stencil((40, 40), [[0, -1, 0], [-2, 5, -1], [0, -1, 0]])
    >>> x, info = lf.solvers.gmres(A, np.ones(1600), rtol=1e-8, M=lf.tridiagonal(A))
    >>> info, bool(np.linalg.norm(A @ x - 1) <= 1e-8 * 40)
    (0, True)
    """
    method = Gmres(_checked_restart(restart))
    problem = checked_problem(A, b, x0, rtol, atol, maxiter, M, callback, inner, nullspace, reorder)
    return solve(method, problem, callback, history, verbose, _checked_type(callback_type))


@takes_foreign_arrays
@with_shared_parameters
def fgmres(
    A: LinearMap,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: LinearMap | None = None,
    callback: Callback | None = None,
    callback_type: str | None = None,
    history: History | None = None,
    inner: Inner | None = None,
    nullspace: str | Array | None = None,
    reorder: bool = False,
    verbose: bool = False,
) -> tuple[Array, Info]:
    """Solve A x = b by flexible GMRES, for any nonsingular A and an M that may change.

    Saad (1993), doi:10.1137/0914028. M may change from one product to the next, like an inner iteration. A
    cycle stores twice the vectors of one of `gmres`, and saves a product with M at its end.

    Parameters
    ----------
    {A, b, x0, rtol, restart}
    maxiter : int, optional
        The most iterations, 10 n by default. Unlike SciPy's, it counts products with A, not cycles.
    {M, callback, callback_type, history, inner, nullspace, reorder, verbose}

    Returns
    -------
    {x, info}

    Examples
    --------
    An inner iteration as the preconditioner:

    >>> import numpy as np
    >>> from scipy.sparse.linalg import LinearOperator
    >>> import linforest_precond as lf
    >>> A = lf.matrices.stencil((40, 40), [[0, -1, 0], [-2, 5, -1], [0, -1, 0]])
    >>> M = LinearOperator(A.shape, lambda r: lf.solvers.bicgstab(A, r, rtol=0.1)[0], dtype=float)
    >>> x, info = lf.solvers.fgmres(A, np.ones(1600), rtol=1e-8, M=M)
    >>> info
    0
    """
    method = Fgmres(_checked_restart(restart))
    problem = checked_problem(A, b, x0, rtol, atol, maxiter, M, callback, inner, nullspace, reorder)
    return solve(method, problem, callback, history, verbose, _checked_type(callback_type))


def _checked_type(callback_type: Any) -> str | None:
    return None if callback_type is None else as_choice("callback_type", callback_type, CALLBACK_TYPES)


def _checked_restart(restart: Any) -> int:
    return RESTART if restart is None else as_integer("restart", restart, 1)
