"""Spanning forests: Kruskal's algorithm with one step of Filter-Kruskal, and the choice of the others.

V. Osipov, P. Sanders, J. Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm", ALENEX 2009: the
edges are partitioned at a pivot weight, and of the heavy ones only those between two trees are sorted.
"""

import numpy as np
import scipy.sparse

from ..matrix.entries import rows_of, sort_entries
from ..runtime.jit import helper, kernel
from .star_hooking import selected_edges

# The first one is the default.
METHODS = "kruskal", "boruvka", "awerbuch_shiloach"
# The pivot leaves about this many light edges for each vertex; it is taken from a sample of the weights.
LIGHT = 3
SAMPLE = 2**16


def spanning_forest(csr, largest, method):
    """Row pointers, columns and values of the forest's entries."""
    rows = rows_of(csr.indptr, csr.nnz)
    slots = _edges(csr, rows)
    weights = -csr.data[slots] if largest else csr.data[slots]
    ends = rows[slots], csr.indices[slots]
    if method == "kruskal":
        selected = _filter_kruskal(weights, ends, csr.n)
    else:
        selected = selected_edges(weights, ends, csr.n, contract=method == "boruvka")
    slots = slots[selected]
    slots.sort(kind="stable")  # in linear time where they are sorted: those of a symmetric matrix
    indptr = np.zeros_like(csr.indptr)
    np.cumsum(np.bincount(rows[slots], minlength=csr.n), out=indptr[1:])
    return indptr, csr.indices[slots], csr.data[slots]


def _filter_kruskal(weights, ends, n):
    """Whether each edge is in the forest."""
    parents = np.arange(n, dtype=ends[0].dtype)
    selected = np.zeros(weights.size, bool)
    light = weights <= _pivot(weights, n)
    kruskal(_by_weight(np.flatnonzero(light), weights), *ends, parents, selected)
    heavy = ~light
    filter_edges(*ends, parents, heavy)
    kruskal(_by_weight(np.flatnonzero(heavy), weights), *ends, parents, selected)
    return selected


def _edges(csr, rows):
    """The slots of all edges by (lower end, higher end), the upper triangle first among equal ones.

    Where every edge is stored in both directions with equal weights, the upper triangle is enough.
    """
    off_diagonal = rows != csr.indices
    if _is_symmetric(csr, off_diagonal):
        return np.flatnonzero(rows < csr.indices)
    slots = np.flatnonzero(off_diagonal)
    rows, columns = rows[slots], csr.indices[slots]
    order, _ = sort_entries(np.minimum(rows, columns), np.maximum(rows, columns), csr.n)
    return slots[order]


def _is_symmetric(csr, off_diagonal):
    """Whether the values are symmetric: `csr.symmetric` leaves out signs and explicit zeros."""
    if not csr.symmetric:
        return False
    edges = np.count_nonzero(off_diagonal)
    if any(np.count_nonzero(off_diagonal & sign) == edges for sign in (csr.data > 0, csr.data < 0)):
        return True
    arrays = csr.data, csr.indices, csr.indptr
    transposed = scipy.sparse.csr_array(arrays, shape=(csr.n, csr.n)).tocsc()
    parts = transposed.data, transposed.indices, transposed.indptr
    return all(np.array_equal(one, other) for one, other in zip(arrays, parts, strict=True))


def _pivot(weights, n):
    """The weight that about LIGHT * n edges do not exceed, by sampling."""
    if weights.size <= LIGHT * n:
        return np.inf
    sample = np.sort(weights[:: weights.size // SAMPLE + 1])
    return sample[LIGHT * n * sample.size // weights.size]


def _by_weight(edges, weights):
    return edges[np.argsort(weights[edges], kind="stable")]


# Each edge in order is selected if it joins two trees.
@kernel(parallel=False)
def kruskal(order, rows, columns, parents, selected):
    for edge in order:
        one, other = find(parents, rows[edge]), find(parents, columns[edge])
        if one != other:
            parents[max(one, other)] = min(one, other)
            selected[edge] = True


# Drop the heavy edges within a tree.
@kernel(parallel=False)
def filter_edges(rows, columns, parents, heavy):
    for edge in range(heavy.size):
        if heavy[edge]:
            heavy[edge] = find(parents, rows[edge]) != find(parents, columns[edge])


# Find with path halving.
@helper
def find(parents, v):
    while parents[v] != v:
        parents[v] = parents[parents[v]]
        v = parents[v]
    return v
