"""Maximal independent sets."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_choice, as_integer
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.matrix.graphs import Pattern

METHODS = "auto", "greedy", "luby", "luby_lexicographic", "luby_optimized"
# "luby" ends random selections after this many empty ones in succession.
PATIENCE = 64


@named_arguments
def maximal_independent_set(A: MatrixLike, k: int = 1, seed: int = 0, *, method: str = "auto") -> Array:
    """Find a maximal set of vertices that are more than k steps apart, MIS(k).

    By default the set is the sequential greedy one: the vertices are visited by ascending (floor(log2
    degree), hash, index), and each one is selected that is more than k steps from all selected ones. Low
    degrees come first, which gives large sets. The parallel algorithm is that of Luby [1]_ with these fixed
    priorities: a vertex that precedes all undecided vertices within k steps is selected. The same input,
    method and seed give the same set on every device.

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
    method : {"auto", "greedy", "luby", "luby_lexicographic", "luby_optimized"}
        "auto" is "greedy", the set described above. The others, for k = 1 only, are the variants of Luby's
        algorithm that the thesis [2]_ compares; they find other sets, and smaller ones where degrees differ.

    Returns
    -------
    array of int32
        1 for the vertices of the set, 0 for the others, as in PyAMG; on A's device.

    Notes
    -----
    In a round of "luby" every undecided vertex is selected with probability 1 / (2 degree). Of two selected
    neighbours the one of lower (degree, index) is dropped; the others join the set, and their neighbours are
    excluded. "luby_optimized" selects all undecided vertices as soon as they are fewer than half of all,
    "luby_lexicographic" always does so. Its set is the greedy one by descending (degree, index).

    Random numbers are hashes of (seed, round, vertex). In the thesis, which vertices are dropped depends on
    the order of threads: a selected vertex may stay because the neighbour that precedes it has just been
    dropped. Here it is dropped all the same. Degrees are those of the whole graph, as there, so the last
    vertices with many neighbours may wait long for their selection. The thesis ends the waiting in "luby",
    after a number of attempts that it does not give. Here, after 64 attempts in succession that have selected
    nothing, all undecided vertices are selected in this round and in all that follow.

    References
    ----------
    .. [1] M. Luby, "A Simple Parallel Algorithm for the Maximal Independent Set Problem", SIAM J. Comput. 15
       (1986), doi:10.1137/0215074.
    .. [2] R. Cichra, "Parallel graph algorithms for GPU", Czech Technical University in Prague (2024),
       chapter 4 and section 7.6.2 (MIS_base, MIS_lex3, MIS_opt3).

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((100, 100))
    >>> [int(lf.graph.maximal_independent_set(A, k).sum()) for k in (1, 2)]
    [3691, 1412]
    """
    k, seed = as_integer("k", k, 1), as_integer("seed", seed) % 2**64
    as_choice("method", method, METHODS)
    if method.startswith("luby") and k > 1:
        raise ValueError(f'method={method!r} finds sets for k = 1 only, got k = {k}; use method="greedy"')
    pattern = as_pattern(A)
    backend = pattern.backend
    if not pattern.n:
        return backend.xp.empty(0, np.int32)
    if method.startswith("luby"):
        return backend.csgraph.independent_set.luby_set(pattern, seed, *selection_rule(pattern, method))
    return backend.csgraph.independent_set.independent_set(pattern, min(k, pattern.n), seed)


def selection_rule(pattern: Pattern, method: str) -> tuple[int, int]:
    """The rule for selecting all undecided vertices: below a number of them, or after empty selections."""
    never = 2**62
    rules = {
        "luby": (0, PATIENCE),
        "luby_lexicographic": (never, never),
        "luby_optimized": ((pattern.n + 1) // 2, never),
    }
    return rules[method]
