"""Locally dominant edges: those that come first at both of their ends are matched, round after round."""

import numpy as np

from .best_edges import Search, round_words
from .launch import launch
from .lazy import cupy
from .loader import kernels


def match(graph, tie_key):
    """The mate of each vertex, -1 of a single one, and an array: rounds that matched, maximal."""
    mates, pointers = cupy.empty((2, graph.n), graph.indices.dtype)
    mates.fill(-1)
    progress = cupy.asarray([0, 1], np.uint64)
    match_rest(graph, tie_key, mates, pointers, progress)
    return mates, progress


def match_rest(graph, tie_key, mates, pointers, progress):
    """Go on until the matching is maximal, from mates and pointers that the rounds before have left."""
    search = Search(graph, tie_key)
    program = kernels("locally_dominant", cooperative=True, **search.types)
    lists = cupy.empty((2, graph.n), graph.indices.dtype)
    counts, barrier = round_words()
    arguments = search.struct(), mates, pointers, lists, counts, progress, barrier
    launch(program.match_edges, arguments, shared_memory=search.shared_memory)
