"""Matching of locally dominant edges (Preis 1999; Manne & Bisseling 2008): the best at both of their ends."""

import numpy as np

from ..runtime import Program, cupy, launch
from .best_edges import SEARCH_MACROS, Search, counts_and_barrier

PROGRAM = Program("matching/locally_dominant", cooperative=True, **SEARCH_MACROS)


def match(graph, tie_key):
    mates, pointers = cupy.empty((2, graph.n), graph.indices.dtype)
    mates.fill(-1)
    return mates, match_rest(graph, tie_key, mates, pointers, 0)


def match_rest(graph, tie_key, mates, pointers, rounds):
    """Continue from the mates and pointers after `rounds` rounds; returns an array: all rounds, maximal."""
    search = Search(graph, tie_key)
    lists, progress = cupy.empty((2, graph.n), graph.indices.dtype), cupy.empty(2, np.uint64)
    arguments = search.struct(), rounds, mates, pointers, lists, progress, *counts_and_barrier()
    launch(PROGRAM(**search.macros).match_dominant_edges, arguments, shared_memory=search.shared_memory)
    return progress
