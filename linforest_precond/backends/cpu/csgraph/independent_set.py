"""Maximal independent sets: vertices in a fixed order, each one taken that is far enough from all before."""

import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.atomics import load, store
from ..runtime.hashing import iteration_keys, vertex_hash
from ..runtime.jit import helper, kernel
from .vertex_order import bit_lengths, vertices_in_order

# The places of vertices that are decided: before all others, and behind them.
MEMBER, LEFT_OUT = np.uint32(0), np.uint32(0xFFFFFFFF)
DEGREE_SHIFT, STEP_32, STEP_64 = np.uint32(27), np.uint32(1), np.uint64(1)
# Vertices that one thread takes at a time.
CHUNK = 1024
# Fewer undecided vertices are left to one thread: to wake the others takes longer.
NARROW = 8192


def independent_set(pattern, k, seed):
    """1 for the vertices of the set, 0 for the others."""
    return without_neighbours(pattern, seed) if k == 1 else far_apart(pattern, k, seed)


def without_neighbours(pattern, seed):
    """The set for k = 1, where nothing need be sorted."""
    indptr, indices, degrees = wide_pattern(pattern)
    _, tie_key = iteration_keys(seed, 0)
    places, undecided = np.empty(pattern.n, np.uint32), np.empty(pattern.n, np.int32)
    counts = np.diff(np.append(np.arange(0, pattern.n, CHUNK), pattern.n))
    decide_all(indptr, indices, degrees, tie_key, places, undecided, counts)
    return (places == MEMBER).astype(np.int32)


def far_apart(pattern, k, seed):
    """The set for any k."""
    indptr, indices, degrees = wide_pattern(pattern)
    order = vertices_in_order(bit_lengths(degrees), seed)
    distances = np.full(pattern.n, k + 1, np.int32)
    take_vertices(indptr, indices, order, k, distances, np.empty(pattern.n, np.int32))
    return (distances == 0).astype(np.int32)


# Luby's rounds: whoever comes before all undecided neighbours joins, and leaves them out. Threads see one
# another's decisions sooner or later, but no decision depends on when: each follows from final ones.
@kernel(parallel=True)
def decide_all(indptr, indices, degrees, tie_key, places, undecided, counts):
    for v in prange(places.size):
        places[v] = place_of(v, degrees[v], tie_key)
        undecided[v] = v
    left = places.size
    while left > 0:
        narrow, left = left < NARROW, 0
        if narrow:
            for chunk in range(counts.size):
                left += decide(indptr, indices, places, undecided, counts, chunk)
        else:
            for chunk in prange(counts.size):
                left += decide(indptr, indices, places, undecided, counts, chunk)


# Where a vertex stands in the order: five bits for the floor of its degree's logarithm, which is the exponent
# of that number, and 27 of a hash; plus one, because 0 is for members. Who has no neighbours is a member.
@helper
def place_of(v, degree, tie_key):
    if degree == 0:
        return MEMBER
    logarithm = np.uint32((np.float64(degree).view(np.int64) >> 52) - 1023)
    return np.uint32((logarithm << DEGREE_SHIFT | vertex_hash(v, tie_key)) + STEP_32)


# One round of a chunk. Those who stay undecided move to its front; gives their number.
@helper
def decide(indptr, indices, places, undecided, counts, chunk):
    vertices = undecided[chunk * CHUNK : chunk * CHUNK + counts[chunk]]
    left = 0
    for vertex in vertices:
        v = np.uint64(vertex)
        own = load(places, v)
        if own == MEMBER or own == LEFT_OUT:
            continue
        begin, end = np.uint64(indptr[v]), np.uint64(indptr[v + STEP_64])
        if is_first(indices, places, v, own, begin, end):
            join(indices, places, v, begin, end)
        else:
            vertices[left] = vertex
            left += 1
    counts[chunk] = left
    return left


# Whether nobody around a vertex comes before it: no member, and none that may become one.
@helper
def is_first(indices, places, v, own, begin, end):
    for slot in range(begin, end):
        u = np.uint64(indices[slot])
        place = load(places, u)
        if place < own or (place == own and u < v):
            return False
    return True


# The vertex itself is never left out, not for a moment: its neighbours may look at it just then.
@helper
def join(indices, places, v, begin, end):
    store(places, v, MEMBER)
    for slot in range(begin, end):
        u = np.uint64(indices[slot])
        if u != v:
            store(places, u, LEFT_OUT)


# Each vertex in turn that is more than k steps from all taken ones is taken. From there the distances to the
# nearest taken vertex are lowered, breadth first, as far as they fall.
@kernel
def take_vertices(indptr, indices, order, k, distances, queue):
    for v in order:
        if distances[v] <= k:
            continue
        distances[v] = 0
        queue[0] = v
        head, tail = 0, 1
        while head < tail:
            near = queue[head]
            head += 1
            distance = distances[near] + 1
            for slot in range(indptr[near], indptr[near + 1]):
                far = indices[slot]
                if distance < distances[far]:
                    distances[far] = distance
                    if distance < k:
                        queue[tail] = far
                        tail += 1
