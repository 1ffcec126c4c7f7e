"""The Cuthill-McKee order by a pipeline of levels, after an unordered breadth-first search.

K. I. Karantasis, A. Lenharth, D. Nguyen, M. J. Garzarán, K. Pingali, "Parallelization of reordering
algorithms for bandwidth and wavefront reduction", SC 2014; Algorithm 3 of Mlakar et al., IPDPS 2021. The
search gives the depth of each vertex, and so the positions at which each level begins. Then one thread
processes a level: it takes the vertices in the order in which the thread of the level above writes them, and
writes their children. These are one level deeper, and no other thread numbers vertices of that level. So the
order is that of the serial algorithm.

Threads take levels in ascending order and wait for the level above only, so a single thread can always
finish.
"""

import numpy as np

from ..csgraph.breadth_first import search
from ..matrix.entries import wide_pattern
from ..runtime.arrays import readonly
from ..runtime.atomics import fetch_add, give_way, load, store
from ..runtime.jit import helper, kernel
from .batch_stages import SPINS
from .batch_state import LINE
from .child_order import INSERTION_LIMIT, ONE, ZERO, append_sorted, index, insert, sort_key
from .rcm_batch import available_threads, run_workers

# The shared counters: levels taken, and a flag for an error.
TAKEN, BROKEN = 0, LINE
NUMBERED = -1


def unordered(pattern, starts, threads=None):
    """The order of all reachable vertices, the starts first; components are interleaved."""
    depths, reached, offsets = search(pattern, starts)
    order = np.full(reached.size, -1, np.int32)
    order[: starts.size] = starts
    counters = np.zeros(2 * LINE, np.int64)
    arguments = *wide_pattern(pattern), depths, readonly(offsets), order, counters
    run_workers(threads or available_threads(), lambda _: process_levels(*arguments), counters, BROKEN)
    if counters[BROKEN]:
        raise RuntimeError('the levels of the Cuthill-McKee order are inconsistent; use method="serial"')
    return order


# A worker: takes levels until none with children is left.
@kernel(nogil=True)
def process_levels(indptr, indices, degrees, depths, offsets, order, counters):
    while True:
        level = fetch_add(counters, TAKEN, 1)
        if level >= offsets.size - 2:
            return
        if not number_level(indptr, indices, degrees, depths, offsets, order, counters, level):
            store(counters, BROKEN, 1)
            return


# Number the vertices one level deeper; a numbered vertex loses its depth. False after an error elsewhere, or
# if some of them have no neighbour on this level.
@helper
def number_level(indptr, indices, degrees, depths, offsets, order, counters, level):
    keys, found = np.empty(INSERTION_LIMIT, np.int32), np.empty(INSERTION_LIMIT, np.int32)
    tail, end = index(offsets[level + 1]), index(offsets[level + 2])
    deeper = np.int32(level + 1)
    for position in range(index(offsets[level]), index(offsets[level + 1])):
        if tail == end:
            break
        v = load(order, position)
        if v < 0:
            v = wait_for_vertex(order, position, counters)
        if v < 0:
            return False
        row, row_end = index(indptr[index(v)]), index(indptr[index(v) + ONE])
        if row_end - row > INSERTION_LIMIT:
            tail = append_long_row(indices[row:row_end], degrees, depths, deeper, order, tail)
            continue
        count = ZERO
        for slot in range(row, row_end):
            u = index(indices[slot])
            if load(depths, u) == deeper:
                store(depths, u, NUMBERED)
                insert(np.int32(u), degrees[u], found, ZERO, keys, count)
                count += ONE
        for i in range(count):
            store(order, tail + i, found[i])
        tail += count
    return tail == end


@helper
def append_long_row(row, degrees, depths, deeper, order, tail):
    keys = np.empty(row.size, np.int64)
    count = 0
    for v in row:
        if load(depths, v) == deeper:
            store(depths, v, NUMBERED)
            keys[count] = sort_key(degrees[v], v)
            count += 1
    append_sorted(keys[:count], order, tail)
    return tail + index(count)


@helper
def wait_for_vertex(order, position, counters):
    while True:
        for _ in range(SPINS):
            v = load(order, position)
            if v >= 0:
                return v
        if load(counters, BROKEN) != 0:
            return np.int32(-1)
        give_way()
