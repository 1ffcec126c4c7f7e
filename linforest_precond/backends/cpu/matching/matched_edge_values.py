"""The values of the matched edges."""

import numpy as np
from numba import prange

from ..matrix.entries import find_slot
from ..runtime.arrays import NOT_FOUND, readonly
from ..runtime.jit import kernel


def matched_edge_values(graph, mate):
    """The graph's value between each vertex and its mate, 0 where it has none or nothing is stored."""
    out = np.zeros(graph.n, graph.values.dtype)
    find_matched_values(*map(readonly, (graph.indptr, graph.indices, graph.values, mate)), out)
    return out


# Binary search of the mate in each vertex's row.
@kernel(parallel=True)
def find_matched_values(indptr, indices, values, mate, out):
    for v in prange(out.size):
        if mate[v] >= 0:
            slot = find_slot(indptr, indices, v, mate[v])
            if slot != NOT_FOUND:
                out[v] = values[slot]
