"""Tentative prolongators of near-null space candidates: a thin QR factorization on each aggregate.

Section 3 of Vanek, Mandel & Brezina, "Algebraic multigrid by smoothed aggregation for second and fourth order
elliptic problems" (1996), doi:10.1007/BF02238511.
"""

import numpy as np
from numba import prange

from ..matching.aggregates import members_of
from ..matrix.entries import find_slot
from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel

# A column whose norm falls below this share in the orthogonalization depends on the columns before it.
RANK_TOLERANCE = 1e-10


def tentative_prolongator(node_numbers, count, block_size, B):
    """The CSR arrays of the tentative prolongator P, and the candidates on the coarse level: B = P coarse B.

    Takes each node's aggregate, -1 for none, and the candidates (n, k). Node v has the rows v b to
    v b + b - 1, aggregate i the columns i k to i k + k - 1, orthonormal by modified Gram-Schmidt, twice, in
    double precision. Columns that depend on those before them are zeros in P, and their rows in the coarse
    candidates too.
    """
    n, k = B.shape
    aggregated = node_numbers >= 0
    indptr = np.zeros(n + 1, node_numbers.dtype)
    np.cumsum(np.repeat(aggregated, block_size), dtype=indptr.dtype, out=indptr[1:])
    indptr *= k
    members = members_of(np.where(aggregated, node_numbers, node_numbers.dtype.type(count)), count + 1)
    wide = np.result_type(B.dtype, np.float64)
    indices, basis = np.empty(indptr[-1], indptr.dtype), np.empty(indptr[-1], wide)
    coarse = np.zeros((count * k, k), wide)
    arrays = *members, indptr, np.ascontiguousarray(B)
    orthonormalize(*map(readonly, arrays), block_size, indices, basis, coarse)
    return (indptr, indices, basis.astype(B.dtype, copy=False)), coarse.astype(B.dtype, copy=False)


def add_tentative(tentative, weights, product):
    """P - diag(weights) A P in place of the product A P; returns whether its pattern contains that of P."""
    arrays = (*tentative, weights, product[0], product[1])
    return bool(subtract_product(*map(readonly, arrays), product[2]))


def fill_dropped(coarse, indptr, indices, data):
    """Fill the zeros on the diagonal of a coarse matrix, in place, where a candidate was dropped.

    The row and the column of such an unknown are zeros: any number on the diagonal will do. It gets the
    largest one of its node, so that the norms of blocks keep their size.
    """
    fill_diagonal(*map(readonly, (coarse, indptr, indices)), data)


@helper
def dot(u, v):
    total = u.dtype.type(0)
    for i in range(u.size):
        total += np.conj(u[i]) * v[i]
    return total


@helper
def norm(u):
    total = 0.0
    for i in range(u.size):
        total += u[i].real * u[i].real + u[i].imag * u[i].imag
    return np.sqrt(total)


# Modified Gram-Schmidt on the rows of each aggregate, copied to the entries of the prolongator.
@kernel(parallel=True)
def orthonormalize(starts, members, indptr, candidates, b, indices, basis, coarse):
    k = candidates.shape[1]
    for aggregate in prange(starts.size - 2):
        rows = (np.int64(starts[aggregate + 1]) - np.int64(starts[aggregate])) * b
        columns = np.empty((k, rows), basis.dtype)
        for row in range(rows):
            fine = np.int64(members[starts[aggregate] + row // b]) * b + row % b
            for j in range(k):
                columns[j, row] = candidates[fine, j]
        for j in range(k):
            original = norm(columns[j])
            for _ in range(2):
                for i in range(j):
                    share = dot(columns[i], columns[j])
                    coarse[aggregate * k + i, j] += share
                    for row in range(rows):
                        columns[j, row] -= share * columns[i, row]
            remaining = norm(columns[j])
            if remaining > RANK_TOLERANCE * original:
                coarse[aggregate * k + j, j] = remaining
                for row in range(rows):
                    columns[j, row] *= 1.0 / remaining
            else:
                columns[j] = 0
        for row in range(rows):
            slot = np.int64(indptr[np.int64(members[starts[aggregate] + row // b]) * b + row % b])
            for j in range(k):
                indices[slot + j], basis[slot + j] = aggregate * k + j, columns[j, row]


# data = P - weights data, row by row.
@kernel(parallel=True)
def subtract_product(indptr, indices, values, weights, product_indptr, product_indices, data):
    missing = 0
    for row in prange(indptr.size - 1):
        for slot in range(np.int64(product_indptr[row]), np.int64(product_indptr[row + 1])):
            data[slot] = -weights[row] * data[slot]
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            place = find_slot(product_indptr, product_indices, row, np.int64(indices[slot]))
            if place >= 0:
                data[place] += values[slot]
            elif values[slot] != 0:
                missing += 1
    return missing == 0


@kernel(parallel=True)
def fill_diagonal(coarse, indptr, indices, data):
    k = coarse.shape[1]
    for node in prange(coarse.shape[0] // k):
        largest = 0.0
        for row in range(node * k, node * k + k):
            slot = find_slot(indptr, indices, row, row)
            if slot >= 0:
                largest = max(largest, abs(np.float64(data[slot].real)))
        for row in range(node * k, node * k + k):
            slot = find_slot(indptr, indices, row, row)
            if slot >= 0 and coarse[row, row - node * k] == 0:
                data[slot] = largest if largest > 0.0 else 1.0
