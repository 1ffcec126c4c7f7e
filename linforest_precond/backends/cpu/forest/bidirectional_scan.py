"""From a [0,2]-factor to a linear forest by bidirectional scans: Klein & Strzodka (2022), section 3.3.

A scan doubles the strides of all vertices ceil(log2 N) times, in both directions of their path or cycle. The
first scan finds the weakest edge of each cycle, the second one (Algorithm 3) the ends of each path and the
distances to them. The stride of a vertex leads to another vertex, or to an end of the path, stored as
-(end + 1). Paths have no direction: side 0 and side 1 of a vertex are those of its row of neighbours.
"""

import numpy as np
from numba import prange

from linforest_precond.backends.returns import ForestArrays

from ..runtime.arrays import NO_VERTEX
from ..runtime.jit import helper, kernel
from .linear_forest import factor_arrays, remove

# The weakest edge of no edges at all: weight and ends.
NO_EDGE = np.uint64(2**64 - 1)
SHIFT_32 = np.uint64(32)


def linear_forest(neighbors, values, slots, in_place=False):
    """Break the cycles and label the paths; the factor's own arrays are changed only if `in_place`."""
    neighbors, values, slots, cycles = break_cycles(neighbors, values, slots, in_place)
    path_id, position, lengths = label_paths(neighbors)
    counts = np.count_nonzero(lengths), lengths.max(initial=0), cycles
    return ForestArrays(neighbors, values, slots, path_id, position, lengths, np.array(counts))


def break_cycles(neighbors, values, slots, in_place=False):
    """Remove the weakest edge of each cycle; the number of cycles is the last result.

    The operator of the scan is the minimum of edges by (weight, smaller end, larger end).
    """
    neighbors, values, slots = factor_arrays(neighbors, values, slots, in_place)
    scan = begin_cycle_scan(neighbors, values)
    other = tuple(map(np.empty_like, scan))
    for _ in range(scan_steps(neighbors.shape[0])):
        cycle_scan_step(*scan, *other)
        scan, other = other, scan
    kept_slots = np.empty((0, 2), neighbors.dtype) if slots is None else slots
    cycles = cut_weakest_edges(*scan, neighbors, values, kept_slots)
    return neighbors, values, slots, cycles


def label_paths(neighbors):
    """Path ids, positions, and the length of each path at its id; the factor has no cycles.

    Algorithm 3. The operator of the scan is addition.
    """
    strides = np.where(neighbors == NO_VERTEX, path_ends(neighbors), neighbors)
    scan = strides, np.ones_like(strides)
    other = tuple(map(np.empty_like, scan))
    for _ in range(scan_steps(neighbors.shape[0])):
        path_scan_step(*scan, *other)
        scan, other = other, scan
    return label_by_ends(*scan)


def scan_steps(n):
    """Steps after which a stride has passed n vertices: ceil(log2(n))."""
    return max(n - 1, 0).bit_length()


def path_ends(neighbors):
    """Each vertex as the end of its path, as a column."""
    return (-1 - np.arange(neighbors.shape[0], dtype=neighbors.dtype)).reshape(-1, 1)


def begin_cycle_scan(neighbors, values):
    """The strides of length 1, and the weights and ends of their edges.

    Weights are the bits of magnitudes, which are ordered as they are. The ends of an edge are one word, the
    smaller one in its upper half. An edge has the lesser of the weights at its ends, so that a user's factor
    with two different ones has one weakest edge of each cycle, too.
    """
    present = neighbors != NO_VERTEX
    strides = np.where(present, neighbors, path_ends(neighbors))
    own = np.abs(values).view(f"u{values.itemsize}").astype(np.uint64)
    weights, ends = np.full(own.shape, NO_EDGE), np.full(own.shape, NO_EDGE)
    vertices, sides = np.nonzero(present)
    across = neighbors[vertices, sides]
    back = (neighbors[across, 1] == vertices).astype(np.intp)
    weights[vertices, sides] = np.minimum(own[vertices, sides], own[across, back])
    low, high = np.minimum(vertices, across), np.maximum(vertices, across)
    ends[vertices, sides] = low.astype(np.uint64) << SHIFT_32 | high.astype(np.uint64)
    return strides, weights, ends


# One step of the first scan: on each side, the stride of the vertex that is reached is appended. On a cycle
# whose length is a power of two, both strides end at the opposite vertex, and cover the cycle together.
@kernel(parallel=True)
def cycle_scan_step(strides, weights, ends, next_strides, next_weights, next_ends):
    for i in prange(strides.shape[0]):
        v = np.int64(i)
        for side in range(2):
            reached, weight, edge = strides[v, side], weights[v, side], ends[v, side]
            if strides[v, side] >= 0:
                w = np.int64(strides[v, side])
                for j in range(2):
                    if strides[w, j] != v:
                        reached = strides[w, j]
                        if is_weaker(weights[w, j], ends[w, j], weight, edge):
                            weight, edge = weights[w, j], ends[w, j]
            next_strides[v, side], next_weights[v, side], next_ends[v, side] = reached, weight, edge


@helper
def is_weaker(weight, edge, other_weight, other_edge):
    return weight < other_weight or (weight == other_weight and edge < other_edge)


# Removes the weakest edge of each cycle: vertices whose strides have not come to an end are on cycles.
# Returns the number of cycles.
@kernel(parallel=False)
def cut_weakest_edges(strides, weights, ends, neighbors, values, slots):
    cycles = 0
    for v in range(strides.shape[0]):
        if strides[v, 0] < 0:
            continue
        edge = ends[v, 0]
        if is_weaker(weights[v, 1], ends[v, 1], weights[v, 0], edge):
            edge = ends[v, 1]
        low, high = np.int64(edge >> SHIFT_32), np.int64(np.uint32(edge))
        if v == low:
            remove(neighbors, values, slots, low, high)
            cycles += 1
        elif v == high:
            remove(neighbors, values, slots, high, low)
    return cycles


# One step of Algorithm 3: on each side, the stride of the vertex that is reached is appended, and the
# distances are added.
@kernel(parallel=True)
def path_scan_step(strides, positions, next_strides, next_positions):
    for i in prange(strides.shape[0]):
        v = np.int64(i)
        for side in range(2):
            reached, position = strides[v, side], positions[v, side]
            if strides[v, side] >= 0:
                w = np.int64(strides[v, side])
                for j in range(2):
                    if strides[w, j] != v:
                        reached, position = strides[w, j], position + positions[w, j]
            next_strides[v, side], next_positions[v, side] = reached, position


def label_by_ends(strides, positions):
    """The smaller end of its path is the id of a vertex, and the distance to it its position."""
    ends, vertices = -1 - strides, np.arange(strides.shape[0], dtype=strides.dtype)
    nearer = (ends[:, 1] < ends[:, 0]).astype(np.intp)
    path_id, position = ends[vertices, nearer], positions[vertices, nearer]
    lengths = np.where(path_id == vertices, positions.sum(axis=1) - 1, 0).astype(strides.dtype)
    return path_id, position, lengths
