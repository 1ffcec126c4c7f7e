"""Aggregates, groups of vertices that become one vertex of a coarser matrix, and grid transfer by them."""

import numpy as np

from ..matrix.row_merging import merge_rows
from ..runtime import INDICES, VALUES, WEIGHTS, Program, cupy, launch

# The most members of an aggregate that one thread sorts.
FEW_MEMBERS = 32
PROGRAM = Program("multigrid/aggregates", WEIGHT=WEIGHTS, INDEX=INDICES)
TRANSFERS = Program("multigrid/transfers", VALUE=VALUES, INDEX=INDICES)


def of_mates(graph, mate, tie_key):
    vertices, index = graph.n, graph.indices.dtype
    program = PROGRAM(WEIGHT=graph.values, INDEX=index)
    roots, claims, marks = (
        cupy.empty(vertices, index),
        cupy.zeros(vertices, index),
        cupy.empty(vertices, index),
    )
    arrays = graph.indptr, graph.indices, graph.values, mate
    launch(program.find_roots, (*arrays, vertices, np.uint32(tie_key), roots, claims))
    launch(program.mark_lowest, (roots, claims, vertices, marks))
    opened = cupy.cumsum(marks, dtype=index)
    launch(program.number_aggregates, (roots, claims, vertices, opened))
    return roots, int(opened[-1]) if vertices else 0  # stall: the size of the coarse matrix


def members_of(aggregates, count):
    vertices, index = aggregates.size, aggregates.dtype
    program = PROGRAM(WEIGHT=np.float64, INDEX=index)
    sizes, arrivals = cupy.zeros(count + 1, np.uint32), cupy.empty(vertices, np.uint32)
    launch(program.count_members, (aggregates, vertices, sizes, arrivals))
    indptr = cupy.cumsum(sizes, dtype=index)
    if int(sizes.max()) > FEW_MEMBERS:  # stall: selects the sort
        return indptr, cupy.argsort(aggregates, kind="stable").astype(index, copy=False)
    members = cupy.empty(vertices, index)
    launch(program.place_members, (aggregates, indptr, arrivals, vertices, members))
    launch(program.sort_members, (indptr, count, members))
    return indptr, members


def restrict(indptr, members, fine, coarse):
    program = TRANSFERS(VALUE=coarse, INDEX=members)
    rows = coarse.shape[0]
    arguments = indptr, members, fine, rows, coarse.size // max(rows, 1), coarse
    launch(program.sum_members, arguments, items=coarse.size)


def prolong_add(aggregates, coarse, fine):
    program = TRANSFERS(VALUE=fine, INDEX=aggregates)
    rows = fine.shape[0]
    launch(program.add_values, (aggregates, coarse, rows, fine.size // max(rows, 1), fine), items=fine.size)


def coarse_matrix(csr, aggregates, indptr, members):
    return merge_rows((csr.indptr, csr.indices, csr.data), indptr, members, aggregates)
