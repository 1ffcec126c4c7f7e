"""Maximal independent sets: the greedy set of a fixed vertex order, and sets of Luby's random selections.

For k = 1 the greedy set is found by Luby's rounds with the fixed order as priorities: G. Blelloch,
J. Fineman, J. Shun, "Greedy Sequential Maximal Independent Set and Matching are Parallel on Average", SPAA
2012, https://doi.org/10.1145/2312005.2312058.

M. Luby, "A Simple Parallel Algorithm for the Maximal Independent Set Problem", SIAM J. Comput. 15 (1986),
https://doi.org/10.1137/0215074.
"""

import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.atomics import relaxed_load, relaxed_store
from ..runtime.hashing import (
    GOLDEN,
    VERTEX_STRIDE,
    bit_lengths,
    iteration_keys,
    mix64,
    vertex_hash,
    vertices_in_order,
)
from ..runtime.jit import helper, kernel

# The priorities of decided vertices: before all others, and after them.
MEMBER, EXCLUDED = np.uint32(0), np.uint32(0xFFFFFFFF)
# Over ranks, the states of members and their neighbours, and of vertices two steps from a member. Undecided
# vertices have their keys.
NEAR, EXCLUDED_KEY = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF)
DEGREE_SHIFT, ONE_32, ONE_64 = np.uint32(27), np.uint32(1), np.uint64(1)
# Vertices that one thread takes at a time.
CHUNK = 1024
# Fewer undecided vertices are processed by one thread, in about a millisecond. A barrier takes less, but as
# long where another process holds the core of a thread.
NARROW = 2**15
UNDECIDED = np.uint32(1)
TWO, HALF_WORD = np.uint64(2), np.uint64(32)


def independent_set(pattern, k, seed):
    """1 for the vertices of the set, 0 for the others."""
    return neighbours_apart_set(pattern, seed) if k == 1 else greedy_set(pattern, k, seed)


def neighbours_apart_set(pattern, seed):
    """The set for k = 1, in parallel and without sorting the vertices."""
    indptr, indices, degrees = wide_pattern(pattern)
    _, tie_key = iteration_keys(seed, 0)
    priorities, undecided = np.empty(pattern.n, np.uint32), np.arange(pattern.n, dtype=np.int32)
    fill_priorities(degrees, tie_key, priorities)
    decide_by_priority(indptr, indices, priorities, undecided, chunk_lengths(pattern.n))
    return (priorities == MEMBER).astype(np.int32)


def chunk_lengths(count):
    """The lengths of the chunks of a list of `count` vertices."""
    return np.diff(np.append(np.arange(0, count, CHUNK), count))


def greedy_set(pattern, k, seed):
    """The set for any k, sequentially."""
    indptr, indices, degrees = wide_pattern(pattern)
    order = vertices_in_order(bit_lengths(degrees), seed)
    distances = np.full(pattern.n, k + 1, np.int32)
    select_in_order(indptr, indices, order, k, distances, np.empty(pattern.n, np.int32))
    return (distances == 0).astype(np.int32)


@kernel(parallel=True)
def fill_priorities(degrees, tie_key, priorities):
    for v in prange(priorities.size):
        priorities[v] = priority_of(v, degrees[v], tie_key)


# A vertex that precedes all its undecided neighbours joins the set and excludes them. Threads may see one
# another's decisions late, which only delays theirs: every decision follows from final ones.
@kernel(parallel=True)
def decide_by_priority(indptr, indices, priorities, undecided, counts):
    left = undecided.size
    while left > 0:
        narrow, left = left < NARROW, 0
        if narrow:
            for chunk in range(counts.size):
                left += decide(indptr, indices, priorities, undecided, counts, chunk)
        else:
            for chunk in prange(counts.size):
                left += decide(indptr, indices, priorities, undecided, counts, chunk)


# Five bits of floor(log2(degree)), read from the exponent of the degree as a float64, and 27 of a hash; plus
# one, because 0 is MEMBER. An isolated vertex is a member. Lower values come first.
@helper
def priority_of(v, degree, tie_key):
    if degree == 0:
        return MEMBER
    logarithm = np.uint32((np.float64(degree).view(np.int64) >> 52) - 1023)
    return np.uint32((logarithm << DEGREE_SHIFT | vertex_hash(v, tie_key)) + ONE_32)


# One round of a chunk. Compacts the undecided vertices to its front and returns their number.
@helper
def decide(indptr, indices, priorities, undecided, counts, chunk):
    vertices = undecided[chunk * CHUNK : chunk * CHUNK + counts[chunk]]
    left = 0
    for vertex in vertices:
        v = np.uint64(vertex)
        own = relaxed_load(priorities, v)
        if own == MEMBER or own == EXCLUDED:
            continue
        begin, end = np.uint64(indptr[v]), np.uint64(indptr[v + ONE_64])
        if is_first(indices, priorities, v, own, begin, end):
            join(indices, priorities, v, begin, end)
        else:
            vertices[left] = vertex
            left += 1
    counts[chunk] = left
    return left


# Whether a vertex precedes all its neighbours in the order of (priority, index).
@helper
def is_first(indices, priorities, v, own, begin, end):
    for slot in range(begin, end):
        u = np.uint64(indices[slot])
        priority = relaxed_load(priorities, u)
        if priority < own or (priority == own and u < v):
            return False
    return True


# A diagonal entry must not exclude the new member, not even temporarily: other threads may read its state.
@helper
def join(indices, priorities, v, begin, end):
    relaxed_store(priorities, v, MEMBER)
    for slot in range(begin, end):
        u = np.uint64(indices[slot])
        if u != v:
            relaxed_store(priorities, u, EXCLUDED)


