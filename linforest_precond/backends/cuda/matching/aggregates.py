"""Aggregates: groups of vertices, each of which becomes one vertex of a coarser matrix."""

import numpy as np

from ..runtime import INDICES, WEIGHTS, Program, cupy, launch

# The most members of an aggregate that one thread sorts.
FEW_MEMBERS = 32
PROGRAM = Program("matching/aggregates", WEIGHT=WEIGHTS, INDEX=INDICES)


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
