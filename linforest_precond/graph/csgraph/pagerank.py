"""PageRank."""

from __future__ import annotations

import math
from typing import SupportsFloat

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_integer, as_number
from linforest_precond.backends.flags import any_set
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.matrix.checks import check_device
from linforest_precond.matrix.doors import as_csgraph


@named_arguments
def pagerank(
    A: MatrixLike,
    alpha: float = 0.85,
    personalization: npt.ArrayLike | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: npt.ArrayLike | None = None,
    dangling: npt.ArrayLike | None = None,
) -> Array:
    """PageRank: the stationary distribution of a random walk with restarts, as `networkx.pagerank` has it.

    By power iteration (L. Page, S. Brin, R. Motwani, T. Winograd, "The PageRank Citation Ranking", 1999).
    Every sum has a fixed order, so that the same input gives the same bits on every device.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. The entry in row i and column j is the weight of the edge from i to
        j; none may be negative.
    alpha : float
        The damping factor: the probability that the walk follows an edge instead of restarting.
    personalization : array, optional
        The distribution of the restarts, scaled to the sum 1; uniform by default.
    max_iter : int
        The largest number of iterations.
    tol : float
        The iteration ends when the 1-norm of the change is below n times this.
    nstart : array, optional
        The initial ranks, scaled to the sum 1; uniform by default.
    dangling : array, optional
        The distribution of the next vertex after one without outgoing edges, scaled to the sum 1; by default
        `personalization`.

    Returns
    -------
    array of float64
        The rank of each vertex, on A's device; their sum is 1.

    Raises
    ------
    ValueError
        For negative weights, and for a row sum that is too small to be inverted.
    RuntimeError
        If the iteration does not converge.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> lf.graph.pagerank(np.array([[0, 1, 1], [0, 0, 1], [1, 0, 0]])).round(3).tolist()
    [0.388, 0.215, 0.397]
    """
    max_iter = as_integer("max_iter", max_iter, 1)
    alpha, tol = checked_number("alpha", alpha, 1.0), checked_number("tol", tol, math.inf)
    csr = as_csgraph(A)
    backend = csr.backend
    ranks: Array = backend.xp.empty(0)
    if not csr.n:
        return ranks
    if csr.nnz and float(csr.data.min()) < 0:  # stall: validation of the weights
        raise ValueError(f"A must have no negative weights, got {float(csr.data.min())}; pass abs(A)")
    restarts = _distribution("personalization", personalization, csr.n, backend)
    start = _distribution("nstart", nstart, csr.n, backend)
    leaving = restarts if dangling is None else _distribution("dangling", dangling, csr.n, backend)
    ranks, iterations, change = backend.csgraph.pagerank.power_iteration(
        csr, alpha, restarts, leaving, start, max_iter, csr.n * tol
    )
    if math.isnan(change):
        raise ValueError("A must have rows whose sums can be inverted, got one below 1e-308; scale A")
    if change >= csr.n * tol:
        raise RuntimeError(
            f"the ranks still changed by {change:.3g} in iteration {iterations}, where A's size times tol is "
            f"{csr.n * tol:.3g}; raise max_iter or tol"
        )
    return ranks


def checked_number(name: str, value: SupportsFloat, largest: float) -> float:
    number = as_number(name, value)
    if not 0.0 <= number <= largest:
        raise ValueError(f"{name} must lie in [0, {largest:g}], got {number}")
    return number


def real_numbers(name: str, values: Array, n: int, each: str) -> Array:
    """Values as float64, one for each vertex; `each` names these in an error."""
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got {values.dtype}")
    if values.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), one number {each}, got {values.shape}")
    return values.astype(np.float64)


def _distribution(name: str, weights: npt.ArrayLike | None, n: int, backend: Backend) -> Array:
    """Weights of the vertices scaled to the sum 1; uniform where none are given."""
    if weights is None:
        return backend.xp.full(n, 1.0 / n)
    check_device(name, weights, backend)
    values = real_numbers(name, backend.xp.asarray(weights), n, "a vertex")
    total = backend.matrix.sums.tree_sum(values)
    # stall: validation of the weights
    if not 0.0 < total < math.inf or any_set(values < 0):
        raise ValueError(f"{name} must hold finite weights that are not negative, one at least above 0")
    return values / total
