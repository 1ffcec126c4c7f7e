"""The level-synchronous Cuthill-McKee order: one frontier after the other, each by all threads.

`marks[v]` is the lowest position of a numbered neighbour of v. Once all positions of a frontier have marked
their neighbours, the children of position i are its neighbours with mark i: minima decide the parents, so the
order does not depend on the threads' timing.
"""

import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.atomics import fetch_min, load
from ..runtime.jit import helper, kernel
from .child_order import INSERTION_LIMIT, ONE, ZERO, append_sorted, index, insert, sort_key

NO_MARK = 2**31 - 1
START = -1
# Positions of a frontier that one thread takes at a time.
CHUNK = 128
# A frontier of fewer vertices is processed by one thread: starting the others takes longer.
NARROW = 1024


def leveled(pattern, starts):
    """The order of all reachable vertices, the starts first; components are interleaved."""
    order, marks = initial_state(pattern, starts)
    return order[: number_frontiers(*wide_pattern(pattern), order, marks, starts.size)]


def initial_state(pattern, starts):
    """The order with the starts' positions filled, -1 elsewhere, and the marks."""
    order, marks = np.full(pattern.n, -1, np.int32), np.full(pattern.n, NO_MARK, np.int32)
    order[: starts.size] = starts
    marks[starts] = START
    return order, marks


# Number frontier after frontier until no vertex is left or reachable; returns the number of positions filled.
@kernel(parallel=True)
def number_frontiers(indptr, indices, degrees, order, marks, end):
    begin = np.int64(0)
    mark_neighbours(indptr, indices, order, marks, begin, end)
    counts = np.empty(order.size // CHUNK + 1, np.int64)
    while begin < end < order.size:
        if end - begin < NARROW:
            new_end = number_children(indptr, indices, degrees, order, marks, begin, end, end)
        else:
            chunks = (end - begin + CHUNK - 1) // CHUNK
            for chunk in prange(chunks):
                first = begin + chunk * CHUNK
                counts[chunk] = count_children(indptr, indices, order, marks, first, min(first + CHUNK, end))
            # Exclusive scan: where each chunk writes its children.
            new_end = end
            for chunk in range(chunks):
                new_end, counts[chunk] = new_end + counts[chunk], new_end
            for chunk in prange(chunks):
                first, last = begin + chunk * CHUNK, min(begin + (chunk + 1) * CHUNK, end)
                number_children(indptr, indices, degrees, order, marks, first, last, counts[chunk])
        begin, end = end, new_end
    return end


@helper
def count_children(indptr, indices, order, marks, begin, end):
    count = 0
    for position in range(begin, end):
        v = index(order[position])
        for slot in range(index(indptr[v]), index(indptr[v + ONE])):
            count += load(marks, index(indices[slot])) == position
    return count


# Write the children of a range of positions from `tail` on and mark their neighbours in turn. These marks are
# above those of the current frontier, so other threads may still be searching for its children. Returns the
# new tail.
@helper
def number_children(indptr, indices, degrees, order, marks, begin, end, tail):
    keys = np.empty(INSERTION_LIMIT, np.int32)
    tail = index(tail)
    for position in range(begin, end):
        v = index(order[position])
        row, row_end = index(indptr[v]), index(indptr[v + ONE])
        if row_end - row > INSERTION_LIMIT:
            count = number_long_row(indices[row:row_end], degrees, order, marks, position, tail)
        else:
            count = ZERO
            for slot in range(row, row_end):
                u = index(indices[slot])
                if load(marks, u) == position:
                    insert(np.int32(u), degrees[u], order, tail, keys, count)
                    count += ONE
        mark_neighbours(indptr, indices, order, marks, np.int64(tail), np.int64(tail + count))
        tail += count
    return np.int64(tail)


@helper
def number_long_row(row, degrees, order, marks, position, tail):
    keys = np.empty(row.size, np.int64)
    count = 0
    for v in row:
        if load(marks, v) == position:
            keys[count] = sort_key(degrees[v], v)
            count += 1
    append_sorted(keys[:count], order, tail)
    return index(count)


@helper
def mark_neighbours(indptr, indices, order, marks, begin, end):
    for position in range(begin, end):
        v = index(order[position])
        for slot in range(index(indptr[v]), index(indptr[v + ONE])):
            u = index(indices[slot])
            if load(marks, u) > position:
                fetch_min(marks, u, position)
