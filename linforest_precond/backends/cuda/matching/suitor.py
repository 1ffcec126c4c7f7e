"""The suitor algorithm (Manne & Halappanavar 2014): vertices propose, and each keeps its best suitor."""

import numpy as np

from ..runtime import Program, cupy, launch
from .best_edges import SEARCH_MACROS, Search, counts_and_barrier

PROGRAM = Program("matching/suitor", cooperative=True, **SEARCH_MACROS)


def match(graph, tie_key):
    search = Search(graph, tie_key)
    suitors, offers = cupy.empty(graph.n, graph.indices.dtype), cupy.empty(graph.n, graph.values.dtype)
    suitors.fill(-1)
    lists = cupy.empty((2, graph.n), graph.indices.dtype)
    arguments = search.struct(), suitors, offers, lists, *counts_and_barrier()
    launch(PROGRAM(**search.macros).find_suitors, arguments, shared_memory=search.shared_memory)
    return suitors, cupy.ones(2, np.uint64)
