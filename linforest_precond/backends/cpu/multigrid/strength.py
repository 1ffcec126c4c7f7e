"""Strength of connection between unknowns, facts of a matrix's rows, and their sums; the matrix of nodes.

Connections between nodes of several unknowns are those of the matrix of nodes: it has one entry for each
b x b block of a matrix with b unknowns per node.
"""

import numpy as np
from numba import prange

from linforest_precond.backends.returns import RowFacts

from ..matrix.entries import magnitudes
from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel

# A diagonal is dominant if it is at least the sum of the others, up to a thousandth.
DOMINANCE = 1 + 1e-3
ROWS_AT_ONCE = 256  # nodes that one thread processes at a time
NO_COLUMN = np.iinfo(np.int64).max


def row_facts(csr, tolerance, tiny):
    """What all rows show; see `RowFacts`."""
    sizes, sums = row_sums(csr)
    own = magnitudes(csr.diagonal).astype(np.float64)
    rows = max(csr.n, 1)
    with np.errstate(over="ignore"):  # of zeros on the diagonal
        mean_ratio = float((sizes / np.maximum(own, tiny)).sum()) / rows
    arrays = map(readonly, (csr.indptr, csr.indices, csr.data))
    return RowFacts(
        hermitian=csr.to_rounding or (csr.symmetric and bool(find_mirrors(*arrays))),
        positive=bool((csr.diagonal.real > 0).all()),
        centered=bool((sums <= tolerance * sizes).all()),
        dominant_share=np.count_nonzero(DOMINANCE * own >= sizes - own) / rows,
        mean_ratio=mean_ratio,
        smallest_diagonal=float(own.min(initial=np.inf)),
        largest_diagonal=float(own.max(initial=0.0)),
    )


def row_sums(csr):
    """The sum of the magnitudes of each row, and the magnitude of its sum, in double precision."""
    sizes, sums = np.empty(csr.n), np.empty(csr.n)
    add_rows(*map(readonly, (csr.indptr, csr.indices, csr.data)), sizes, sums)
    return sizes, sums


def coupling_sums(csr):
    """The sum and the largest of 2 |a_ij| / (|a_ii| + |a_jj|) of each row; 0 where a_ii is 0."""
    totals, largest = np.empty(csr.n), np.empty(csr.n)
    add_couplings(*map(readonly, (csr.indptr, csr.indices, csr.data, csr.diagonal)), totals, largest)
    return totals, largest


def weigh(csr, strength):
    """The strength of connection of every entry, and the largest of each row, in double precision; flags.

    The strength is 2 |a_ij| / (|a_ii| + |a_jj|) where a_ij has the opposite sign of a_ii. It is 0 elsewhere,
    on the diagonal, and where it is below `strength` times the largest of either row. The three flags tell
    whether a strength is not finite, a diagonal entry positive, and one not positive.
    """
    arrays = tuple(map(readonly, (csr.indptr, csr.indices, csr.data, csr.diagonal)))
    strongest, weights = np.empty(csr.n), np.empty(csr.nnz)
    find_strongest(*arrays, strongest)
    weigh_entries(*arrays, readonly(strongest), float(strength), weights)
    positive = csr.diagonal.real > 0
    flags = not np.isfinite(strongest).all(), positive.any(), not positive.all()
    return weights, strongest, np.array(flags)


# Strength of connection; only entries of the opposite sign of the diagonal couple unknowns.
@helper
def coupling(value, here, there):
    pull = -np.float64(value.real) if here.real > 0 else np.float64(value.real)
    size = abs(np.float64(here.real)) + abs(np.float64(there.real))
    return 2.0 * pull / size if pull > 0.0 and size > 0.0 else 0.0


@kernel(parallel=True)
def find_mirrors(indptr, indices, data):
    different = 0
    for row in prange(indptr.size - 1):
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            column = np.int64(indices[slot])
            begin, end = np.int64(indptr[column]), np.int64(indptr[column + 1])
            mirror = begin + np.searchsorted(indices[begin:end], row)
            if mirror == end or indices[mirror] != row:
                different += data[slot] != 0
            elif data[mirror] != np.conj(data[slot]):
                different += 1
    return different == 0


@kernel(parallel=True)
def add_rows(indptr, indices, data, sizes, sums):
    for row in prange(sizes.size):
        size = 0.0
        total = data.dtype.type(0) * 1.0
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            size += abs(data[slot])
            total += data[slot]
        sizes[row], sums[row] = size, abs(total)


@kernel(parallel=True)
def add_couplings(indptr, indices, data, diagonal, totals, largest):
    for row in prange(totals.size):
        total, most, own = 0.0, 0.0, np.float64(abs(diagonal[row]))
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            column = np.int64(indices[slot])
            if column != row and own > 0.0:
                weight = 2.0 * np.float64(abs(data[slot])) / (own + np.float64(abs(diagonal[column])))
                total += weight
                most = max(most, weight)
        totals[row], largest[row] = total, most


@kernel(parallel=True)
def find_strongest(indptr, indices, data, diagonal, strongest):
    for row in prange(strongest.size):
        best = 0.0
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            column = np.int64(indices[slot])
            if column != row:
                best = max(best, coupling(data[slot], diagonal[row], diagonal[column]))
        strongest[row] = best


@kernel(parallel=True)
def weigh_entries(indptr, indices, data, diagonal, strongest, strength, weights):
    for row in prange(strongest.size):
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            column = np.int64(indices[slot])
            weight = 0.0
            if column != row:
                weight = coupling(data[slot], diagonal[row], diagonal[column])
                if weight < strength * min(strongest[row], strongest[column]):
                    weight = 0.0
            weights[slot] = weight


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
