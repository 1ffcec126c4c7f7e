"""Maximal independent sets by Luby's algorithm with random selections, and by its deterministic variant.

M. Luby, "A Simple Parallel Algorithm for the Maximal Independent Set Problem", SIAM J. Comput. 15 (1986),
https://doi.org/10.1137/0215074.
"""

import numpy as np
from numba import prange

from ..matrix.entries import wide_pattern
from ..runtime.hashing import GOLDEN, VERTEX_STRIDE, mix64
from ..runtime.jit import helper, kernel
from .independent_set import EXCLUDED, MEMBER, chunk_lengths, decide_by_priority

UNDECIDED = np.uint32(1)
ONE, TWO, HALF_WORD = np.uint64(1), np.uint64(2), np.uint64(32)


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
        key = mix64(seed + GOLDEN * (TWO * np.uint64(number) - ONE))
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
                    join(indptr, indices, states, v)
        if 2 * left < size:
            size = compact(states, undecided, size)


# With probability 1 / (2 degree): a hash of 32 bits, compared without rounding.
@helper
def is_selected(v, degree, key):
    word = mix64(key + np.uint64(v) * VERTEX_STRIDE) >> HALF_WORD
    return word * (TWO * np.uint64(degree)) < ONE << HALF_WORD


# Whether all neighbours that are selected in the same round have lower (degree, index).
@helper
def is_last(indptr, indices, degrees, marks, number, v):
    for slot in range(indptr[v], indptr[v + 1]):
        u = indices[slot]
        if marks[u] == number and (degrees[u] > degrees[v] or (degrees[u] == degrees[v] and u > v)):
            return False
    return True


@helper
def join(indptr, indices, states, v):
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
