"""Tentative prolongators of near-null space candidates: a thin QR factorization on each aggregate.

Section 3 of Vanek, Mandel & Brezina, "Algebraic multigrid by smoothed aggregation for second and fourth order
elliptic problems" (1996), doi:10.1007/BF02238511.
"""

import numpy as np

from ..matching.aggregates import members_of
from ..runtime import INDICES, VALUES, Program, Struct, cupy, launch, wide_type

AGGREGATES = Struct("Aggregates", "multigrid/tentative.cu")
PROGRAM = Program("multigrid/tentative", VALUE=VALUES, WIDE=wide_type, INDEX=INDICES)


def tentative_prolongator(node_numbers, count, block_size, B):
    (n, k), index, nodes = B.shape, node_numbers.dtype, node_numbers.size
    program, aggregated = PROGRAM(VALUE=B, INDEX=index), node_numbers >= 0
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
    program, missing = PROGRAM(VALUE=tentative[2], INDEX=tentative[1]), cupy.zeros(1, np.uint32)
    rows = tentative[0].size - 1
    launch(program.subtract_product, (*tentative, weights, rows, *product, missing), items=8 * rows)
    return not missing.item()  # stall: entries that need room


def fill_dropped(coarse, indptr, indices, data):
    program, k = PROGRAM(VALUE=data, INDEX=indices), coarse.shape[1]
    nodes = coarse.shape[0] // k
    launch(program.fill_diagonal, (coarse, nodes, k, indptr, indices, data), items=nodes)
