"""Locally dominant edges: those that come first at both of their ends are matched, round after round."""

import numpy as np

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from .best_edges import Search, round_words


def match(graph, tie_key):
    """The mate of each vertex, -1 of a single one, and an array: rounds that matched, maximal."""
    mates, pointers = cupy.empty((2, graph.n), graph.indices.dtype)
    mates.fill(-1)
    return mates, match_rest(graph, tie_key, mates, pointers, 0)


def match_rest(graph, tie_key, mates, pointers, rounds):
    """Go on from the mates and pointers that so many rounds have left; an array: rounds in all, maximal."""
    search = Search(graph, tie_key)
    program = kernels("matching/locally_dominant", cooperative=True, **search.macros)
    lists, progress = cupy.empty((2, graph.n), graph.indices.dtype), cupy.empty(2, np.uint64)
    arguments = search.struct(), rounds, mates, pointers, lists, progress, *round_words()
    launch(program.match_edges, arguments, shared_memory=search.shared_memory)
    return progress
