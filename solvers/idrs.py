"""Induced dimension reduction, IDR(s)."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_integer
from linforest_precond.interop.dlpack import takes_foreign_arrays

from .driver import Callback, Info, Method, solve
from .history import History
from .problem import Inner, LinearMap, Problem, checked_problem
from .shared_parameters import with_shared_parameters
from .vector_space import MatrixProduct, Preconditioning, VectorSpace

# The seed of the shadow vectors.
SEED = 0


class Idrs(Method):
    """IDR(s) with biorthogonal bases; g = A u, and v before the preconditioner becomes vhat after it.

    The projections of a step are computed from one pass of inner products, P* g, by forward substitution.
    """

    name = "idrs"
    names = ("v", "vhat", "u", "g")

    def __init__(self, s: int) -> None:
        self.s = s

    def alias(self, space: VectorSpace) -> None:
        space.alias("vhat", "v")

    def prepare(self, space: VectorSpace, problem: Problem) -> None:
        shadows = shadow_vectors(problem.backend, problem.b.shape[0], self.s)
        self.idr = problem.backend.krylov.idr.Idr(space, problem.reordering.permuted(shadows, axis=1))

    def begin(self, space: VectorSpace, A: MatrixProduct, M: Preconditioning) -> None:
        self.idr.begin()

    def iterate(self, space: VectorSpace, A: MatrixProduct, M: Preconditioning) -> None:
        self.idr.direction()
        space.precondition(M, "v", "vhat")
        self.idr.extend()
        space.multiply(A, "u", "g")
        self.idr.step()
        space.record_error(half=False)


def shadow_vectors(backend: Backend, n: int, s: int) -> Array:
    """Orthonormal pseudorandom rows, an (s, n) array with s at most n.

    Cholesky-QR twice: unlike Householder's, its factors are unique, so both backends agree to rounding.
    """
    rows = min(s, n)
    vectors = backend.krylov.idr.shadow_values(n, rows, SEED)
    try:
        for _ in range(2):
            gram = np.array((vectors @ vectors.T).tolist())  # stall: the factor of a few rows
            vectors = backend.xp.asarray(np.linalg.inv(np.linalg.cholesky(gram))) @ vectors
    except np.linalg.LinAlgError:  # a few rows that are almost dependent
        return backend.xp.eye(rows, n)
    return vectors


@takes_foreign_arrays
@with_shared_parameters
def idrs(
    A: LinearMap,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    s: int = 4,
    maxiter: int | None = None,
    M: LinearMap | None = None,
    callback: Callback | None = None,
    history: History | None = None,
    inner: Inner | None = None,
    nullspace: str | Array | None = None,
    reorder: bool = False,
    verbose: bool = False,
) -> tuple[Array, Info]:
    """Solve A x = b by induced dimension reduction, IDR(s), for any nonsingular A.

    van Gijzen & Sonneveld (2011), doi:10.1145/2049662.2049667. Short recurrences, and often fewer products
    with A than `bicgstab` needs. For matrices that are close to skew-symmetric take `gmres`.

    Parameters
    ----------
    {A, b, x0, rtol}
    s : int
        Shadow vectors. 3 s vectors are stored; more of them make the iteration closer to `gmres`.
    maxiter : int, optional
        The most iterations, 10 n by default; each has one product with A, half of one of `bicgstab`.
    {M, callback, history, inner, nullspace, reorder, verbose}

    Returns
    -------
    {x, info}

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.stencil((40, 40), [[0, -1, 0], [-2, 5, -1], [0, -1, 0]])
    >>> x, info = lf.solvers.idrs(A, np.ones(1600), rtol=1e-8, M=lf.tridiagonal(A))
    >>> info, bool(np.linalg.norm(A @ x - 1) <= 1e-8 * 40)
    (0, True)
    """
    method = Idrs(_checked_shadows(s))
    problem = checked_problem(A, b, x0, rtol, atol, maxiter, M, callback, inner, nullspace, reorder)
    return solve(method, problem, callback, history, verbose)


def _checked_shadows(s: Any) -> int:
    count = as_integer("s", s)
    if not 1 <= count <= 64:
        raise ValueError(f"s must be from 1 to 64, got {s}")
    return count
