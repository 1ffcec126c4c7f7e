"""What is stored on the edges between mates."""

import numpy as np
from numba import prange

from ..matrix.entries import find_slot
from ..runtime.arrays import readonly
from ..runtime.constants import NOT_FOUND
from ..runtime.jit import kernel


def edge_values(graph, mate):
    """The graph's value between each vertex and its mate, 0 where it has none or nothing is stored."""
    out = np.zeros(graph.n, graph.values.dtype)
    find_values(*map(readonly, (graph.indptr, graph.indices, graph.values, mate)), out)
    return out


# Each vertex looks for its mate in its row.
@kernel(parallel=True)
def find_values(indptr, indices, values, mate, out):
    for v in prange(out.size):
        if mate[v] >= 0:
            slot = find_slot(indptr, indices, v, mate[v])
            if slot != NOT_FOUND:
                out[v] = values[slot]
