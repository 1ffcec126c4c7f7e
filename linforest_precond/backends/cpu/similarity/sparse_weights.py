"""Matchings between two large sets, whose weights are a CSR matrix: few elements share a token.

The same bits as by `set_pairs` and `set_matchings`, which have a dense block for each pair: an edge without
weight changes neither matchings nor duals, and sums are taken in the same order.
"""

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from ..runtime.arrays import NO_VERTEX
from ..runtime.jit import kernel


def token_matrix(symbols, elements):
    """The tokens of each element of a set: a row of ones."""
    ones = np.ones(symbols.values.size)
    return csr_array((ones, symbols.values, symbols.indptr), (symbols.indptr.size - 1, symbols.count))[
        elements
    ]


def jaccard_weights(left, right):
    """The Jaccard similarities that are not zero, of the rows of two matrices of tokens."""
    common = (left @ right.T).tocsr()
    common.sort_indices()
    sizes = np.repeat(np.diff(left.indptr), np.diff(common.indptr)) + np.diff(right.indptr)[common.indices]
    return csr_array((common.data / (sizes - common.data), common.indices, common.indptr), common.shape)


def largest_weight_bound(weights):
    """The sum of each row's largest weight or of each column's, whichever is less."""
    return min(_sum(weights.max(axis=side).toarray()) for side in (1, 0))


def greedy(weights):
    """The edges by descending weight, then row by row, each taken if both ends are free: mates and duals."""
    ends, mates, owners, duals = _state(weights)
    take_free_edges(np.argsort(-weights.data, kind="stable"), *ends, mates, owners)
    chosen = mates[ends[0]] == ends[1]
    for side, own in zip(duals, ends):
        side[own[chosen]] = weights.data[chosen]
    return mates, *duals


def paz_schwartzman(weights, epsilon):
    """The semi-streaming algorithm by local ratios (Paz & Schwartzman 2018): mates and duals."""
    factor = 1.0 + 0.5 * epsilon
    ends, mates, owners, duals = _state(weights)
    stack = np.empty(weights.nnz, np.int64)
    top = push_heavy_edges(weights.data, *ends, factor, *duals, stack)
    take_free_edges(stack[:top][::-1].copy(), *ends, mates, owners)
    # The stack need not be maximal: each free row takes its heaviest free edge, one row after the other.
    free = np.flatnonzero(mates[ends[0]] == NO_VERTEX)
    take_free_edges(free[np.lexsort((-weights.data[free], ends[0][free]))], *ends, mates, owners)
    return mates, *(factor * side for side in duals)


def exact(weights):
    """The mates of a heaviest matching.

    Each row has an edge of its own besides, which stands for no mate, and all edges gain the same weight:
    SciPy's algorithm wants a matching of all rows and weights that are not zero.
    """
    own = diags_array(np.ones(weights.shape[0]))
    lifted = csr_array((weights.data + 1.0, weights.indices, weights.indptr), weights.shape)
    mates = min_weight_full_bipartite_matching(hstack([lifted, own], "csr"), maximize=True)[1]
    return np.where(mates < weights.shape[1], mates, NO_VERTEX)


def overlap(weights, mates):
    """The weight of a matching."""
    rows, columns = _ends(weights)
    return _sum(weights.data[mates[rows] == columns])


def dual_bound(weights, row_duals, column_duals):
    """The sum of feasible duals, after each has been reduced as far as its edges allow, rows first."""
    rows, columns = _ends(weights)
    reduced_rows, reduced_columns = np.zeros(row_duals.size), np.zeros(column_duals.size)
    np.maximum.at(reduced_rows, rows, weights.data - column_duals[columns])
    np.maximum.at(reduced_columns, columns, weights.data - reduced_rows[rows])
    return _sum(np.concatenate((reduced_rows, reduced_columns)))


def _ends(weights):
    """The row and the column of each edge."""
    rows = np.repeat(np.arange(weights.shape[0], dtype=np.int32), np.diff(weights.indptr))
    return rows, weights.indices.astype(np.int32, copy=False)


def _state(weights):
    """The ends of the edges; mates, owners and duals of an empty matching."""
    rows, columns = weights.shape
    mates, owners = np.full(rows, NO_VERTEX, np.int32), np.zeros(columns, np.bool_)
    return _ends(weights), mates, owners, (np.zeros(rows), np.zeros(columns))


def _sum(terms):
    """The sum from the first term to the last."""
    return float(np.cumsum(terms)[-1]) if terms.size else 0.0


@kernel
def take_free_edges(order, rows, columns, mates, owners):
    for edge in order:
        row, column = rows[edge], columns[edge]
        if mates[row] == NO_VERTEX and not owners[column]:
            mates[row], owners[column] = column, True


@kernel
def push_heavy_edges(weights, rows, columns, factor, row_duals, column_duals, stack):
    """Edges heavier than the duals of their ends are pushed; both duals gain what is left of the weight."""
    top = 0
    for edge in range(weights.size):
        row, column = rows[edge], columns[edge]
        held = row_duals[row] + column_duals[column]
        if weights[edge] > factor * held:
            gain = weights[edge] - held
            row_duals[row] += gain
            column_duals[column] += gain
            stack[top] = edge
            top += 1
    return top
