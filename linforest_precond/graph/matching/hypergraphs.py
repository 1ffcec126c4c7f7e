"""Coarsening of hypergraphs, given by incidence matrices: rows are nets, columns are vertices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.returns import CSRArrays
from linforest_precond.graph.matching.checks import checked_mates
from linforest_precond.graph.matching.matching import (
    DEFAULTS,
    check_matching_options,
    match_graph,
    tie_key_of,
)
from linforest_precond.matrix.checked import described
from linforest_precond.matrix.checks import check_finite
from linforest_precond.matrix.conversion import index_dtype, sparse_like
from linforest_precond.matrix.doors import checked_weights
from linforest_precond.matrix.graphs import Graph
from linforest_precond.matrix.rectangles import RectangularCSR, checked_rectangle, kept
from linforest_precond.records.matching import HypergraphCoarsening, Matching

# Larger nets are left out of the weights, as in hypergraph partitioners: they add less than 1 / 256 to a
# weight. The weights cost at most pins x MAX_NET_SIZE; halving it halves that bound.
MAX_NET_SIZE = 256


def coarsen_hypergraph(
    A: MatrixLike,
    matching: npt.ArrayLike | Matching | None,
    weights: npt.ArrayLike | None,
    max_net_size: int,
    seed: int,
) -> HypergraphCoarsening:
    """See `coarsen`."""
    max_net_size = as_integer("max_net_size", max_net_size, 2)
    H = checked_rectangle(A)
    backend = H.backend
    net_weights = backend.xp.ones(H.n) if weights is None else checked_weights(weights, H.n, backend, "rows")
    graph = shared_nets(H, net_weights.astype(np.float64), max_net_size)
    mate = _mates(graph, matching, seed)
    aggregates, count = backend.multigrid.aggregates.of_mates(graph, mate, tie_key_of(seed))
    aggregates = aggregates.astype(H.indices.dtype, copy=False)
    ones = backend.xp.ones(H.width, H.data.dtype)
    each = backend.xp.arange(H.width + 1, dtype=aggregates.dtype)
    product = _product(H.arrays, (each, aggregates, ones), count, backend)
    nets, (indptr, indices, data) = _cuttable(product, backend)
    check_finite("the coarse matrix", data)
    coarse = sparse_like(A, data, indices, indptr, (nets.size, count))
    return HypergraphCoarsening(coarse, aggregates, H.indices.size, nets, H.n)


def shared_nets(H: RectangularCSR, weights: Array, max_net_size: int) -> Graph:
    """The graph of the vertices: an edge weighs the sum of weight / (size - 1) over the nets of both ends.

    Nets are added in ascending order. Those of more than `max_net_size` vertices are left out, so that there
    are at most `max_net_size` terms for each pin.
    """
    backend = H.backend
    xp, entries = backend.xp, backend.matrix.entries
    sizes = xp.diff(H.indptr).astype(np.int64)
    counts = (sizes >= 2) & (sizes <= max_net_size)
    share = xp.where(counts, weights, 0.0) / xp.maximum(sizes - 1, 1)
    rows = entries.rows_of(H.indptr, H.indices.size)
    terms = int(xp.where(counts, sizes * sizes, 0).sum())  # stall: the index type
    index = index_dtype(terms, H.indices.dtype)
    pins = H.indptr.astype(index), H.indices.astype(index), share[rows]
    indptr, indices, shares = kept(pins, counts[rows])
    if not indices.size:
        return described(xp.zeros(H.width + 1, index), indices, shares).graph
    nets_of = entries.transposed(indptr, indices, shares, H.width)
    incidence = indptr, indices, xp.ones(indices.size)
    return described(*_product(nets_of, incidence, H.width, backend)).graph


def _mates(graph: Graph, matching: npt.ArrayLike | Matching | None, seed: int) -> Array:
    """The given mates, or those of Algorithm 3."""
    if matching is None:
        options = check_matching_options("weighted", seed, **DEFAULTS)
        return match_graph(graph, "weighted", **options)[0]
    return checked_mates(matching, graph, "columns: where A is not square, they are vertices")


def _cuttable(arrays: CSRArrays, backend: Backend) -> tuple[Array, CSRArrays]:
    """The nets of at least two vertices, and their rows: others are cut by no partition."""
    xp, (indptr, indices, _) = backend.xp, arrays
    cuttable = xp.diff(indptr) >= 2
    nets = xp.flatnonzero(cuttable).astype(indices.dtype)  # stall: the size of the result
    begins, indices, data = kept(arrays, cuttable[backend.matrix.entries.rows_of(indptr, indices.size)])
    return nets, (xp.concatenate([begins[:1], begins[1:][cuttable]]), indices, data)


def _product(left: CSRArrays, right: CSRArrays, width: int, backend: Backend) -> CSRArrays:
    """The product of CSR arrays; nothing is launched for one without entries."""
    if not left[1].size:
        return backend.xp.zeros_like(left[0]), left[1], left[2]
    return backend.matrix.sparse_products.multiply(left, right, width)
