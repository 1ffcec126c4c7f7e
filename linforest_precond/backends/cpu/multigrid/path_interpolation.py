"""Interpolation along paths: every second vertex is kept, those between are weighted means of two."""

import numpy as np
from numba import prange

from ..runtime.arrays import NO_VERTEX, readonly
from ..runtime.jit import helper, kernel

# Weights are multiples of 1 / PARTS: exact in single precision, and so is their sum.
PARTS = 256


def interpolate(neighbors, positions, sizes, groups, count):
    """The CSR arrays of the prolongator, in double precision, and the number of vertices that are kept.

    Takes the neighbours of each vertex on its path and the magnitudes of the couplings to them, and `count`
    groups of vertices: one on a path (the host) and those that take its value, or a single one.
    """
    n, index = groups.size, groups.dtype
    neighbors, positions, sizes, groups = map(readonly, (neighbors, positions, sizes, groups))
    on_path = neighbors[:, 0] != NO_VERTEX
    hosts = np.empty(count, index)
    for chosen in (~on_path, on_path):  # those on paths overwrite the others
        hosts[groups[chosen]] = np.flatnonzero(chosen)
    hosts = hosts[groups]
    stays = (hosts == np.arange(n)) & ((positions % 2 == 0) | ~on_path)
    numbers, indptr = np.cumsum(stays, dtype=index), np.zeros(n + 1, index)
    rows = neighbors, sizes, readonly(hosts), readonly(stays)
    count_entries(*rows, indptr)
    np.cumsum(indptr, out=indptr)
    columns, shares = np.empty(indptr[-1], index), np.empty(indptr[-1])
    fill_rows(*rows, readonly(numbers), readonly(indptr), columns, shares)
    return indptr, columns, shares, int(numbers[-1]) if n else 0


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
