"""Fuzzy joins in plain Python: every pair of sets, every pair of elements, every matching."""

import functools
import itertools

import numpy as np
from scipy.optimize import linear_sum_assignment

# The relative error that the join allows.
TOLERANCE = 2.0**-40


def tokens(text, q):
    """The q-grams of a string; a shorter one is its own only token."""
    return {text[i : i + q] for i in range(len(text) - q + 1)} or {text}


def jaccard(a, b, q):
    a, b = tokens(a, q), tokens(b, q)
    return len(a & b) / len(a | b)


@functools.cache
def edit_distance(a, b):
    if not a or not b:
        return len(a) + len(b)
    return min(
        edit_distance(a[1:], b[1:]) + (a[0] != b[0]), edit_distance(a[1:], b) + 1, edit_distance(a, b[1:]) + 1
    )


def edit(a, b, q=None):
    longer = max(len(a), len(b))
    return (longer - edit_distance(a, b)) / longer if longer else 1.0


SIMILARITIES = {"jaccard": jaccard, "edit": edit}


def weights(left, right, similarity, q):
    """The similarities of the elements of two sets, both sorted."""
    phi = SIMILARITIES[similarity]
    return np.array([[phi(a, b, q) for b in sorted(set(right))] for a in sorted(set(left))])


def heaviest(block):
    """The weight of a heaviest matching."""
    return block[linear_sum_assignment(block, maximize=True)].sum()


def heaviest_of_all(block):
    """The same by trying all matchings."""
    block = block if block.shape[0] <= block.shape[1] else block.T
    rows = range(block.shape[0])
    return max(
        block[rows, columns].sum() for columns in itertools.permutations(range(block.shape[1]), len(rows))
    )


def greedy(block):
    """The column of each row, or -1: edges by (-weight, row, column)."""
    mates, taken = np.full(block.shape[0], -1), set()
    edges = sorted((-block[i, j], i, j) for i, j in np.ndindex(block.shape) if block[i, j] > 0)
    for _, i, j in edges:
        if mates[i] < 0 and j not in taken:
            mates[i] = j
            taken.add(j)
    return mates


def required(threshold, left, right):
    return threshold / (1 + threshold) * (len(set(left)) + len(set(right))) * (1 - TOLERANCE)


def join(sets_r, sets_s=None, *, threshold, similarity, q):
    """The similar pairs, by the definition."""
    itself = sets_s is None
    sets_s = sets_r if itself else sets_s
    return [
        (i, j)
        for i, left in enumerate(sets_r)
        for j, right in enumerate(sets_s)
        if (not itself or i < j)
        and heaviest(weights(left, right, similarity, q)) >= required(threshold, left, right)
    ]
