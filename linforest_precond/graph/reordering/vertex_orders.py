"""`order` computes a vertex ordering by its name: of degrees, forests, shingles, or by communities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_choice, as_integer
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.hash_keys import VERTEX_STRIDE, iteration_keys, mixed
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.graph.forest.linear_forest import linear_forest
from linforest_precond.graph.matching.matching import match_graph, tie_key_of
from linforest_precond.graph.matching.repeated_coarsening import is_stalled
from linforest_precond.graph.reordering.cuthill_mckee import order_pattern
from linforest_precond.graph.reordering.gap_metrics import loop_free
from linforest_precond.graph.reordering.minimum_degree import order_by_degree
from linforest_precond.graph.reordering.permute import ordering_of
from linforest_precond.matrix.checked import CheckedMatrix, checked, described
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.matrix.graphs import Pattern


@named_arguments
def order(A: MatrixLike, method: str = "rcm", *, seed: int = 0) -> Array:
    """Order the vertices of a graph, so that kernels that visit neighbours use the cache well.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries are edges; values matter to "forest" only, and
        directions do not.
    method : str
        - "natural": A's own order.
        - "rcm": `reverse_cuthill_mckee`. For meshes and other graphs of large diameter.
        - "minimum_degree": `minimum_degree`. For little fill-in of triangular factors, not for the cache.
        - "degree": by descending degree.
        - "hubs": vertices of more than the mean degree first, both groups in A's order: hub clustering [1]_.
        - "forest": along the heavy paths of a `linear_forest`.
        - "matching": by communities within communities, merged by repeated matchings of the edges that gain
          most modularity; like Rabbit order [2]_, which merges one vertex after the other.
        - "labels": by communities within communities that `label_propagation` finds.
        - "shingle": by two shingles [3]_, the first neighbours in two random orders of the vertices. Two
          vertices have the same shingle with a probability of the Jaccard index of their neighbours.

        Ties go to the lower index everywhere.
    seed : int
        Seed of "forest", "matching", "labels" and "shingle".

    Returns
    -------
    array of int32
        ``order[new] = old``, on A's device; the same on every device.

    See Also
    --------
    refine_ordering : improve an order by swaps.
    linforest_precond.permute : put a matrix into an order.

    References
    ----------
    .. [1] V. Balaji, B. Lucia, "When is Graph Reordering an Optimization?", IISWC 2018,
       https://doi.org/10.1109/IISWC.2018.8573478
    .. [2] J. Arai, H. Shiokawa, T. Yamamuro, M. Onizuka, S. Iwamura, "Rabbit Order: Just-in-Time Parallel
       Reordering for Fast Graph Analysis", IPDPS 2016, https://doi.org/10.1109/IPDPS.2016.110
    .. [3] F. Chierichetti, R. Kumar, S. Lattanzi, M. Mitzenmacher, A. Panconesi, P. Raghavan, "On Compressing
       Social Networks", KDD 2009, https://doi.org/10.1145/1557019.1557049

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((40, 40))
    >>> shuffled = lf.permute(A, np.random.default_rng(0).permutation(1600))
    >>> for method in ("natural", "rcm", "matching"):
    ...     order = lf.graph.order(shuffled, method)
    ...     print(f"{method:8} {lf.graph.log_gap(shuffled, order) / shuffled.nnz:.1f}")
    natural  3.2
    rcm      0.8
    matching 1.1
    """
    as_choice("method", method, METHODS)
    seed = as_integer("seed", seed) % 2**64
    if method == "forest":
        # Copied: the array of the record may be read-only, and has A's index type.
        return linear_forest(A, seed=seed).order.astype(np.int32)
    return METHODS[method](as_pattern(A), seed)


def _natural(pattern: Pattern, seed: int) -> Array:
    return pattern.backend.xp.arange(pattern.n, dtype=np.int32)


def _hubs_first(pattern: Pattern, seed: int) -> Array:
    degrees = pattern.degrees.astype(np.int64)
    return _stable_order((degrees * pattern.n <= degrees.sum()).astype(np.int32))


def _by_shingles(pattern: Pattern, seed: int) -> Array:
    """The second shingle orders vertices of the same first one."""
    first, second = (_shingles(pattern, iteration_keys(seed, k)[0]) for k in range(2))
    by_second = _stable_order(second)
    return by_second[_stable_order(first[by_second])]


def _shingles(pattern: Pattern, key: np.uint64) -> Array:
    """The neighbour of each vertex with the least hash: min-wise hashing. A vertex without any has itself."""
    backend, n = pattern.backend, pattern.n
    xp, rows_of = backend.xp, backend.matrix.entries.rows_of
    by_hash = _stable_order(mixed(key + xp.arange(n, dtype=np.uint64) * VERTEX_STRIDE))
    rank = ordering_of(by_hash).rank
    indptr, neighbours = loop_free(pattern)
    least = xp.full(n, n - 1, np.int32)
    xp.minimum.at(least, rows_of(indptr, neighbours.size), rank[neighbours])
    return xp.where(pattern.degrees > 0, by_hash[least], xp.arange(n, dtype=np.int32))


def _stable_order(keys: Array) -> Array:
    return xp_of(keys).argsort(keys, kind="stable").astype(np.int32)


# Rounds of label propagation on each level.
ROUNDS = 20

# ``merge(csr, seed)`` gives the community of each vertex, numbered from 0, and their count.
Merge = Callable[[CheckedMatrix, int], tuple[Array, int]]


def merge_by_matching(csr: CheckedMatrix, seed: int) -> tuple[Array, int]:
    """Communities of matched vertices; single ones join the matched neighbour of the largest gain."""
    backend = csr.backend
    gains = described(csr.indptr, csr.indices, modularity_gains(csr))
    graph = checked(gains).graph
    mate, _ = match_graph(graph, "suitor", seed=seed)
    return backend.multigrid.aggregates.of_mates(graph, mate, tie_key_of(seed))


def merge_by_labels(csr: CheckedMatrix, seed: int) -> tuple[Array, int]:
    """The communities of label propagation."""
    labels = csr.backend.csgraph.label_propagation.propagate_labels(as_pattern(csr), ROUNDS, seed)
    return labels.astype(csr.indices.dtype), int(labels.max()) + 1  # stall: the size of the next level


def modularity_gains(csr: CheckedMatrix) -> Array:
    """The modularity gain of merging the ends of each edge, times the number of edges; 0 for a loss.

    The weight of the edge minus that expected in a random graph of the same degrees (Newman, Phys. Rev. E 69,
    2004). All numbers but the quotient are integers, so their sums are exact.
    """
    backend = csr.backend
    rows = backend.matrix.entries.rows_of(csr.indptr, csr.nnz)
    degrees = backend.xp.bincount(rows, csr.data, csr.n)
    expected = degrees[rows] * degrees[csr.indices] / max(float(csr.data.sum()), 1.0)  # stall: edges
    return backend.xp.maximum(csr.data - expected, 0.0)


def order_by_communities(merge: Merge, pattern: Pattern, seed: int) -> Array:
    """The order of a dendrogram of communities; those of the last level are in Cuthill-McKee order."""
    if pattern.n == 0:
        return pattern.degrees.copy()
    finest = _edge_counts(pattern)
    levels = list(_levels(finest, merge, seed))
    coarsest = levels[-1][1] if levels else finest
    order = order_pattern(as_pattern(coarsest))
    for communities, _ in reversed(levels):
        rank = ordering_of(order).rank
        order = xp_of(rank).argsort(rank[communities], kind="stable").astype(np.int32)
    return order


def _levels(csr: CheckedMatrix, merge: Merge, seed: int) -> Iterator[tuple[Array, CheckedMatrix]]:
    """The communities of each level, and the weights between them, until few vertices merge."""
    while csr.n > 1:
        communities, count = merge(csr, seed)
        if is_stalled(csr.n, count):
            return
        backend = csr.backend
        indptr, members = backend.multigrid.aggregates.members_of(communities, count)
        csr = described(*backend.multigrid.aggregates.coarse_matrix(csr, communities, indptr, members))
        yield communities, csr


def _edge_counts(pattern: Pattern) -> CheckedMatrix:
    """The adjacency matrix: 1 for each edge."""
    indptr, neighbours = loop_free(pattern)
    index = pattern.indptr.dtype
    ones = xp_of(neighbours).ones(neighbours.size)
    return described(indptr.astype(index), neighbours.astype(index), ones)


METHODS: dict[str, Callable[[Pattern, int], Array]] = {
    "natural": _natural,
    "rcm": lambda pattern, seed: order_pattern(pattern)[::-1].copy(),
    "minimum_degree": lambda pattern, seed: order_by_degree(pattern),
    "degree": lambda pattern, seed: _stable_order(-pattern.degrees),
    "hubs": _hubs_first,
    "forest": _natural,  # by the values of A, see `order`
    "matching": partial(order_by_communities, merge_by_matching),
    "labels": partial(order_by_communities, merge_by_labels),
    "shingle": _by_shingles,
}
