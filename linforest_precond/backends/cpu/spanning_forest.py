"""Spanning forests by Kruskal's algorithm: the lightest edges first, those among the rest that still join trees."""

import numpy as np
from numba import prange

from .entries import readonly, rows_of, sort_entries
from .hashing import symmetry_hash
from .jit import helper, kernel

# So many of the lightest edges for each vertex come first, as a sample of so many weights tells them.
LIGHT = 3
SAMPLE = 2**16


def spanning_forest(csr, largest):
    """The slots of the forest's entries, ascending."""
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
    return np.sort(slots[taken])


def _edges(csr, rows):
    """The slots of all edges by (lower end, higher end), of two directions that above the diagonal first.

    Where every edge is stored twice with one weight, the entries above the diagonal are enough.
    """
    if csr.symmetric and balance_of_signs(*map(readonly, (csr.indptr, csr.indices, csr.data))) == 0:
        return np.flatnonzero(rows < csr.indices)
    slots = np.flatnonzero(rows != csr.indices)
    rows, columns = rows[slots], csr.indices[slots]
    order, _ = sort_entries(np.minimum(rows, columns), np.maximum(rows, columns), csr.n)
    return slots[order]


def _bound(weights, n):
    """About the weight up to which edges are among the lightest."""
    if weights.size <= LIGHT * n:
        return np.inf
    sample = np.sort(weights[:: weights.size // SAMPLE + 1])
    return sample[LIGHT * n * sample.size // weights.size]


def _by_weight(edges, weights):
    return edges[np.argsort(weights[edges], kind="stable")]


# Where magnitudes are symmetric: 0 if signs and explicit zeros are, too.
@kernel(parallel=True)
def balance_of_signs(indptr, indices, data):
    balance = np.uint64(0)
    for row in prange(indptr.size - 1):
        for slot in range(indptr[row], indptr[row + 1]):
            column = indices[slot]
            if not data[slot] > 0 and column != row:
                word = symmetry_hash(row, column, np.uint64(data[slot] < 0))
                balance += word if column > row else np.uint64(0) - word
    return balance


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
