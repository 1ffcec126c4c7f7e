"""Spanning forests by rounds of hooking stars, after Awerbuch and Shiloach, and after Borůvka.

B. Awerbuch, Y. Shiloach, "New Connectivity and MSF Algorithms for Shuffle-Exchange Network and PRAM", IEEE
Trans. Comput. C-36 (1987), https://doi.org/10.1109/TC.1987.1676869. Trees are stored as parents. A star is a
tree whose vertices are all children of its root. In every round each star hooks its root along the first edge
that leaves it, and one step of shortcutting halves the depths of the trees. Borůvka's algorithm shortcuts
until all trees are stars again.
"""

import numpy as np
from numba import prange

from ..runtime.atomics import fetch_min, load
from ..runtime.jit import helper, kernel

NONE = np.iinfo(np.int64).max
WITHOUT_SIGN = np.int64(NONE)


def selected_edges(weights, ends, n, contract):
    """Whether each edge is in the forest; equal weights are ordered by their places in the list.

    With `contract`, trees become stars in every round (Borůvka), else after several (Awerbuch, Shiloach).
    """
    words, (rows, columns) = ordered_words(weights), (end.astype(np.int32, copy=False) for end in ends)
    selected, parents = np.zeros(weights.size, bool), np.arange(n, dtype=np.int32)
    places, changes = np.arange(weights.size), weights.size
    while changes:
        is_star, first_edges = find_stars(parents), np.full(n, NONE)
        find_first_edges(words, rows, columns, parents, is_star, np.full(n, NONE), first_edges)
        hooked, changes = hook_stars(rows, columns, places, parents, first_edges, selected)
        parents, jumps = shortcut(hooked)
        # When nothing was hooked and nothing shortcut, all trees are stars that no edge leaves.
        changes += jumps
        while contract and jumps:
            parents, jumps = shortcut(parents)
        kept = parents[rows] != parents[columns]  # the others are within a tree
        words, rows, columns, places = (array[kept] for array in (words, rows, columns, places))
    return selected


def ordered_words(weights):
    """The weights as integers of the same order; 0 and -0 have the same."""
    words = (weights.astype(np.float64) + 0.0).view(np.int64)
    return words ^ (words >> 63 & WITHOUT_SIGN)


# A vertex with another grandparent than its parent shows that its tree is no star, to itself and to its
# grandparent; the children of the root learn it from the root, as the tree may have its depth elsewhere.
@kernel(parallel=True)
def find_stars(parents):
    is_star = np.ones(parents.size, np.bool_)
    for v in prange(parents.size):
        grandparent = parents[parents[v]]
        if grandparent != parents[v]:
            is_star[v] = is_star[grandparent] = False
    for v in prange(parents.size):
        if not is_star[parents[v]]:
            is_star[v] = False
    return is_star


# For the root of each star: the first edge that leaves it, by (weight, place). The trees of an edge's ends
# differ if the parents do, because one of the trees is a star.
@kernel(parallel=True)
def find_first_edges(words, rows, columns, parents, is_star, lightest, first_edges):
    for edge in prange(words.size):
        one, other = parents[rows[edge]], parents[columns[edge]]
        if one != other:
            if is_star[rows[edge]]:
                lower_to(lightest, one, words[edge])
            if is_star[columns[edge]]:
                lower_to(lightest, other, words[edge])
    for edge in prange(words.size):
        one, other = parents[rows[edge]], parents[columns[edge]]
        if one != other:
            if is_star[rows[edge]] and lightest[one] == words[edge]:
                lower_to(first_edges, one, edge)
            if is_star[columns[edge]] and lightest[other] == words[edge]:
                lower_to(first_edges, other, edge)


# Atomic minimum; the load before it saves most of the atomics.
@helper
def lower_to(least, place, word):
    if word < load(least, place):
        fetch_min(least, place, word)


# The root of a star is hooked along its first edge, to the parent of the edge's other end. Of two stars that
# have the same first edge, the lower root stays a root. There are no other cycles: along a chain of hooks the
# edges descend in a total order, and a tree that is no star ends it. Returns the new parents, and how many
# were hooked.
@kernel(parallel=True)
def hook_stars(rows, columns, places, parents, first_edges, selected):
    hooked = np.empty_like(parents)
    hooks = 0
    for v in prange(parents.size):
        hooked[v], edge = parents[v], first_edges[v]
        if edge != NONE:
            selected[places[edge]] = True
            one, other = parents[rows[edge]], parents[columns[edge]]
            other = other if one == v else one
            if v > other or first_edges[other] != edge:
                hooked[v] = other
                hooks += 1
    return hooked, hooks


# Every vertex gets its grandparent as its parent; returns the new parents, and how many differ.
@kernel(parallel=True)
def shortcut(parents):
    grandparents = np.empty_like(parents)
    changes = 0
    for v in prange(parents.size):
        grandparents[v] = parents[parents[v]]
        changes += grandparents[v] != parents[v]
    return grandparents, changes
