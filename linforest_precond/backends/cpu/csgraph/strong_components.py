"""Strongly connected components: one after the other, or by forward-backward searches in all regions at once.

One after the other by a variant of Tarjan's algorithm: D. Pearce, "A space-efficient algorithm for finding
strongly connected components", Inf. Process. Lett. 116 (2016), https://doi.org/10.1016/j.ipl.2015.08.010.

Forward-backward: D. Coppersmith, L. Fleischer, B. Hendrickson, A. Pinar, "A divide-and-conquer algorithm for
identifying strongly connected components" (2006): the vertices that a pivot reaches and that reach the pivot
are its component. No other component has vertices both inside and outside of either set, so the rest falls
apart into regions that are searched independently. Trimming: W. McLendon, B. Hendrickson, S. Plimpton,
L. Rauchwerger, "Finding strongly connected components in distributed graphs", J. Parallel Distrib. Comput. 65
(2005), https://doi.org/10.1016/j.jpdc.2005.03.007.
"""

import dataclasses

import numpy as np
from numba import prange

from ..matrix.entries import rows_of, transposed, wide_pattern
from ..runtime.arrays import number_by_first
from ..runtime.atomics import relaxed_load, relaxed_store
from ..runtime.hashing import vertices_in_order
from ..runtime.jit import helper, kernel
from .breadth_first import search
from .components import labels_of_roots, weak_components

NOT_VISITED = 0
# The first component; the next ones count down and stay above all visit numbers.
FIRST_COMPONENT = np.iinfo(np.int32).max
ONE = np.uint64(1)
# The class of vertices whose component is known, and the root of those whose component is not.
SETTLED, NO_ROOT = -1, -1
# Vertices that one thread takes at a time. A round must find 1 / MANY_FOUND of the vertices that are left, or
# else the pattern is transposed.
CHUNK, MANY_FOUND = 256, 8


def strong_components(pattern):
    """The number of components and each vertex's, numbered by their lowest vertices."""
    n = pattern.n
    indptr, indices, _ = wide_pattern(pattern)
    numbers = np.full(n, NOT_VISITED, np.int32)
    path, visits, finished, slots = *np.empty((3, n), np.int32), np.empty(n, np.int64)
    count = find_components(indptr, indices, numbers, path, visits, finished, slots)
    np.subtract(FIRST_COMPONENT, numbers, out=numbers)
    number_by_first(numbers, np.full(count, -1, np.int32))
    return count, numbers


# A depth-first search. `numbers` holds the low link of a vertex, the lowest visit number that it is known to
# reach, and later its component. `path`, `slots` and `visits` are the stack of the search: the vertices, the
# next entries of their rows, and their visit numbers. Returns the number of components.
@kernel
def find_components(indptr, indices, numbers, path, visits, finished, slots):
    component, next_visit, count = FIRST_COMPONENT, 0, 0
    for start in range(numbers.size):
        if numbers[start] != NOT_VISITED:
            continue
        depth, v, slot = 0, np.uint64(start), np.uint64(indptr[start])
        next_visit += 1
        numbers[v] = visit = low = next_visit
        while True:
            end = np.uint64(indptr[v + ONE])
            while slot < end:
                u = np.uint64(indices[slot])
                slot += ONE
                number = np.int64(numbers[u])
                if number == NOT_VISITED:
                    numbers[v] = low
                    path[depth], slots[depth], visits[depth] = v, slot, visit
                    depth += 1
                    v, slot, end = u, np.uint64(indptr[u]), np.uint64(indptr[u + ONE])
                    next_visit += 1
                    numbers[v] = visit = low = next_visit
                elif number < low:
                    low = number
            if low == visit:
                left = pop_component(numbers, finished, count, visit, component)
                next_visit, count = next_visit - (count - left) - 1, left
                low = component
                component -= 1
            else:
                finished[count] = v
                count += 1
            numbers[v] = low
            if depth == 0:
                break
            depth -= 1
            v, slot, visit = np.uint64(path[depth]), np.uint64(slots[depth]), np.int64(visits[depth])
            low = min(low, np.int64(numbers[v]))
    return FIRST_COMPONENT - component


# The vertex of this visit number reaches no earlier one: it and the finished vertices whose low links are not
# below it are a component. Returns how many finished vertices have none yet.
@helper
def pop_component(numbers, finished, count, visit, component):
    while count > 0 and numbers[finished[count - 1]] >= visit:
        count -= 1
        numbers[finished[count]] = component
    return count


