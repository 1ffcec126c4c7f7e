"""Spanning forests by Kruskal's algorithm: first the lightest edges, then those that still join two trees."""

import numpy as np
import scipy.sparse

from ..matrix.entries import rows_of, sort_entries
from ..runtime.jit import helper, kernel

# So many of the lightest edges for each vertex come first, as a sample of so many weights tells them.
LIGHT = 3
SAMPLE = 2**16


def spanning_forest(csr, largest):
    """Row pointers, columns and values of the forest's entries."""
    rows = rows_of(csr.indptr, csr.nnz)
    slots = _edges(csr, rows)
    weights = -csr.data[slots] if largest else csr.data[slots]
    ends = rows[slots], csr.indices[slots]
    parents = np.arange(csr.n, dtype=csr.indices.dtype)
    taken = np.zeros(slots.size, bool)
    light = weights <= _bound(weights, csr.n)
    take_edges(_by_weight(np.flatnonzero(light), weights), *ends, parents, taken)
    apart = ~light
    keep_apart(*ends, parents, apart)
    take_edges(_by_weight(np.flatnonzero(apart), weights), *ends, parents, taken)
    slots = np.sort(slots[taken])
    indptr = np.searchsorted(slots, csr.indptr).astype(csr.indptr.dtype)
    return indptr, csr.indices[slots], csr.data[slots]


def _edges(csr, rows):
    """The slots of all edges by (lower end, higher end), of two directions that above the diagonal first.

    Where every edge is stored twice with one weight, the entries above the diagonal are enough.
    """
    slots = np.flatnonzero(rows != csr.indices)
    if _is_symmetric(csr, slots):
        return np.flatnonzero(rows < csr.indices)
    rows, columns = rows[slots], csr.indices[slots]
    order, _ = sort_entries(np.minimum(rows, columns), np.maximum(rows, columns), csr.n)
    return slots[order]


def _is_symmetric(csr, slots):
    """Whether values are symmetric, the edges' signs and explicit zeros too."""
    if not csr.symmetric:
        return False
    weights = csr.data[slots]
    if (weights > 0).all() or (weights < 0).all():
        return True
    arrays = csr.data, csr.indices, csr.indptr
    transposed = scipy.sparse.csr_array(arrays, shape=(csr.n, csr.n)).tocsc()
    parts = transposed.data, transposed.indices, transposed.indptr
    return all(np.array_equal(one, other) for one, other in zip(arrays, parts, strict=True))


def _bound(weights, n):
    """About the weight up to which edges are among the lightest."""
    if weights.size <= LIGHT * n:
        return np.inf
    sample = np.sort(weights[:: weights.size // SAMPLE + 1])
    return sample[LIGHT * n * sample.size // weights.size]


def _by_weight(edges, weights):
    return edges[np.argsort(weights[edges], kind="stable")]


# Each edge in turn is taken when it joins two trees.
@kernel(parallel=False)
def take_edges(order, rows, columns, parents, taken):
    for edge in order:
        one, other = find(parents, rows[edge]), find(parents, columns[edge])
        if one != other:
            parents[max(one, other)] = min(one, other)
            taken[edge] = True


# Of the edges that are marked, those stay marked whose ends lie in two trees.
@kernel(parallel=False)
def keep_apart(rows, columns, parents, apart):
    for edge in range(apart.size):
        if apart[edge]:
            apart[edge] = find(parents, rows[edge]) != find(parents, columns[edge])


# The root of a vertex; on the way, every vertex is hung under its grandparent.
@helper
def find(parents, v):
    while parents[v] != v:
        parents[v] = parents[parents[v]]
        v = parents[v]
    return v
