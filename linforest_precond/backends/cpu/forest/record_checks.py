"""Checks of the arrays of factors and forests that users give back."""

import numpy as np
from numba import prange

from ..runtime.arrays import NO_VERTEX, NOT_FOUND
from ..runtime.jit import helper, kernel


def rank_order(order):
    """The inverse of an order, and the first of its places that shows it to be no permutation, or -1."""
    rank = np.full_like(order, NOT_FOUND)
    return rank, place_ranks(order, rank)


def first_stray(neighbors, rank):
    """The first vertex whose neighbours are not next to it in the order, or -1."""
    return _first(check_paths, neighbors, rank)


def first_unpaired(neighbors):
    """The first vertex whose neighbours are no vertices that have it as a neighbour, or -1."""
    return _first(check_edges, neighbors)


def _first(check, neighbors, *arrays):
    wrong = np.zeros(neighbors.shape[0], bool)
    check(neighbors, *arrays, wrong)
    return int(wrong.argmax()) if wrong.any() else NOT_FOUND


# Scatters the places; stops at a vertex that is out of range or was met before.
@kernel(parallel=False)
def place_ranks(order, rank):
    n = order.size
    for place in range(n):
        v = np.int64(order[place])
        if v < 0 or v >= n or rank[v] >= 0:
            return place
        rank[v] = place
    return np.int64(NOT_FOUND)


@kernel(parallel=True)
def check_paths(neighbors, rank, wrong):
    n = neighbors.shape[0]
    for v in prange(n):
        for j in range(neighbors.shape[1]):
            w = np.int64(neighbors[v, j])
            if w < NO_VERTEX or w >= n or (w >= 0 and abs(rank[w] - rank[v]) != 1):
                wrong[v] = True


# The neighbours of a vertex ascend, with empty places last.
@kernel(parallel=True)
def check_edges(neighbors, wrong):
    for v in prange(neighbors.shape[0]):
        first, second = np.int64(neighbors[v, 0]), np.int64(neighbors[v, 1])
        if second != NO_VERTEX and (first < 0 or second <= first):
            wrong[v] = True
        elif not (is_paired(neighbors, v, first) and is_paired(neighbors, v, second)):
            wrong[v] = True


@helper
def is_paired(neighbors, v, w):
    if w < 0 or w >= neighbors.shape[0]:
        return w == NO_VERTEX
    return w != v and (neighbors[w, 0] == v or neighbors[w, 1] == v)