def forward_backward_components(pattern):
    """The number of components and each vertex's, numbered by their lowest vertices.

    In a random order of the vertices, the first one of every region is its pivot. Regions are the weak
    components of the edges that are left, so separate pieces of a graph need no rounds of their own. Vertices
    that no edge enters, or none leaves, are components (trimming).
    """
    forward, backward = pattern, None
    roots, regions, count = np.full(pattern.n, NO_ROOT, np.int32), np.zeros(pattern.n, np.int32), 1
    left = vertices_in_order(np.zeros(pattern.n, np.uint8), 0)
    while True:
        pivots = _first_of_each(regions, left, count)
        pivots = pivots[pivots >= 0]
        ahead = search(forward, pivots)[0] >= 0
        behind, backward = _reaching(forward, backward, pivots)
        _settle(regions, np.flatnonzero(ahead & behind & (roots == NO_ROOT)), count, roots)
        left = left[roots[left] == NO_ROOT]
        if not left.size:
            return labels_of_roots(roots)
        backward = _transposed(forward) if backward is None else backward
        is_trimmed = (_row_lengths(forward)[left] == 0) | (_row_lengths(backward)[left] == 0)
        roots[left[is_trimmed]] = left[is_trimmed]
        left = left[~is_trimmed]
        if not left.size:
            return labels_of_roots(roots)
        classes = np.where(roots == NO_ROOT, ahead + 2 * behind, SETTLED).astype(np.int8)
        forward, backward = _edges_within(forward, classes), _edges_within(backward, classes)
        count, regions = weak_components(forward)


def _reaching(forward, backward, pivots):
    """Which vertices reach a pivot, and the transposed pattern, if it is known or was needed.

    While rounds find many vertices, each vertex looks for a successor that reaches a pivot: in a dense graph
    it is among the first ones, and the pattern need not be transposed.
    """
    if backward is None:
        reached = np.zeros(forward.n, np.uint8)
        reached[pivots] = 1
        left, found = forward.n - pivots.size, np.empty(-(-forward.n // CHUNK), np.int64)
        indptr, indices, _ = wide_pattern(forward)
        while left:
            pull_reached(indptr, indices, reached, found)
            new = int(found.sum())
            left -= new
            if new == 0:
                break
            if new * MANY_FOUND < left:
                backward = _transposed(forward)
                pivots = np.flatnonzero(reached).astype(np.int32)
                break
    if backward is not None:
        return search(backward, pivots)[0] >= 0, backward
    return reached != 0, None


# Each vertex that is not marked looks for a marked successor, and is marked, too. Counts those of each chunk.
# Marks of the same round may be seen or not: the rounds end with the same marks.
@kernel(parallel=True)
def pull_reached(indptr, indices, reached, found):
    for chunk in prange(found.size):
        count = 0
        for v in range(chunk * CHUNK, min((chunk + 1) * CHUNK, reached.size)):
            if relaxed_load(reached, v) != 0:
                continue
            for slot in range(np.uint64(indptr[v]), np.uint64(indptr[v + 1])):
                if relaxed_load(reached, np.uint64(indices[slot])) != 0:
                    relaxed_store(reached, v, 1)
                    count += 1
                    break
        found[chunk] = count


def _first_of_each(regions, vertices, count):
    """The first of the vertices in each region, -1 where there is none."""
    first = np.full(count, -1, np.int32)
    first[regions[vertices[::-1]]] = vertices[::-1]  # in reverse, so the first one remains
    return first


def _settle(regions, found, count, roots):
    """Set the root of each component that was found, its lowest vertex; a region has one component."""
    roots[found] = _first_of_each(regions, found, count)[regions[found]]


def _row_lengths(pattern):
    return np.diff(pattern.indptr)


def _transposed(pattern):
    no_values = np.zeros(pattern.nnz, np.int8)
    indptr, indices, _ = transposed(pattern.indptr, pattern.indices, no_values)
    return _with_edges(pattern, indptr, indices)


def _edges_within(pattern, classes):
    """The pattern without the edges of settled vertices, between classes and of vertices to themselves."""
    rows, columns = rows_of(pattern.indptr, pattern.nnz), pattern.indices
    kept = (classes[rows] == classes[columns]) & (classes[rows] != SETTLED) & (rows != columns)
    before = np.zeros(pattern.nnz + 1, pattern.indptr.dtype)
    np.cumsum(kept, out=before[1:])
    return _with_edges(pattern, before[pattern.indptr], columns[kept])


def _with_edges(pattern, indptr, indices):
    """A directed pattern of other edges, for searches: they read neither degrees nor the longest row."""
    return dataclasses.replace(pattern, indptr=indptr, indices=indices, symmetric=False)
