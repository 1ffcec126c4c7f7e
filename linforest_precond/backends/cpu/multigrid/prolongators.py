"""Prolongators: interpolation along paths, and tentative prolongators of near-null space candidates.

Along paths, every second vertex is kept, and those between are weighted means of two.

A tentative prolongator is a thin QR factorization on each aggregate: section 3 of Vanek, Mandel & Brezina,
"Algebraic multigrid by smoothed aggregation for second and fourth order elliptic problems" (1996),
doi:10.1007/BF02238511.
"""

import numpy as np
from numba import prange

from ..matrix.entries import find_slot, magnitudes
from ..runtime.arrays import NO_VERTEX, readonly
from ..runtime.jit import helper, kernel
from .aggregates import VERTICES_AT_ONCE, heaviest_matched, members_of

# Weights are multiples of 1 / PARTS: exact in single precision, and so is their sum.
PARTS = 256
# A column whose norm falls below this share in the orthogonalization depends on the columns before it.
RANK_TOLERANCE = 1e-10


def interpolate_along_paths(graph, paths, data, tie_key):
    """The CSR arrays of the prolongator, in the type of `data`, and the number of vertices that are kept.

    Takes a linear forest of a graph, and the entries of the matrix. A vertex on no path has the row of its
    heaviest neighbour on a path, the host; where there is none, it is kept. `tie_key` orders equal weights.
    """
    n, index = graph.n, graph.indices.dtype
    couplings = paths.values if paths.slots is None or not data.size else data[paths.slots]
    sizes = magnitudes(couplings.ravel()).reshape(-1, 2)
    neighbors, sizes = readonly(paths.neighbors), readonly(sizes)
    hosts, indptr = np.empty(n, index), np.zeros(n + 1, index)
    arrays = graph.indptr, graph.indices, graph.values, np.ascontiguousarray(neighbors[:, 0])
    find_hosts(*map(readonly, arrays), np.uint32(tie_key), hosts)
    stays = (hosts == np.arange(n)) & ((paths.position % 2 == 0) | (neighbors[:, 0] == NO_VERTEX))
    numbers = np.cumsum(stays, dtype=index)
    rows = neighbors, sizes, readonly(hosts), readonly(stays)
    count_entries(*rows, indptr)
    np.cumsum(indptr, out=indptr)
    columns, shares = np.empty(indptr[-1], index), np.empty(indptr[-1], data.dtype)
    fill_rows(*rows, readonly(numbers), readonly(indptr), columns, shares)
    return indptr, columns, shares, int(numbers[-1]) if n else 0


# `on_path` is negative for vertices on no path.
@kernel(parallel=True)
def find_hosts(indptr, indices, values, on_path, tie_key, hosts):
    for block in prange(-(-hosts.size // VERTICES_AT_ONCE)):
        for v in range(block * VERTICES_AT_ONCE, min((block + 1) * VERTICES_AT_ONCE, hosts.size)):
            host = v
            if on_path[v] < 0:
                neighbor = heaviest_matched(indptr, indices, values, on_path, tie_key, v)
                host = v if neighbor < 0 else neighbor
            hosts[v] = host


# The interpolation weight of a vertex's first neighbour; the second has the rest.
@helper
def first_share(neighbors, sizes, v):
    first = np.float64(sizes[v, 0]) if neighbors[v, 0] >= 0 else 0.0
    second = np.float64(sizes[v, 1]) if neighbors[v, 1] >= 0 else 0.0
    total = first + second
    return np.rint(PARTS * (first / (total if total > 0 else 1.0))) / PARTS


@kernel(parallel=True)
def count_entries(neighbors, sizes, hosts, stays, counts):
    for v in prange(hosts.size):
        host = hosts[v]
        counts[v + 1] = 1
        if not stays[host]:
            share = first_share(neighbors, sizes, host)
            takes_second = neighbors[host, 1] >= 0 and share < 1
            counts[v + 1] = np.int64(neighbors[host, 0] >= 0 and share > 0) + np.int64(takes_second)


# `numbers` is the inclusive prefix sum of the kept vertices, so columns ascend with the vertices.
@kernel(parallel=True)
def fill_rows(neighbors, sizes, hosts, stays, numbers, indptr, columns, shares):
    for v in prange(hosts.size):
        host, begin = hosts[v], indptr[v]
        if stays[host]:
            columns[begin], shares[begin] = numbers[host] - 1, 1.0
            continue
        share = first_share(neighbors, sizes, host)
        descends = indptr[v + 1] - begin == 2 and neighbors[host, 0] > neighbors[host, 1]
        if neighbors[host, 0] >= 0 and share > 0:
            place = begin + descends
            columns[place], shares[place] = numbers[neighbors[host, 0]] - 1, share
        if neighbors[host, 1] >= 0 and share < 1:
            place = indptr[v + 1] - 1 - descends
            columns[place], shares[place] = numbers[neighbors[host, 1]] - 1, 1.0 - share


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
