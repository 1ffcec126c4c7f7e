"""Vertices that keep apart: maximal independent sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_pattern
from linforest_precond.graph.forest.factor import as_integer


def maximal_independent_set(A: Any, k: int = 1, seed: int = 0) -> Array:
    """Find vertices that are more than k steps apart, so many that no further one has room.

    The set is the one that a sequential program finds that goes through the vertices by ascending
    (floor(log2 degree), hash, index) and takes each one that has room: few neighbours first, because these
    sets are large. In parallel it is found as in Luby, "A simple parallel algorithm for the maximal
    independent set problem" (SIAM J. Comput. 1986), doi:10.1137/0215074: whoever comes before all undecided
    vertices around it is taken. The same input and seed give the same set on every device.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries are edges; values and directions do not matter, and a
        diagonal entry is no edge.
    k : int
        Steps that two vertices of the set must at least be apart, less one: 1 for a set without neighbours, 2
        for the roots of aggregates.
    seed : int
        Of the hash.

    Returns
    -------
    array of int32
        1 for the vertices of the set, 0 for the others, as PyAMG has it; on A's device.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((100, 100))
    >>> [int(lf.graph.maximal_independent_set(A, k).sum()) for k in (1, 2)]
    [3691, 1412]
    """
    k, seed = checked_steps(k), as_integer("seed", seed) % 2**64
    pattern = as_pattern(A)
    backend = backend_of(pattern.indptr)
    if not pattern.n:
        return backend.xp.empty(0, np.int32)
    return backend.csgraph.independent_set.independent_set(pattern, min(k, pattern.n), seed)


def checked_steps(k: Any) -> int:
    k = as_integer("k", k)
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    return k
