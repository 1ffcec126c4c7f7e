"""PageRank by power iteration, with a fixed order of summation: the same bits as the CUDA kernel.

A row's products are added in pieces of 64. A piece has four partial sums s0 to s3 of every fourth product and
the sum (s0 + s2) + (s1 + s3). The sums of a row's pieces are dealt to 32 lanes in turn, and the lanes are
added by a binary tree. Sums over all vertices are those of `matrix.sums`.
"""

import numpy as np
from numba import prange

from ..matrix.entries import transposed
from ..matrix.sparse_products import row_shares
from ..matrix.sums import CHUNK, fold, fold_lanes, tree_sum
from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel

PIECE = 64
LANES = 32


def power_iteration(csr, alpha, personalization, dangling, start, max_iter, threshold):
    """The ranks, the number of iterations, and the 1-norm of the last change."""
    arrays, sums = (csr.indptr, csr.indices, csr.data), np.empty(csr.n)
    multiply(*_with_row_shares(*arrays), np.ones(csr.n), sums)
    with np.errstate(over="ignore"):
        inverses = np.divide(1.0, sums, out=np.zeros(csr.n), where=sums != 0)
    is_dangling = inverses == 0
    arrays = _with_row_shares(*(arrays if csr.symmetric else transposed(*arrays)))
    ranks, last = start.copy(), np.empty(csr.n)
    changes, masses = np.empty((2, -(-csr.n // CHUNK)))
    mass = tree_sum(np.where(is_dangling, ranks, 0.0))
    change, iterations = np.inf, 0
    while iterations < max_iter and change >= threshold:
        ranks, last = last, ranks
        multiply(*arrays, last * inverses, sums)
        update(sums, last, is_dangling, personalization, dangling, alpha, mass, ranks, changes, masses)
        change, mass = tree_sum(changes), tree_sum(masses)
        iterations += 1
    return ranks, iterations, change


def _with_row_shares(indptr, indices, data):
    """A matrix as `multiply` takes it."""
    return row_shares(indptr), *(readonly(array) for array in (indptr, indices, data))


# Sparse matrix-vector product; `shares` balances the entries among threads.
@kernel(parallel=True)
def multiply(shares, indptr, indices, data, vector, sums):
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


# Unsigned indices avoid Numba's wraparound check for negative ones.
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


# New ranks from the product `sums`. Each chunk of vertices adds up its changes and its dangling mass: the
# ranks of vertices without outgoing edges, which the next iteration distributes.
@kernel(parallel=True)
def update(sums, last, is_dangling, personalization, dangling, alpha, mass, ranks, changes, masses):
    for chunk in prange(changes.size):
        changed, dangling_ranks = np.zeros(CHUNK), np.zeros(CHUNK)
        start = chunk * CHUNK
        for v in range(start, min(start + CHUNK, ranks.size)):
            rank = alpha * (sums[v] + mass * dangling[v]) + (1.0 - alpha) * personalization[v]
            changed[v - start] = abs(rank - last[v])
            dangling_ranks[v - start] = rank if is_dangling[v] else 0.0
            ranks[v] = rank
        changes[chunk], masses[chunk] = fold(changed), fold(dangling_ranks)