# Select each vertex in order that is more than k steps from all members; a breadth-first search from it then
# lowers the distances to the nearest member.
@kernel
def select_in_order(indptr, indices, order, k, distances, queue):
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


# The greedy set for k = 2 over ranks; own vertices come first, then ghosts. Selects each vertex in `order`
# that precedes all undecided vertices within two steps. Those of other ranks are known by `lowest`, a lower
# bound of the keys in each vertex's neighbourhood; own vertices that stay undecided lower it. Compacts these
# to the front of `order` and returns their number.
@kernel
def select_known(indptr, indices, order, states, lowest, members):
    left = 0
    for vertex in order:
        v = np.int64(vertex)
        begin, end = np.int64(indptr[v]), np.int64(indptr[v + 1])
        if is_near(indices, states, v, begin, end):
            states[v] = EXCLUDED_KEY if states[v] != NEAR else NEAR
        elif precedes(indices, lowest, states[v], v, begin, end):
            states[v], members[v] = NEAR, 1
            for slot in range(begin, end):
                states[indices[slot]] = NEAR
        else:
            lowest[v] = min(lowest[v], states[v])
            for slot in range(begin, end):
                lowest[indices[slot]] = min(lowest[indices[slot]], states[v])
            order[left] = vertex
            left += 1
    return left


# Whether a vertex or a neighbour is a member or next to one.
@helper
def is_near(indices, states, v, begin, end):
    if states[v] == NEAR:
        return True
    for slot in range(begin, end):
        if states[indices[slot]] == NEAR:
            return True
    return False


@helper
def precedes(indices, lowest, key, v, begin, end):
    if lowest[v] < key:
        return False
    for slot in range(begin, end):
        if lowest[indices[slot]] < key:
            return False
    return True


# The lowest key of an undecided vertex among some rows and their neighbours; and among the ghosts of these,
# which are numbered from `own` on.
@kernel
def lowest_keys(indptr, indices, rows, states, own, of_all, of_ghosts):
    for i in range(rows.size):
        row = np.int64(rows[i])
        lowest = EXCLUDED_KEY if states[row] == NEAR else states[row]
        ghost = EXCLUDED_KEY
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            column = np.int64(indices[slot])
            if states[column] != NEAR:
                lowest = min(lowest, states[column])
                if column >= own:
                    ghost = min(ghost, states[column])
        of_all[i], of_ghosts[i] = lowest, ghost


def luby_set(pattern, seed, fewest, patience):
    """1 for the vertices of the set, 0 for the others.

    Vertices are selected at random until fewer than `fewest` are undecided, or none was selected `patience`
    times in succession. From then on all undecided vertices are selected in every round, which gives the
    sequential greedy set by descending (degree, index).
    """
    indptr, indices, degrees = wide_pattern(pattern)
    states = np.where(degrees == 0, MEMBER, UNDECIDED).astype(np.uint32)
    undecided = np.flatnonzero(degrees).astype(np.int32)
    if undecided.size >= fewest:
        marks = np.zeros(pattern.n, np.uint32)
        select_randomly(indptr, indices, degrees, np.uint64(seed), fewest, patience, marks, states, undecided)
        undecided = np.flatnonzero(states == UNDECIDED).astype(np.int32)
    undecided = undecided[np.argsort(degrees[undecided], kind="stable")[::-1]]
    states[undecided] = np.arange(1, undecided.size + 1)  # now priorities
    decide_by_priority(indptr, indices, states, undecided, chunk_lengths(undecided.size))
    return (states == MEMBER).astype(np.int32)


# Rounds of random selections. A vertex is marked with the number of the last round that selected it. Of two
# neighbours that are selected in one round, the one of lower (degree, index) is dropped, whether the other is
# dropped too or not; so no thread depends on another's decisions.
@kernel(parallel=True)
def select_randomly(indptr, indices, degrees, seed, fewest, patience, marks, states, undecided):
    size, failures, number = undecided.size, 0, np.uint32(0)
    while failures < patience:
        number += np.uint32(1)
        key = mix64(seed + GOLDEN * (TWO * np.uint64(number) - ONE_64))
        left = selected = 0
        for place in prange(size):
            v = undecided[place]
            if states[v] == UNDECIDED:
                left += 1
                if is_selected(v, degrees[v], key):
                    marks[v] = number
                    selected += 1
        if left == 0 or left < fewest:
            break
        failures = 0 if selected else failures + 1
        if selected:
            for place in prange(size):
                v = undecided[place]
                if marks[v] == number and is_last(indptr, indices, degrees, marks, number, v):
                    join_selected(indptr, indices, states, v)
        if 2 * left < size:
            size = compact(states, undecided, size)


# With probability 1 / (2 degree): a hash of 32 bits, compared without rounding.
@helper
def is_selected(v, degree, key):
    word = mix64(key + np.uint64(v) * VERTEX_STRIDE) >> HALF_WORD
    return word * (TWO * np.uint64(degree)) < ONE_64 << HALF_WORD


# Whether all neighbours that are selected in the same round have lower (degree, index).
@helper
def is_last(indptr, indices, degrees, marks, number, v):
    for slot in range(indptr[v], indptr[v + 1]):
        u = indices[slot]
        if marks[u] == number and (degrees[u] > degrees[v] or (degrees[u] == degrees[v] and u > v)):
            return False
    return True


@helper
def join_selected(indptr, indices, states, v):
    states[v] = MEMBER
    for slot in range(indptr[v], indptr[v + 1]):
        if indices[slot] != v:
            states[indices[slot]] = EXCLUDED


# Keep the undecided vertices of the list; returns their number.
@helper
def compact(states, undecided, size):
    left = 0
    for place in range(size):
        if states[undecided[place]] == UNDECIDED:
            undecided[left] = undecided[place]
            left += 1
    return left
