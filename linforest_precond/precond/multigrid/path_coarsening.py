"""Interpolation along paths of strong couplings: every second unknown of a path stays."""

from __future__ import annotations

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.backends.returns import ForestArrays
from linforest_precond.graph.forest.factor import check_options, propose_factor
from linforest_precond.graph.matching.matching import tie_key_of
from linforest_precond.precond.multigrid.grid_transfer import Interpolation
from linforest_precond.precond.multigrid.pairwise_aggregation import pairing_graph
from linforest_precond.precond.multigrid.prolongation import Rectangle, product
from linforest_precond.precond.multigrid.smoothers import FORESTS
from linforest_precond.records import CSR, Graph

# A coarse matrix with more than this share of the entries before it is not worth having.
MOST_ENTRIES = 0.8
# Of one halving, after which others follow.
MOST_ENTRIES_BETWEEN = 1.25


def halved(
    csr: CSR, times: int, weights: str, strength: float, hermitian: bool, seed: int
) -> tuple[Interpolation, CSR] | None:
    """Interpolation that leaves every second unknown of each path, several times, and the matrix behind it.

    None where that matrix would have too many entries: where unknowns are coupled to many others and all of
    about the same strength, each halving couples still more of them.
    """
    whole, between = None, csr
    for left in reversed(range(times)):
        step = path_prolongator(between, weights, strength, seed)
        whole = step if whole is None else product(whole, step)
        if left:
            between = Interpolation.of(step).coarse_csr(between, hermitian)
            if between.nnz > MOST_ENTRIES_BETWEEN * csr.nnz:
                return None
    # From the finest matrix, as it is done again for other values.
    transfer = Interpolation.of(whole)
    coarse = transfer.coarse_csr(csr, hermitian)
    return None if coarse.nnz > MOST_ENTRIES * csr.nnz else (transfer, coarse)


def path_prolongator(csr: CSR, weights: str, strength: float, seed: int) -> Rectangle:
    """Every second unknown of a path stays; those between are means of their neighbours on the path.

    The means are weighted by the entries; weights are multiples of a power of two, so that those of a row add
    up to exactly 1, in single precision too. An unknown on no path takes the value of the one on a path that
    it is coupled to most strongly, and stays where there is none.
    """
    graph = pairing_graph(csr, weights, strength)
    backend = backend_of(csr.data)
    factor = propose_factor(graph, **check_options(2, **FORESTS, seed=seed))
    paths = backend.forest.linear_forest.linear_forest(
        factor.neighbors, factor.values, factor.slots, in_place=True
    )
    groups, count = _groups(graph, paths, seed)
    arrays = paths.neighbors, paths.position, _sizes(csr, paths), groups, count
    indptr, columns, shares, width = backend.multigrid.path_interpolation.interpolate(*arrays)
    return Rectangle(indptr, columns, shares.astype(csr.data.dtype), width)


def _sizes(csr: CSR, paths: ForestArrays) -> Array:
    """Of the couplings to both neighbours on the path: A's entries, or the weights of another graph."""
    values = csr.data[paths.slots] if paths.slots is not None and csr.nnz else paths.values
    return backend_of(csr.data).matrix.entries.magnitudes(values.ravel()).reshape(-1, 2)


def _groups(graph: Graph, paths: ForestArrays, seed: int) -> tuple[Array, int]:
    """Unknowns on no path join the one on a path that they are coupled to most strongly; how many groups."""
    backend = backend_of(graph.values)
    vertices = backend.xp.arange(graph.n, dtype=graph.indices.dtype)
    # As if every vertex on a path were a pair of its own, which single ones join.
    mates = backend.xp.where(paths.neighbors[:, 0] >= 0, vertices, vertices.dtype.type(-1))
    return backend.matching.aggregates.of_mates(graph, mates, tie_key_of(seed))
