"""Blue vertices propose to red ones: Algorithm 3 of Fagginger Auer & Bisseling (2012)."""

import numpy as np

from ..runtime import Program, Struct, cupy, launch
from .best_edges import SEARCH_MACROS, Search, counts_and_barrier

OPTIONS = Struct("Options", "matching/proposals.cu")
NO_LIMIT = 2**64 - 1
# MD5: colours by the first quarter of MD5.
PROGRAM = Program("matching/proposals", cooperative=True, MD5=(0, 1), **SEARCH_MACROS)


def match(graph, weighted, threshold, seed, limit, md5):
    search = Search(graph)
    program = PROGRAM(MD5=int(md5), **search.macros)
    options = OPTIONS(
        seed=seed, threshold=threshold, limit=NO_LIMIT if limit is None else limit, weighted=weighted
    )
    mates, choices = cupy.full((2, graph.n), -1, graph.indices.dtype)
    offers, colours = cupy.empty(graph.n, graph.values.dtype), cupy.empty(graph.n, np.uint8)
    lists = cupy.empty((2, graph.n), graph.indices.dtype)
    progress = cupy.empty(2, np.uint64)
    vertices = mates, offers, choices, colours
    arguments = search.struct(), options, *vertices, lists, progress, *counts_and_barrier()
    launch(program.match_colours, arguments, shared_memory=search.shared_memory)
    return mates, progress
