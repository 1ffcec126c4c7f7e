"""Maximal independent sets."""

from __future__ import annotations

from typing import SupportsIndex

import numpy as np

from linforest_precond.annotations import Array, MatrixLike
from linforest_precond.arguments import as_integer
from linforest_precond.backends import backend_of
from linforest_precond.gate import as_pattern


def maximal_independent_set(A: MatrixLike, k: int = 1, seed: int = 0) -> Array:
    """Find a maximal set of vertices that are more than k steps apart, MIS(k).

    The set is the sequential greedy one: the vertices are visited by ascending (floor(log2 degree), hash,
    index), and each one is selected that is more than k steps from all selected ones. Low degrees come first,
    which gives large sets. The parallel algorithm is that of Luby, "A simple parallel algorithm for the
    maximal independent set problem" (SIAM J. Comput. 1986), doi:10.1137/0215074, with these fixed priorities:
    a vertex that precedes all undecided vertices within k steps is selected. The same input and seed give the
    same set on every device.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries are edges; values and directions do not matter, and a
        diagonal entry is no edge.
    k : int
        Two vertices of the set are at least k + 1 steps apart: 1 for an independent set, 2 for the roots of
        aggregates.
    seed : int
        The seed of the hash.

    Returns
    -------
    array of int32
        1 for the vertices of the set, 0 for the others, as in PyAMG; on A's device.

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
    members: Array = backend.xp.empty(0, np.int32)
    if pattern.n:
        members = backend.csgraph.independent_set.independent_set(pattern, min(k, pattern.n), seed)
    return members


def checked_steps(k: SupportsIndex) -> int:
    """The distance k, at least 1."""
    k = as_integer("k", k)
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    return k
