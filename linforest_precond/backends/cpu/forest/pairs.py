"""Pairs of vertices, and the coarse graph of the pairs."""

import numpy as np
from numba import prange

from ..matrix.entries import packed
from ..runtime.arrays import NO_VERTEX, readonly, shell_sort
from ..runtime.jit import helper, kernel

# Coarse rows of a loop chunk.
ROWS_AT_ONCE = 256


def pair_up(neighbors):
    """Number the pairs of a [0,1]-factor by their lower members; an unmatched vertex is paired with a ghost.

    Returns the (pairs, 2) table of members, -1 for a ghost, and each vertex's place in the raveled table.
    """
    partners = readonly(neighbors.reshape(-1))
    vertices, index = partners.size, partners.dtype
    leads = (partners < 0) | (partners > np.arange(vertices, dtype=index))
    members = np.full((np.count_nonzero(leads), 2), NO_VERTEX, index)
    places = np.empty(vertices, np.dtype(f"u{index.itemsize}"))
    number_pairs(partners, members, places)
    return members, places


def coarse_graph(graph, members, places):
    """The graph of the pairs: CSR arrays with sorted columns, and the length of the longest row.

    The last result are the two largest weights of each row, 0 where it has fewer.
    """
    index = graph.indices.dtype
    starts, counts = np.zeros((2, members.shape[0] + 1), np.int64)
    arrays = map(readonly, (graph.indptr, graph.indices, graph.values, members, places))
    longest = find_pair_starts(readonly(graph.indptr), readonly(members), starts)
    columns, weights = np.empty(starts[-1], index), np.empty(starts[-1], graph.values.dtype)
    heaviest, largest = np.zeros(members.shape, weights.dtype), np.finfo(weights.dtype).max
    merge_rows(*arrays, readonly(starts), longest, largest, columns, weights, counts, heaviest)
    ends = np.cumsum(counts)
    return ends.astype(index), *packed(starts, ends, columns, weights), int(counts.max()), heaviest


def members_of(pairs, members):
    """The two members of each listed pair; those of a ghost are ghosts."""
    found = members.take(pairs, axis=0, mode="clip")
    found[pairs < 0] = NO_VERTEX
    return found.reshape(-1)


# Each vertex without a lower partner is the first member of a pair.
@kernel(parallel=False)
def number_pairs(partners, members, places):
    pairs = 0
    for v in range(partners.size):
        partner = np.int64(partners[v])
        if partner < 0 or partner > v:
            members[pairs, 0], places[v] = v, 2 * pairs
            if partner >= 0:
                members[pairs, 1], places[partner] = partner, 2 * pairs + 1
            pairs += 1


# The places of both members' entries, pair after pair; returns the largest number of a pair's entries.
@kernel(parallel=False)
def find_pair_starts(indptr, members, starts):
    longest = 0
    for pair in range(members.shape[0]):
        entries = 0
        for side in range(2):
            v = np.int64(members[pair, side])
            if v >= 0:
                entries += np.int64(indptr[v + 1]) - np.int64(indptr[v])
        starts[pair + 1] = starts[pair] + entries
        longest = max(longest, entries)
    return longest


# Each pair merges the rows of its two members: up to four entries with the same pair of columns are summed.
# The two largest sums of each pair are found, too.
@kernel(parallel=True)
def merge_rows(
    indptr, indices, values, members, places, starts, longest, largest, columns, weights, counts, heaviest
):  # fmt: skip
    pairs = members.shape[0]
    for block in prange(-(-pairs // ROWS_AT_ONCE)):
        keys, found = np.empty(longest, np.int64), np.empty(longest, values.dtype)
        for pair in range(block * ROWS_AT_ONCE, min((block + 1) * ROWS_AT_ONCE, pairs)):
            count = 0
            for side in range(2):
                v = np.int64(members[pair, side])
                if v < 0:
                    continue
                for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
                    place, weight = np.int64(places[indices[slot]]), abs(values[slot])
                    if place >> 1 != pair and weight > 0:
                        # The column's pair; then two bits: which of its members, and which of the row's.
                        keys[count], found[count] = 2 * place + side, weight
                        count += 1
            shell_sort(keys, found, count)
            merged = merge(keys, found, count, largest, columns, weights, starts[pair])
            counts[pair + 1] = merged
            for i in range(starts[pair], starts[pair] + merged):
                weight = weights[i]
                if weight > heaviest[pair, 0]:
                    heaviest[pair, 0], weight = weight, heaviest[pair, 0]
                if weight > heaviest[pair, 1]:
                    heaviest[pair, 1] = weight


# Sums the entries of each column pair, in an order that makes the coarse graph symmetric; returns the number
# of sums.
@helper
def merge(keys, weights, count, largest, columns, sums, start):
    merged = 0
    i = 0
    zero = weights.dtype.type(0)
    while i < count:
        column = keys[i] >> 2
        both_low = both_high = low_high = high_low = zero
        while i < count and keys[i] >> 2 == column:
            kind = keys[i] & 3
            if kind == 0:
                both_low = weights[i]
            elif kind == 1:
                high_low = weights[i]
            elif kind == 2:
                low_high = weights[i]
            else:
                both_high = weights[i]
            i += 1
        columns[start + merged] = column
        sums[start + merged] = min((both_low + both_high) + (low_high + high_low), largest)
        merged += 1
    return merged
