"""Direction-optimizing breadth-first search, and the George-Liu search for pseudo-peripheral vertices."""

import numpy as np

from ..matrix.entries import WIDTHS
from ..runtime import INDICES, Program, Struct, cupy, launch
from . import sorted_neighbors
from .frontier import ITEM_BYTES, FrontierLaunch

BREADTH_FIRST = Struct("BreadthFirst", "csgraph/breadth_first.cu")
# Threads of a block in a search of a pattern.
BLOCK = 1024
# Long rows, of this many lanes, give wide frontiers, for which all multiprocessors are used.
MANY_LANES = 16
MOST_BLOCKS = 2**16

# As an unsigned number it is above all vertices.
NO_PREDECESSOR = -9999
PROGRAM = Program("csgraph/breadth_first", cooperative=True, INDEX=INDICES, WIDTH=WIDTHS)


def bfs_levels(pattern, source):
    return depths_from(pattern, cupy.full(1, source, np.int32))


def depths_from(pattern, sources):
    """The depth of each vertex from the nearest source, -1 where none reaches it; skips negative sources."""
    return _search_pattern(pattern, sorted_neighbors.plain_rows(pattern), sources, None)


def breadth_first_order(pattern, source, with_predecessors):
    rows = sorted_neighbors.plain_rows(pattern)
    predecessors = cupy.full(pattern.n, NO_PREDECESSOR, np.int32) if with_predecessors else None
    sources = cupy.full(1, source, np.int32)
    depths = _search_pattern(pattern, rows, sources, predecessors)
    order = cupy.argsort(depths.view(np.uint32), kind="stable")  # -1 as an unsigned number comes last
    count = cupy.zeros(1, np.uint64)
    launch(PROGRAM(**rows.macros).count_reached, (depths, pattern.n, count))
    return order[: int(count[0])].astype(np.int32), predecessors  # stall: the number of reachable vertices


def _search_pattern(pattern, rows, sources, parents):
    depths = cupy.empty(pattern.n, np.int32)
    blocks = MOST_BLOCKS if rows.width >= MANY_LANES else None
    options = {"parents": parents, "symmetric": pattern.symmetric, "dead_end": 0}
    search_rows(rows, sources, depths, queue_for(rows), **options, blocks=blocks, block=BLOCK)
    return depths


def queue_for(rows):
    """Storage for the items of all rows."""
    return cupy.empty(ITEM_BYTES * rows.most_items, np.uint8)


def search_rows(rows, sources, depths, queue, parents=None, symmetric=True, dead_end=1, **sizes):
    """Fill in the depths of all vertices reachable from the sources, -1 elsewhere.

    `parents`, if given, must be filled with `NO_PREDECESSOR`; the lowest predecessors are stored in it.
    """
    launch_state = FrontierLaunch(rows.width, **sizes)
    depths.fill(-1)
    arguments = BREADTH_FIRST(
        spans=rows.spans, neighbours=rows.neighbours, sources=sources, depths=depths, parents=parents,
        queue=queue, tails=launch_state.tails, sum_words=launch_state.sum_words, handoff=launch_state.handoff,
        source_count=sources.size, dead_end=dead_end, n=depths.size,
        most_items=rows.most_items if symmetric else 0,
    )  # fmt: skip
    launch_state.launch(PROGRAM(**rows.macros).search, arguments)


def pseudo_peripheral_vertices(rows, components, labels, start=None):
    """A start for every component by the George-Liu search; `start` is used for its own component."""
    if start is not None and components == 1:
        return cupy.asarray([start], np.int32)
    program = PROGRAM(**rows.macros)
    n = rows.by_rank.size
    deepest = cupy.zeros(components, np.uint64)
    starts, sources, depths = (cupy.empty(components, np.int32) for _ in range(3))
    launch(program.find_deepest, (0, labels, rows.ranks, n, deepest))
    launch(program.first_sources, (deepest, rows.by_rank, components, starts, sources, depths))
    if start is not None:
        own = labels[start : start + 1]
        starts[own], sources[own] = start, -1
    vertex_depths, count, queue = cupy.empty(n, np.int32), cupy.empty(1, np.uint32), queue_for(rows)
    continuing = True
    while continuing:
        search_rows(rows, sources, vertex_depths, queue)
        launch(program.find_deepest, (vertex_depths, labels, rows.ranks, n, deepest))
        count.fill(0)
        arguments = deepest, rows.by_rank, components, starts, sources, depths, count
        launch(program.continue_search, arguments)
        continuing = bool(count[0])  # stall: whether another round follows
    return starts
