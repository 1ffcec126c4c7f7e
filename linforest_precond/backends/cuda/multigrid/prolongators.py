"""Prolongators: interpolation along paths, and tentative prolongators of near-null space candidates."""

import numpy as np

from ..runtime import INDICES, VALUES, WEIGHTS, Program, Struct, cupy, launch, wide_type
from ..runtime.grid_sums import add_up
from .aggregates import members_of

PATHS = Struct("Paths", "multigrid/path_interpolation.cu")
PATH_INTERPOLATION = Program("multigrid/path_interpolation", VALUE=VALUES, WEIGHT=WEIGHTS, INDEX=INDICES)
AGGREGATES = Struct("Aggregates", "multigrid/tentative.cu")
TENTATIVE = Program("multigrid/tentative", VALUE=VALUES, WIDE=wide_type, INDEX=INDICES)


def interpolate_along_paths(graph, paths, data, tie_key):
    n, index = graph.n, graph.indices.dtype
    program = PATH_INTERPOLATION(VALUE=data, WEIGHT=graph.values, INDEX=index)
    along = PATHS(
        neighbors=paths.neighbors, positions=paths.position, slots=paths.slots, data=data, values=paths.values
    )
    hosts, kept, indptr = cupy.empty(n, index), cupy.empty(n, index), cupy.zeros(n + 1, index)
    totals = cupy.zeros(2, np.uint64)
    arrays = graph.indptr, graph.indices, graph.values
    launch(program.find_hosts, (along, *arrays, n, np.uint32(tie_key), hosts), items=n)
    launch(program.count_shares, (along, hosts, n, kept, indptr[1:], totals), items=n)
    numbers = add_up(kept)
    add_up(indptr)
    width, entries = totals.tolist()  # stall: how many
    columns, shares = cupy.empty(entries, index), cupy.empty(entries, data.dtype)
    launch(program.fill_shares, (along, hosts, n, numbers, indptr[1:], columns, shares), items=n)
    return indptr, columns, shares, width


def tentative_prolongator(node_numbers, count, block_size, B):
    (n, k), index, nodes = B.shape, node_numbers.dtype, node_numbers.size
    program, aggregated = TENTATIVE(VALUE=B, INDEX=index), node_numbers >= 0
    starts, members = members_of(cupy.where(aggregated, node_numbers, index.type(count)), count + 1)
    indptr, before = cupy.empty(n + 1, index), cupy.cumsum(aggregated, dtype=index)
    launch(program.point_to_rows, (node_numbers, before, nodes, block_size, k, indptr), items=n + 1)
    entries = int(indptr[-1])  # stall: nodes without an aggregate have empty rows
    wide = wide_type(B.dtype)
    work, coarse = cupy.empty(entries, wide), cupy.zeros((count * k, k), wide)
    indices, data = cupy.empty(entries, index), cupy.empty(entries, B.dtype)
    aggregates = AGGREGATES(starts=starts, members=members, count=count, block_size=block_size)
    arguments = aggregates, indptr, cupy.ascontiguousarray(B), np.int32(k), work, coarse, indices, data
    launch(program.orthonormalize, arguments, items=32 * count)
    return (indptr, indices, data), coarse.astype(B.dtype, copy=False)


def add_tentative(tentative, weights, product):
    program, missing = TENTATIVE(VALUE=tentative[2], INDEX=tentative[1]), cupy.zeros(1, np.uint32)
    rows = tentative[0].size - 1
    launch(program.subtract_product, (*tentative, weights, rows, *product, missing), items=8 * rows)
    return not missing.item()  # stall: entries that need room


def fill_dropped(coarse, indptr, indices, data):
    program, k = TENTATIVE(VALUE=data, INDEX=indices), coarse.shape[1]
    nodes = coarse.shape[0] // k
    launch(program.fill_diagonal, (coarse, nodes, k, indptr, indices, data), items=nodes)
