"""Coarsening by matchings: every matched pair becomes an aggregate, and single vertices join one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_choice, as_flag, as_integer
from linforest_precond.backends.user_warnings import named_arguments, warn_user
from linforest_precond.graph.matching.checks import checked_mates
from linforest_precond.graph.matching.hypergraphs import MAX_NET_SIZE, coarsen_hypergraph
from linforest_precond.graph.matching.matching import (
    DEFAULTS,
    check_matching_options,
    match_graph,
    tie_key_of,
)
from linforest_precond.graph.matching.repeated_coarsening import coarsen_repeatedly, coarsen_until_small
from linforest_precond.matrix.checked import CheckedMatrix, checked, described
from linforest_precond.matrix.conversion import sparse_like
from linforest_precond.matrix.graphs import Graph
from linforest_precond.records.matching import Coarsening, CoarseningHierarchy, Matching

# Methods that work on every device.
METHODS = "suitor", "locally_dominant", "random", "weighted", "factor", "augmented"


@named_arguments
def coarsen(
    A: MatrixLike,
    matching: npt.ArrayLike | Matching | None = None,
    *,
    seed: int = 0,
    hypergraph: bool | None = None,
    weights: npt.ArrayLike | None = None,
    max_net_size: int = MAX_NET_SIZE,
) -> Coarsening:
    """Make a coarser matrix by aggregation: the two vertices of every matched edge become one.

    A single vertex joins the aggregate of its heaviest matched neighbour; without one it stays alone.
    Otherwise about a tenth of the vertices would stay single at every coarsening, and coarsening would soon
    stall. Entries of the coarse matrix, the Galerkin product, are sums of A's in (row, column) order: the
    same bits on every device and for any number of threads.

    A matrix that is not square is the incidence matrix of a hypergraph: rows are nets, columns are vertices,
    as in the files of hMETIS, and stored entries are pins. This is the application that Fagginger Auer &
    Bisseling, doi:10.1007/978-3-642-30397-5_10, had in mind: two vertices are joined by an edge of weight
    sum of weight / (size - 1) over the nets that they share (the edge scheme of hMETIS: Karypis et al. 1999,
    doi:10.1109/92.748202), and are matched by the proposals of their Algorithm 3. Nets with a single vertex
    left are dropped, since no partition cuts them; identical nets are not merged.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Edge weights are magnitudes; where they are not symmetric,
        ``|A| + |A|^T`` is used. Or an incidence matrix of any shape.
    matching : Matching or (N,) integer array
        The mate of each vertex, -1 for a single one, on A's device: from `matching`, or any other pairs.
        May be left out for a hypergraph.
    seed : int
        Seed of the order among equally heavy neighbours of a single vertex, as in `matching`; of a
        hypergraph, also of the proposals.
    hypergraph : bool or None
        Whether A is an incidence matrix. None takes a square matrix for that of a graph.
    weights : 1-D array, optional
        Of a hypergraph: a nonnegative number for each net, by default 1.
    max_net_size : int
        Of a hypergraph: nets of more vertices are left out of the weights of edges, which have at most
        ``max_net_size`` terms for each pin. They stay in the coarse hypergraph.

    Returns
    -------
    Coarsening
        The coarse matrix ``P.T @ A @ P``, the aggregates and the tentative prolongator P, on A's device and
        of its class. A dense A gives sparse matrices. Of a hypergraph, a `HypergraphCoarsening`: the rows
        `nets` of ``A @ P``, in which entries of merged vertices are added.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((100, 100))
    >>> coarse = lf.graph.coarsen(A, lf.graph.matching(A))
    >>> print(coarse)
    coarsening
      unknowns    10,000 to 4,547
      entries     49,600 to 27,659
      aggregates  2.20 vertices on average, 6 at most
    >>> float(abs(coarse.A - coarse.P.T @ A @ coarse.P).max())
    0.0
    >>> import numpy as np
    >>> H = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 1]])
    >>> coarse = lf.graph.coarsen(H, [1, 0, -1, 4, 3])
    >>> coarse.A.toarray().tolist(), coarse.nets.tolist(), coarse.aggregates.tolist()
    ([[1.0, 2.0]], [2], [0, 0, 0, 1, 1])
    """
    seed = as_integer("seed", seed) % 2**64
    if hypergraph is None:
        shape = getattr(A, "shape", None) or np.shape(A)
        hypergraph = len(shape) == 2 and shape[0] != shape[1]
    if as_flag("hypergraph", hypergraph):
        return coarsen_hypergraph(A, matching, weights, max_net_size, seed)
    if weights is not None or max_net_size != MAX_NET_SIZE:
        raise ValueError("weights and max_net_size are of hypergraphs, and A is square; pass hypergraph=True")
    if matching is None:
        raise TypeError("matching must be given where A is square; pass lf.graph.matching(A)")
    csr = checked(A)
    graph = checked(csr).graph
    coarse, aggregates = coarsen_pairs(csr, graph, checked_mates(matching, graph), seed)
    return Coarsening(_matrix_like(A, *coarse), aggregates, csr.nnz)


@named_arguments
def coarsening_hierarchy(
    A: MatrixLike,
    max_levels: int = 10,
    matchings: int = 2,
    max_coarse: int = 1000,
    *,
    method: str = "suitor",
    seed: int = 0,
) -> CoarseningHierarchy:
    """Coarsen a matrix repeatedly, until it is small.

    Every level is made from the finer one by `matchings` matchings and coarsenings in sequence, which gives
    aggregates of about ``2**matchings`` vertices.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    max_levels : int
        The largest number of levels, including A's own.
    matchings : int
        Matchings per level.
    max_coarse : int
        A level of at most this many unknowns is the coarsest.
    method : {"suitor", "locally_dominant", "random", "weighted", "factor", "augmented"}
        How vertices are matched, see `matching`.
    seed : int
        Seed of the order among equal weights, and of the colours.

    Returns
    -------
    CoarseningHierarchy
        A sequence of `Coarsening`, the first of which is from A to the next level. Where coarsening stalls,
        because few vertices have edges left, it ends early, is `stalled`, and a RuntimeWarning is issued.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> hierarchy = lf.graph.coarsening_hierarchy(lf.matrices.poisson((100, 100)), max_coarse=100)
    >>> print(hierarchy)
    coarsening hierarchy
      level 0  10,000 unknowns, 49,600 entries
      level 1  2,070 unknowns, 13,524 entries
      level 2  428 unknowns, 2,848 entries
      level 3  88 unknowns, 550 entries
      in all   1.26 x the unknowns, 1.34 x the entries
    >>> hierarchy[0].P.shape
    (10000, 2070)
    """
    max_levels, matchings = as_integer("max_levels", max_levels, 1), as_integer("matchings", matchings, 1)
    max_coarse = as_integer("max_coarse", max_coarse, 1)
    as_choice("method", method, METHODS)
    options = check_matching_options(method, seed, **DEFAULTS)

    csr = checked(A)
    finest = A if hasattr(A, "tocoo") else _matrix_like(A, csr.indptr, csr.indices, csr.data)
    levels, coarsest, stall = coarsen_until_small(
        csr,
        lambda fine: _coarsen_by_matchings(fine, matchings, method, options),
        max_coarse,
        max_levels,
        "so few have an edge left that {left} would stay",
    )
    if stall:
        warn_user(stall)
    coarse_matrices = [*(fine for fine, _ in levels[1:]), coarsest]
    steps = [
        Coarsening(_matrix_like(A, coarse.indptr, coarse.indices, coarse.data), aggregates, fine.nnz)
        for (fine, aggregates), coarse in zip(levels, coarse_matrices)
    ]
    return CoarseningHierarchy(finest, tuple(steps), bool(stall))


def coarsen_pairs(
    csr: CheckedMatrix, graph: Graph, mate: Array, seed: int
) -> tuple[tuple[Array, ...], Array]:
    """The CSR arrays of the coarse matrix of matched pairs, and each vertex's aggregate."""
    backend = csr.backend
    aggregates, count = backend.multigrid.aggregates.of_mates(graph, mate, tie_key_of(seed))
    indptr, members = backend.multigrid.aggregates.members_of(aggregates, count)
    return backend.multigrid.aggregates.coarse_matrix(csr, aggregates, indptr, members), aggregates


def _coarsen_by_matchings(
    csr: CheckedMatrix, matchings: int, method: str, options: dict[str, Any]
) -> tuple[Array, CheckedMatrix]:
    """Each vertex's aggregate after several matchings and coarsenings, and the coarse matrix."""

    def coarsen_once(fine: CheckedMatrix, last: bool) -> tuple[Array, CheckedMatrix]:
        graph = checked(fine).graph
        mate, _ = match_graph(graph, method, **options)
        coarse, aggregates = coarsen_pairs(fine, graph, mate, options["seed"])
        return aggregates, described(*coarse)

    return coarsen_repeatedly(csr, matchings, coarsen_once, lambda fine, coarse: coarse[fine])


def _matrix_like(A: Any, indptr: Array, indices: Array, data: Array) -> Any:
    """The square matrix of CSR arrays, of A's kind."""
    n = indptr.size - 1
    return sparse_like(A, data, indices, indptr, (n, n))
