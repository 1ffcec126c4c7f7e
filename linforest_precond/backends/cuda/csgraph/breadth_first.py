"""Breadth-first search, and the search for vertices at the rim of their components."""

import numpy as np

from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from . import sorted_neighbors as row_lists
from .frontier import ITEM_BYTES, Meeting

# The struct in levels.cu.
SEARCH = Struct(
    "Search", "csgraph/breadth_first.cu",
    spans="P", neighbours="P", sources="P", levels="P", parents="P", queue="P", tails="P", meetings="P",
    hand_over="P", source_count="i", dead_end="i", n="i", most_items="I",
)  # fmt: skip
# Threads of a block in a search of a pattern.
BLOCK = 1024
# Rows of so many lanes make wide fronts: all multiprocessors work on them.
MANY_LANES = 16
MOST_BLOCKS = 2**16

# Beyond all vertices where it is read without a sign.
NO_PREDECESSOR = -9999


def bfs_levels(pattern, source):
    """The least number of stored entries on a way from the source, -1 where there is none."""
    return _search_pattern(pattern, row_lists.plain_rows(pattern), source, None)


def breadth_first_order(pattern, source, with_predecessors):
    """The vertices that can be reached by (level, index), and the lowest predecessor of each or None."""
    rows = row_lists.plain_rows(pattern)
    predecessors = cupy.full(pattern.n, NO_PREDECESSOR, np.int32) if with_predecessors else None
    levels = _search_pattern(pattern, rows, source, predecessors)
    order = cupy.argsort(levels.view(np.uint32), kind="stable")  # those that are not reached come last
    count = cupy.zeros(1, np.uint64)
    launch(
        kernels("csgraph/breadth_first", cooperative=True, **rows.macros).count_reached,
        (levels, pattern.n, count),
    )
    return order[: int(count[0])].astype(np.int32), predecessors  # stall: the caller gets no more


def _search_pattern(pattern, rows, source, parents):
    levels = cupy.empty(pattern.n, np.int32)
    blocks = MOST_BLOCKS if rows.width >= MANY_LANES else None
    options = {"parents": parents, "both_ways": pattern.symmetric, "dead_end": 0}
    sources = cupy.full(1, source, np.int32)
    search(rows, sources, levels, queue_for(rows), **options, blocks=blocks, block=BLOCK)
    return levels


def queue_for(rows):
    """Room for all pieces of all rows."""
    return cupy.empty(ITEM_BYTES * rows.most_items, np.uint8)


def search(rows, sources, levels, queue, parents=None, both_ways=True, dead_end=1, **sizes):
    """Fill the levels of all vertices that can be reached from the sources, -1 elsewhere.

    `parents`, if given, are `NO_PREDECESSOR` and become the lowest predecessors of those that have one.
    """
    meeting = Meeting(rows.width, **sizes)
    levels.fill(-1)
    arguments = SEARCH(
        spans=rows.spans, neighbours=rows.neighbours, sources=sources, levels=levels, parents=parents,
        queue=queue, tails=meeting.tail, meetings=meeting.meetings, hand_over=meeting.hand_over,
        source_count=sources.size, dead_end=dead_end, n=levels.size,
        most_items=rows.most_items if both_ways else 0,
    )  # fmt: skip
    meeting.launch(kernels("csgraph/breadth_first", cooperative=True, **rows.macros).search, arguments)


def rim_vertices(rows, components, labels, start=None, queue=None):
    """A start for every component: `start` in its own, a pseudo-peripheral vertex in the others.

    Also returns the greatest depth that a search found, 0 where there was none.
    """
    if start is not None and components == 1:
        return cupy.asarray([start], np.int32), 0
    program = kernels("csgraph/breadth_first", cooperative=True, **rows.macros)
    n = rows.by_rank.size
    deepest = cupy.zeros(components, np.uint64)
    starts, sources, depths = (cupy.empty(components, np.int32) for _ in range(3))
    # The first candidate is the lowest-degree vertex.
    launch(program.find_deepest, (0, labels, rows.ranks, n, deepest))
    launch(program.first_sources, (deepest, rows.by_rank, components, starts, sources, depths))
    if start is not None:
        own = labels[start : start + 1]
        starts[own], sources[own] = start, -1
    levels, report = cupy.empty(n, np.int32), cupy.empty(2, np.uint32)
    queue = queue_for(rows) if queue is None else queue
    depth, going = 0, True
    while going:
        search(rows, sources, levels, queue)
        launch(program.find_deepest, (levels, labels, rows.ranks, n, deepest))
        report.fill(0)
        arguments = deepest, rows.by_rank, components, starts, sources, depths, report
        launch(program.judge, arguments)
        going, deeper = map(int, report.get())  # stall: a round more, or the last one
        depth = max(depth, deeper)
    return starts, depth
