"""The matrix of nodes: one entry for each b x b block of a matrix with b unknowns per node."""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel

ROWS_AT_ONCE = 256  # nodes that one thread processes at a time
NO_COLUMN = np.iinfo(np.int64).max


def node_matrix(indptr, indices, data, block_size):
    """The CSR arrays of the matrix of Frobenius norms of the b x b blocks, in double precision.

    Off-diagonal norms are negative: strength of connection takes couplings of the opposite sign of the
    diagonal. Squares are summed along each row of a block, then the sums of the rows; columns ascend.
    """
    arrays = tuple(map(readonly, (indptr, indices, data)))
    counts = np.zeros((indptr.size - 1) // block_size + 1, np.int64)
    count_blocks(*arrays[:2], block_size, counts)
    ends = np.cumsum(counts)
    columns, norms = np.empty(ends[-1], indices.dtype), np.empty(ends[-1])
    find_norms(*arrays, block_size, readonly(ends), columns, norms)
    return ends.astype(indptr.dtype), columns, norms


# Merges the rows of a node: the next column of nodes; `places` are the rows' next entries.
@helper
def next_column(indptr, indices, node, b, places):
    column = NO_COLUMN
    for r in range(b):
        if places[r] < np.int64(indptr[node * b + r + 1]):
            column = min(column, np.int64(indices[places[r]]) // b)
    return column


@helper
def open_rows(indptr, node, b, places):
    for r in range(b):
        places[r] = indptr[node * b + r]


@kernel(parallel=True)
def count_blocks(indptr, indices, b, counts):
    nodes = counts.size - 1
    for part in prange(-(-nodes // ROWS_AT_ONCE)):
        places = np.empty(b, np.int64)
        for node in range(part * ROWS_AT_ONCE, min((part + 1) * ROWS_AT_ONCE, nodes)):
            open_rows(indptr, node, b, places)
            column = next_column(indptr, indices, node, b, places)
            while column != NO_COLUMN:
                counts[node + 1] += 1
                for r in range(b):
                    end = np.int64(indptr[node * b + r + 1])
                    while places[r] < end and indices[places[r]] < (column + 1) * b:
                        places[r] += 1
                column = next_column(indptr, indices, node, b, places)


@kernel(parallel=True)
def find_norms(indptr, indices, data, b, ends, columns, norms):
    nodes = ends.size - 1
    for part in prange(-(-nodes // ROWS_AT_ONCE)):
        places = np.empty(b, np.int64)
        for node in range(part * ROWS_AT_ONCE, min((part + 1) * ROWS_AT_ONCE, nodes)):
            open_rows(indptr, node, b, places)
            for slot in range(ends[node], ends[node + 1]):
                column = next_column(indptr, indices, node, b, places)
                total = 0.0
                for r in range(b):
                    end, square = np.int64(indptr[node * b + r + 1]), 0.0
                    while places[r] < end and indices[places[r]] < (column + 1) * b:
                        real, imaginary = np.float64(data[places[r]].real), np.float64(data[places[r]].imag)
                        square += real * real + imaginary * imaginary
                        places[r] += 1
                    total += square
                columns[slot], norms[slot] = column, np.sqrt(total) if column == node else -np.sqrt(total)
