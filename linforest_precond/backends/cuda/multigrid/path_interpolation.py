"""Interpolation along paths: every second vertex is kept, those between are weighted means of two."""

import numpy as np

from ..runtime import INDICES, VALUES, WEIGHTS, Program, Struct, cupy, launch
from ..runtime.prefix_sum import add_up

PATHS = Struct("Paths", "multigrid/path_interpolation.cu")
PROGRAM = Program("multigrid/path_interpolation", VALUE=VALUES, WEIGHT=WEIGHTS, INDEX=INDICES)


def interpolate(graph, paths, data, tie_key):
    n, index = graph.n, graph.indices.dtype
    program = PROGRAM(VALUE=data, WEIGHT=graph.values, INDEX=index)
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
