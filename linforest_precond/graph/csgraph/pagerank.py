"""How important a vertex is to those who point at it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_csgraph
from linforest_precond.graph.forest.factor import as_integer


def pagerank(
    A: Any,
    alpha: float = 0.85,
    personalization: Any = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Any = None,
    dangling: Any = None,
) -> Array:
    """Rank the vertices by where a walker is found who follows edges at random, as `networkx.pagerank` does.

    Power iteration; every sum has a fixed order, so that the same input gives the same bits on every device.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. The entry in row i and column j is the weight of the edge from i to
        j; none may be negative.
    alpha : float
        The chance that the walker follows an edge rather than to begin anew.
    personalization : array, optional
        How likely each vertex is where the walker begins anew; scaled to the sum 1. By default all are alike.
    max_iter : int
        Iterations at most.
    tol : float
        The iteration ends when the sum of all changes is below n times this.
    nstart : array, optional
        The ranks to start with, scaled to the sum 1. By default all are alike.
    dangling : array, optional
        Where the walker goes from a vertex without edges, scaled to the sum 1. By default as
        `personalization`.

    Returns
    -------
    array of float64
        The rank of each vertex, on A's device; their sum is 1.

    Raises
    ------
    ValueError
        For negative weights, and for rows with a sum too small to be inverted.
    RuntimeError
        If the changes stay above the tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> lf.graph.pagerank(np.array([[0, 1, 1], [0, 0, 1], [1, 0, 0]])).round(3).tolist()
    [0.388, 0.215, 0.397]
    """
    max_iter = as_integer("max_iter", max_iter)
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter}")
    alpha, tol = _number("alpha", alpha, 1.0), _number("tol", tol, math.inf)
    csr = as_csgraph(A)
    backend = backend_of(csr.data)
    if not csr.n:
        return backend.xp.empty(0)
    if csr.nnz and float(csr.data.min()) < 0:  # stall: nothing is done with weights that are none
        raise ValueError(f"A must have no negative weights, got {float(csr.data.min())}; pass abs(A)")
    personalization = _distribution("personalization", personalization, csr.n, backend)
    start = _distribution("nstart", nstart, csr.n, backend)
    dangling = personalization if dangling is None else _distribution("dangling", dangling, csr.n, backend)
    ranks, iterations, change = backend.csgraph.pagerank.power_iteration(
        csr, alpha, personalization, dangling, start, max_iter, csr.n * tol
    )
    if math.isnan(change):
        raise ValueError("A must have rows whose sums can be inverted, got one below 1e-308; scale A")
    if change >= csr.n * tol:
        raise RuntimeError(
            f"the ranks still changed by {change:.3g} in iteration {iterations}, where A's size times tol is "
            f"{csr.n * tol:.3g}; raise max_iter or tol"
        )
    return ranks


def _number(name: str, number: Any, largest: float) -> float:
    try:
        number = float(number)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {number!r}") from None
    if not 0.0 <= number <= largest:
        raise ValueError(f"{name} must lie in [0, {largest:g}], got {number}")
    return number


def _distribution(name: str, weights: Any, n: int, backend: Any) -> Array:
    """Weights of the vertices scaled to the sum 1, all alike where there are none."""
    if weights is None:
        return backend.xp.full(n, 1.0 / n)
    if backend_of(weights) is not backend:
        raise TypeError(f"{name} must be on A's device, got a {type(weights).__name__}")
    weights = backend.xp.asarray(weights)
    if weights.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got {weights.dtype}")
    if weights.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), one number a vertex, got {weights.shape}")
    weights = weights.astype(np.float64)
    total = backend.matrix.sums.tree_sum(weights)
    # stall: nothing is done with weights that are none
    if not 0.0 < total < math.inf or bool((weights < 0).any()):
        raise ValueError(f"{name} must hold finite weights that are not negative, one at least above 0")
    return weights / total
