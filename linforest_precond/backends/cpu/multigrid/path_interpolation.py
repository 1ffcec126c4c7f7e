"""Interpolation along paths: every second vertex is kept, those between are weighted means of two."""

import numpy as np
from numba import prange

from ..matching.aggregates import ROWS_AT_ONCE, heaviest_matched
from ..matrix.entries import magnitudes
from ..runtime.arrays import NO_VERTEX, readonly
from ..runtime.jit import helper, kernel

# Weights are multiples of 1 / PARTS: exact in single precision, and so is their sum.
PARTS = 256


def interpolate(graph, paths, data, tie_key):
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
    for block in prange(-(-hosts.size // ROWS_AT_ONCE)):
        for v in range(block * ROWS_AT_ONCE, min((block + 1) * ROWS_AT_ONCE, hosts.size)):
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
