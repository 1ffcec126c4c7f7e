"""Krylov solvers over ranks: those of `linforest_precond.solvers`, on each rank's part of the vectors.

The iterations, bit for bit, do not depend on the number of ranks, if products with M do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linforest_precond import solvers
from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.partition.matrix import Matrix, check_matrix
from linforest_precond.matrix.vectors import checked_vectors
from linforest_precond.solvers.driver import Info


def cg(A: Matrix, b: Array, x0: Array | None = None, **options: Any) -> tuple[Array, Info]:
    """Solve A x = b by conjugate gradients over ranks; see `linforest_precond.solvers.cg`.

    Parameters
    ----------
    A : Matrix
        The partitioned matrix.
    b : (n_local,) or (n_local, k) array
        This rank's part of the right-hand sides.
    x0 : array, optional
        This rank's part of the initial guess.
    **options
        Those of the solver, the same on all ranks. M is an operator on this rank's part of vectors (n_local x
        n_local), or an object that has one as its attribute ``operator``, as `Matrix` does. `inner` is
        `A.inner` by default.

    Returns
    -------
    x : array
        This rank's part of the solution.
    info : int, or (k,) array of int
        The same on all ranks.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> from linforest_precond import distributed
    >>> A = lf.matrices.aniso(2, 30)
    >>> def solve(comm):
    ...     parts = distributed.scatter(A, comm)
    ...     history = lf.solvers.History()
    ...     distributed.cg(parts, np.ones(parts.n_local), history=history)
    ...     return history.residuals.tobytes()
    >>> len(set(distributed.simulate(4, solve) + distributed.simulate(1, solve)))
    1
    """
    return _solve(solvers.cg, A, b, x0, options)


def _over_ranks(method: Callable[..., tuple[Array, Info]]) -> Callable[..., tuple[Array, Info]]:
    """The solver of this name over ranks."""

    def solve(A: Matrix, b: Array, x0: Array | None = None, **options: Any) -> tuple[Array, Info]:
        return _solve(method, A, b, x0, options)

    name = method.__name__
    solve.__doc__ = f"Solve A x = b by `linforest_precond.solvers.{name}` over ranks, as `cg`."
    solve.__name__ = solve.__qualname__ = name
    return solve


fcg, bicgstab, minres, gmres, fgmres = map(
    _over_ranks, (solvers.fcg, solvers.bicgstab, solvers.minres, solvers.gmres, solvers.fgmres)
)


def _solve(
    method: Callable[..., tuple[Array, Info]], A: Matrix, b: Any, x0: Any, options: dict[str, Any]
) -> tuple[Array, Info]:
    """Check the arguments on all ranks together, then solve."""
    check_matrix(A)
    M: Any = options.get("M")
    M = M.aspreconditioner() if hasattr(M, "aspreconditioner") else M  # a hierarchy
    # A LinearOperator is taken as it is: transposes of preconditioners have an attribute `operator`, too.
    M = M if hasattr(M, "_matvec") else getattr(M, "operator", M)
    with A.comm.checking():
        b = checked_vectors("b", b, A.n_local, A.backend)
        x0 = None if x0 is None else checked_vectors("x0", x0, A.n_local, A.backend)
        if M is not None and tuple(M.shape) != (A.n_local, A.n_local):
            raise ValueError(f"M must have the shape {(A.n_local, A.n_local)}, got {tuple(M.shape)}")
        # A solve without right-hand sides checks the options.
        others = {name: value for name, value in options.items() if name not in ("M", "history")}
        method(np.eye(1), np.empty((1, 0)), **others)
    A.comm.same("the solver", method.__name__)
    A.comm.same("the columns and the dtype of b", (b.shape[1:], b.dtype.name))
    A.comm.same("the dtype of x0", None if x0 is None else x0.dtype.name)
    A.comm.same("the options of a solver", _described(options))
    with A.comm.together():
        return method(A.operator, b, x0, **{"inner": A.inner, **options, "M": M})


def _described(options: dict[str, Any]) -> dict[str, Any]:
    """Options as numbers, and objects of each rank by their types."""
    plain = int, float, str
    return {
        name: value if isinstance(value, plain) else type(value).__name__
        for name, value in sorted(options.items())
    }
