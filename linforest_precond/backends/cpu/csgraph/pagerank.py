"""PageRank by power iteration, every sum in a fixed order.

A row's products are added in pieces of 64: in a piece four sums of every fourth product, then the first and
third of them, the second and fourth, and both. The sums of the pieces go to 32 lanes in turn, and the lanes
are folded in halves. Sums over all vertices are those of `sums`.
"""

import numpy as np
from numba import prange

from ..matrix.entries import transposed
from ..matrix.row_shares import row_shares
from ..matrix.sums import CHUNK, fold, fold_lanes, tree_sum
from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel

PIECE = 64
LANES = 32


def power_iteration(csr, alpha, personalization, dangling, start, max_iter, goal):
    """Ranks, and the iterations made and what the last one changed."""
    arrays, sums = (csr.indptr, csr.indices, csr.data), np.empty(csr.n)
    add_rows(*_shared(*arrays), np.ones(csr.n), sums)
    with np.errstate(over="ignore"):
        inverses = np.divide(1.0, sums, out=np.zeros(csr.n), where=sums != 0)
    is_dangling = inverses == 0
    arrays = _shared(*(arrays if csr.symmetric else transposed(*arrays)))
    ranks, last = start.copy(), np.empty(csr.n)
    changes, leaks = np.empty((2, -(-csr.n // CHUNK)))
    leak = tree_sum(np.where(is_dangling, ranks, 0.0))
    change, iterations = np.inf, 0
    while iterations < max_iter and change >= goal:
        ranks, last = last, ranks
        add_rows(*arrays, last * inverses, sums)
        update(sums, last, is_dangling, personalization, dangling, alpha, leak, ranks, changes, leaks)
        change, leak = tree_sum(changes), tree_sum(leaks)
        iterations += 1
    return ranks, iterations, change


def _shared(indptr, indices, data):
    """A matrix as `add_rows` takes it."""
    return row_shares(indptr), *(readonly(array) for array in (indptr, indices, data))


# The product of a matrix and a vector; a thread takes rows with about so many entries.
@kernel(parallel=True)
def add_rows(shares, indptr, indices, data, vector, sums):
    for part in prange(shares.size - 1):
        for row in range(shares[part], shares[part + 1]):
            begin, end = indptr[row], indptr[row + 1]
            if end - begin <= PIECE:
                sums[row] = piece_sum(begin, end, indices, data, vector)
            else:
                sums[row] = long_sum(begin, end, indices, data, vector)


@helper
def long_sum(begin, end, indices, data, vector):
    lanes = np.zeros(LANES)
    for piece in range((end - begin + PIECE - 1) // PIECE):
        first = begin + piece * PIECE
        lanes[piece % LANES] += piece_sum(first, min(first + PIECE, end), indices, data, vector)
    return fold_lanes(lanes, LANES)


# Unsigned indices: the compiler need not ask whether they are negative.
@helper
def piece_sum(begin, end, indices, data, vector):
    first = second = third = fourth = 0.0
    slot, end = np.uint64(begin), np.uint64(end)
    while slot + np.uint64(4) <= end:
        first += product(slot, indices, data, vector)
        second += product(slot + np.uint64(1), indices, data, vector)
        third += product(slot + np.uint64(2), indices, data, vector)
        fourth += product(slot + np.uint64(3), indices, data, vector)
        slot += np.uint64(4)
    if slot < end:
        first += product(slot, indices, data, vector)
    if slot + np.uint64(1) < end:
        second += product(slot + np.uint64(1), indices, data, vector)
    if slot + np.uint64(2) < end:
        third += product(slot + np.uint64(2), indices, data, vector)
    return (first + third) + (second + fourth)


@helper
def product(slot, indices, data, vector):
    return np.float64(data[slot]) * vector[np.uint64(indices[slot])]


# One iteration's ranks from the sums of what flows along edges; each chunk adds up what changed, and what its
# dangling vertices will spread.
@kernel(parallel=True)
def update(sums, last, is_dangling, personalization, dangling, alpha, leak, ranks, changes, leaks):
    for chunk in prange(changes.size):
        changed, leaking = np.zeros(CHUNK), np.zeros(CHUNK)
        start = chunk * CHUNK
        for v in range(start, min(start + CHUNK, ranks.size)):
            rank = alpha * (sums[v] + leak * dangling[v]) + (1.0 - alpha) * personalization[v]
            changed[v - start] = abs(rank - last[v])
            leaking[v - start] = rank if is_dangling[v] else 0.0
            ranks[v] = rank
        changes[chunk], leaks[chunk] = fold(changed), fold(leaking)
