"""Docstring entries of the parameters that all solvers share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

TEXT = """
A : sparse matrix, 2-D array or LinearOperator
    Of SciPy and NumPy or of CuPy, n x n.
b : (n,), (n, 1) or (n, k) array
    One right-hand side, or k of them that are solved for together; each column stops on its own.
x0 : array, optional
    The initial guess, of b's shape; 0 by default.
rtol, atol : float
    Converged when the norm of the residual is at most ``max(rtol * norm(b), atol)``. The default of rtol is
    SciPy's, 1e-5; `linforest_precond.solve`, which has no counterpart there, takes 1e-8. Convergence is
    verified on b - A x: where the recursive residual is smaller, it is replaced by the true one and the
    iteration goes on. b - A x is computed in twice the working precision for a matrix or an array; a
    LinearOperator has no entries, so its own product is trusted. A tolerance that rounding errors of x
    exceed ends with the status `UNATTAINABLE` and the best x.
maxiter : int, optional
    The most iterations of each column, 10 n by default.
M : LinearOperator, matrix or array, optional
    An approximate inverse of A.
callback : function, optional
    Called after each iteration with the current x, in the shape that is returned; copy it to keep it. k
    columns are iterated together: there is one call for each iteration that any of them makes, and columns
    that have stopped do not change. Columns that are restarted from their true residuals go on after all
    others have stopped, so that there may be more than `maxiter` calls; `history.iterations` counts as many.
callback_type : {"x", "pr_norm", "legacy"}, optional
    As in SciPy: "x" calls `callback` with x after each cycle; "pr_norm" and "legacy" call it after each
    iteration with the norm of the residual relative to that of b, a float, or a (k,) array for k columns. By
    default it is called after each iteration with x, which takes a product with M and one with the basis.
    `maxiter` counts iterations in all cases.
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
restart : int, optional
    The iterations of a cycle, 30 by default, at most n. A cycle stores as many vectors, and one more.
x : array
    (n,), or (n, k) for k right-hand sides.
info : int, or (k,) array of int
    0: converged, and x is finite. Positive: the iterations that the column made, `maxiter`, or 1 if that is
    0. Negative: a `Status`, with a RuntimeWarning. Unless it is 0, x is the last finite iterate, or x0 (by
    default 0) if its residual is smaller.
"""
# The entries, by their first names.
ENTRIES = {re.split(r"[ ,]", entry)[0]: entry for entry in re.split(r"\n(?=\w)", TEXT.strip())}


def with_shared_parameters(function: Function) -> Function:
    """Decorator: a line ``{A, b}`` of the docstring is replaced by the entries of these parameters."""
    if function.__doc__ is not None:  # None with python -OO
        function.__doc__ = re.sub(r"( *)\{([\w, ]+)\}\n", _entries, function.__doc__)
    return function


def _entries(marker: re.Match[str]) -> str:
    indentation, names = marker.groups()
    lines = "\n".join(ENTRIES[name] for name in names.split(", ")).splitlines()
    return "".join(f"{indentation}{line}\n" for line in lines)
