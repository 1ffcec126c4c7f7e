"""The suitor algorithm: every vertex proposes to the best neighbour that would have it."""

import numpy as np

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from .best_edges import Search, round_words


def match(graph, tie_key):
    """The mate of each vertex, -1 of a single one, and an array: one round, maximal."""
    search = Search(graph, tie_key)
    program = kernels("matching/suitor", cooperative=True, **search.macros)
    suitors, offers = cupy.empty(graph.n, graph.indices.dtype), cupy.empty(graph.n, graph.values.dtype)
    suitors.fill(-1)
    lists = cupy.empty((2, graph.n), graph.indices.dtype)
    arguments = search.struct(), suitors, offers, lists, *round_words()
    launch(program.find_suitors, arguments, shared_memory=search.shared_memory)
    return suitors, cupy.ones(2, np.uint64)
