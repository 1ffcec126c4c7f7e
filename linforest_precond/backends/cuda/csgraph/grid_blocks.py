"""Blocks of an adjacency matrix on a grid of ranks: push and pull along the edges of listed rows."""

import numpy as np

from ..runtime import Program, cupy, launch

PROGRAM = Program("csgraph/grid_blocks", INDEX=np.int64)


def _collapsed(indptr, rows):
    """The prefix sum of the rows' lengths, from 0 to the number of their entries, and the rows."""
    starts, rows = cupy.zeros(rows.size + 1, np.int64), cupy.ascontiguousarray(rows)
    if rows.size:
        starts[1:] = cupy.cumsum(indptr[rows + 1] - indptr[rows])
    return starts, rows


def expanded_rows(indptr, rows):
    """For each entry of some rows the place of its row among them, and its slot."""
    starts, rows = _collapsed(indptr, rows)
    places, slots = cupy.empty((2, int(starts[-1])), np.int64)  # stall: the size of the result
    launch(PROGRAM().expand, (starts, rows, rows.size, indptr, places, slots), items=places.size)
    return places, slots


def lower_along(indptr, indices, rows, first_row, pull, values, state):
    before, (starts, rows) = state.copy(), _collapsed(indptr, rows)
    values = before if values is state else values
    arguments = starts, rows, rows.size, indptr, indices, first_row, int(pull), values, state
    launch(PROGRAM().lower_along, arguments)
    return cupy.flatnonzero(state != before)


def add_along(indptr, indices, first_column, shares, weights, columns, bits, lower_bits):
    sums = cupy.zeros((2, columns), np.int64)
    weights = 0 if weights is None else weights
    units = 2.0**bits, 2.0**lower_bits
    arguments = indptr, indptr.size - 1, indices, first_column, shares, weights, *units, columns, sums
    launch(PROGRAM().add_along, arguments)
    return sums


def row_maxima(indptr, weights):
    maxima = cupy.zeros(indptr.size - 1)
    launch(PROGRAM().row_maxima, (indptr, maxima.size, weights, maxima))
    return maxima


def minimum_at(state, ids, values):
    ids, values = cupy.ascontiguousarray(ids), cupy.ascontiguousarray(values)
    launch(PROGRAM().minimum_at, (state, ids, values, ids.size), items=ids.size)


def add_at(sums, ids, values):
    ids, values = cupy.ascontiguousarray(ids), cupy.ascontiguousarray(values)
    launch(PROGRAM().add_at, (sums, ids, values, ids.size), items=ids.size)


def run_sums(values, begins):
    sums = cupy.empty(begins.size)
    launch(PROGRAM().run_sums, (values, values.size, begins, begins.size, sums), items=begins.size)
    return sums


def hashed_edges(sources, targets, key):
    hashes = cupy.empty(sources.size, np.int64)
    launch(PROGRAM().hash_edges, (sources, targets, key, sources.size, hashes), items=sources.size)
    return hashes


def lexicographic_order(keys):
    order = cupy.argsort(keys[0], kind="stable")
    for key in keys[1:]:
        order = order[cupy.argsort(key[order], kind="stable")]
    return order
