"""From a [0,2]-factor to a linear forest by one sequential walk along its paths and cycles, and its ordering.

The ordering of a forest is its vertices sorted by (path id, position).
"""

import numpy as np

from linforest_precond.backends.returns import ForestArrays

from ..runtime.arrays import NO_VERTEX
from ..runtime.jit import helper, kernel


def linear_forest(neighbors, values, slots, in_place=False):
    """Break the cycles and rank the paths; the factor's own arrays are changed only if `in_place`."""
    neighbors, values, slots = factor_arrays(neighbors, values, slots, in_place)
    # An empty table instead of None, so that one compiled kernel serves both.
    kept_slots = np.empty((0, 2), neighbors.dtype) if slots is None else slots
    path_id = np.full(neighbors.shape[0], NO_VERTEX, neighbors.dtype)
    position, lengths = np.empty_like(path_id), np.zeros_like(path_id)
    counts = walk(neighbors, values, kept_slots, path_id, position, lengths)
    return ForestArrays(neighbors, values, slots, path_id, position, lengths, np.array(counts))


def most_lost(neighbors, values):
    """The lighter edge of each vertex below both of its neighbours, 0 elsewhere.

    Every cycle has such a vertex, and loses no heavier edge when it is broken.
    """
    low, high = np.abs(values).T
    lowest = neighbors[:, 0] > np.arange(neighbors.shape[0])  # neighbours ascend
    return np.where(lowest & (neighbors[:, 1] != NO_VERTEX), np.minimum(low, high), values.dtype.type(0))


def factor_arrays(neighbors, values, slots, in_place):
    """The arrays of a factor, writable: its own, or copies."""
    own = _writable if in_place else np.copy
    return [None if array is None else own(array) for array in (neighbors, values, slots)]


def _writable(array):
    """The array of a record, which holds read-only views."""
    view = array.view()
    view.flags.writeable = True
    return view


# Follows every path from its smaller end. Vertices left over are on cycles: each cycle loses its weakest edge
# and is followed as a path.
@kernel(parallel=False)
def walk(neighbors, values, slots, path_id, position, lengths):
    n_paths = longest_path = n_cycles_broken = 0
    for v in range(path_id.size):
        # A path end has no second neighbor; the smaller of the two ends is visited first.
        if path_id[v] == NO_VERTEX and neighbors[v, 1] == NO_VERTEX:
            longest_path = max(longest_path, follow_path(neighbors, path_id, position, lengths, v))
            n_paths += 1
    for v in range(path_id.size):
        if path_id[v] == NO_VERTEX:
            low, high = weakest_edge(neighbors, values, v)
            remove(neighbors, values, slots, low, high)
            remove(neighbors, values, slots, high, low)
            longest_path = max(longest_path, follow_path(neighbors, path_id, position, lengths, low))
            n_paths += 1
            n_cycles_broken += 1
    return n_paths, longest_path, n_cycles_broken


# Gives the vertices of a path their positions, from this end to the other; returns the length.
@helper
def follow_path(neighbors, path_id, position, lengths, path_end):
    previous, v = np.int64(NO_VERTEX), np.int64(path_end)
    length = 0
    while v != NO_VERTEX:
        length += 1
        path_id[v], position[v] = path_end, length
        previous, v = v, other_neighbor(neighbors, v, previous)
    lengths[path_end] = length
    return length


# The next vertex of a walk that came from `previous`; the two neighbors of a vertex differ.
@helper
def other_neighbor(neighbors, v, previous):
    first = np.int64(neighbors[v, 0])
    return first if first != previous else np.int64(neighbors[v, 1])


# The edge of a cycle with the least (weight, min, max).
@helper
def weakest_edge(neighbors, values, start):
    previous, v = np.int64(start), np.int64(neighbors[start, 0])
    weakest, low, high = abs(values[start, 0]), min(previous, v), max(previous, v)
    while v != start:
        side = 0 if neighbors[v, 0] != previous else 1
        previous, v = v, np.int64(neighbors[v, side])
        weight, small, large = abs(values[previous, side]), min(previous, v), max(previous, v)
        if weight < weakest or (weight == weakest and (small < low or (small == low and large < high))):
            weakest, low, high = weight, small, large
    return low, high


# Removes w from v's row; the other neighbor moves to the front.
@helper
def remove(neighbors, values, slots, v, w):
    if neighbors[v, 0] == w:
        neighbors[v, 0], values[v, 0] = neighbors[v, 1], values[v, 1]
        if slots.size > 0:
            slots[v, 0] = slots[v, 1]
    neighbors[v, 1], values[v, 1] = NO_VERTEX, 0
    if slots.size > 0:
        slots[v, 1] = NO_VERTEX


def order_by_scan(path_id, position, lengths):
    """Sort by a prefix sum of the path lengths: a vertex's rank is its path's start plus its position."""
    order, rank = np.empty_like(path_id), np.empty_like(path_id)
    starts = np.cumsum(lengths, dtype=lengths.dtype) - lengths
    place(path_id, position, starts, order, rank)
    return order, rank


def order_by_radix_sort(path_id, position, lengths):
    """LSD radix sort of the words (path id, position), by digits of 16 bits: NumPy's stable sort of them."""
    order = np.arange(path_id.size, dtype=path_id.dtype)
    for half in (position, path_id):
        for shift in range(0, path_id.size.bit_length(), 16):
            digits = (half[order] >> shift).astype(np.uint16)
            order = order[np.argsort(digits, kind="stable")]
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size, dtype=order.dtype)
    return order, rank


# The rank of a vertex is the start of its path plus its position, counted from 1.
@kernel(parallel=False)
def place(path_id, position, starts, order, rank):
    for v in range(path_id.size):
        rank[v] = starts[path_id[v]] + position[v] - 1
        order[rank[v]] = v
