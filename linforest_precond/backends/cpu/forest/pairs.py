"""Pairs of vertices, and the graph between them."""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.constants import NO_VERTEX
from ..runtime.jit import helper, kernel
from ..runtime.sorting import shell_sort

# Coarse rows that one thread takes at a time.
ROWS_AT_ONCE = 256


def pair_up(neighbors):
    """Number the pairs of a [0,1]-factor by their lower members, lone vertices with a ghost beside them.

    Returns the members, two to a pair, -1 for a ghost, and each vertex's place among them.
    """
    partners = readonly(neighbors.reshape(-1))
    vertices, index = partners.size, partners.dtype
    leads = (partners < 0) | (partners > np.arange(vertices, dtype=index))
    members = np.full((np.count_nonzero(leads), 2), NO_VERTEX, index)
    places = np.empty(vertices, np.dtype(f"u{index.itemsize}"))
    number_pairs(partners, members, places)
    return members, places


def coarse_graph(graph, members, places):
    """The graph of the pairs: CSR arrays with ascending columns, and the length of the longest row."""
    indptr, index = graph.indptr, graph.indices.dtype
    lengths = np.zeros(members.shape[0] + 1, np.int64)
    lengths[1:] = row_lengths(indptr, members[:, 0]) + row_lengths(indptr, members[:, 1])
    starts = np.cumsum(lengths)
    columns, weights = np.empty(starts[-1], index), np.empty(starts[-1], graph.values.dtype)
    counts = np.zeros(members.shape[0] + 1, np.int64)
    arrays = map(readonly, (indptr, graph.indices, graph.values, members, places, starts))
    largest = np.finfo(weights.dtype).max
    merge_rows(*arrays, int(lengths.max()), largest, columns, weights, counts)
    ends = np.cumsum(counts)
    packed = np.empty(ends[-1], index), np.empty(ends[-1], weights.dtype)
    pack_rows(*map(readonly, (starts, ends, columns, weights)), *packed)
    return ends.astype(index), *packed, int(counts.max())


def row_lengths(indptr, rows):
    """Entries of each row, 0 of a ghost."""
    return np.where(rows < 0, 0, indptr[rows + 1] - indptr[rows])


def members_of(pairs, members):
    """The two members of each listed pair, ghosts for a ghost."""
    found = np.full((pairs.size, 2), NO_VERTEX, members.dtype)
    there = pairs >= 0
    found[there] = members[pairs[there]]
    return found.reshape(-1)


# Each vertex without a lower partner opens a pair.
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


# Each pair gathers the entries of its members' rows by column pair; up to four of them add up to one.
@kernel(parallel=True)
def merge_rows(indptr, indices, values, members, places, starts, longest, largest, columns, weights, counts):
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
                        # The column's pair, which of its members, and which of the row's.
                        keys[count], found[count] = 2 * place + side, weight
                        count += 1
            shell_sort(keys, found, count)
            counts[pair + 1] = merge(keys, found, count, largest, columns, weights, starts[pair])


# Add up the entries of each column pair, by a formula that is the same seen from either; how many there are.
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


# Close the gaps between the rows.
@kernel(parallel=True)
def pack_rows(starts, ends, columns, weights, packed_columns, packed_weights):
    for row in prange(ends.size - 1):
        gap = starts[row] - ends[row]
        for slot in range(ends[row], ends[row + 1]):
            packed_columns[slot], packed_weights[slot] = columns[slot + gap], weights[slot + gap]
