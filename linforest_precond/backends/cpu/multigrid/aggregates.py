"""Aggregates, groups of vertices that become one vertex of a coarser matrix, and grid transfer by them.

Restriction, prolongation, and the Galerkin product P^T A P: the tentative prolongator P of aggregates has a
one in each row.
"""

import numba
import numpy as np
from numba import prange

from ..matrix.entries import packed
from ..runtime.arrays import NO_VERTEX, number_by_first, readonly, shell_sort
from ..runtime.hashing import edge_hash
from ..runtime.jit import helper, kernel, serial_version

VERTICES_AT_ONCE = 4096  # vertices that one thread processes at a time
ROWS_AT_ONCE = 16384  # rows of a thread's share
RUN = 32

# Parts at most: each has a dense array with a place for every coarse column.
MOST_PARTS = 16


def of_mates(graph, mate, tie_key):
    """Make an aggregate of every matched pair; a single vertex joins that of its heaviest matched neighbour.

    A single vertex without such a neighbour stays alone. `tie_key` orders equal weights, as in matchings.
    Returns the aggregate of each vertex and the number of aggregates, which are numbered in the order of
    their lowest vertices.
    """
    roots = np.empty(graph.n, graph.indices.dtype)
    arrays = graph.indptr, graph.indices, graph.values, mate
    find_roots(*map(readonly, arrays), np.uint32(tie_key), roots)
    numbers = np.full(graph.n, NO_VERTEX, roots.dtype)
    count = number_by_first(roots, numbers)
    return roots, count


def members_of(aggregates, count):
    """The vertices of all aggregates in CSR form: where each aggregate begins, and its ascending vertices."""
    indptr = np.zeros(count + 1, aggregates.dtype)
    members = np.empty(aggregates.size, aggregates.dtype)
    list_members(readonly(aggregates), indptr, members)
    return indptr, members


# The root of each vertex: the lower vertex of the pair that it belongs to or joins, or itself.
@kernel(parallel=True)
def find_roots(indptr, indices, values, mate, tie_key, roots):
    for block in prange(-(-roots.size // VERTICES_AT_ONCE)):
        for v in range(block * VERTICES_AT_ONCE, min((block + 1) * VERTICES_AT_ONCE, roots.size)):
            other = np.int64(mate[v])
            if other < 0:
                other = heaviest_matched(indptr, indices, values, mate, tie_key, v)
                if other < 0:
                    roots[v] = v
                    continue
                roots[v] = min(other, np.int64(mate[other]))
            else:
                roots[v] = min(v, other)


# The best of a vertex's edges to matched vertices: by weight, then hash, then column. Columns ascend, so a
# later one never wins a tie.
@helper
def heaviest_matched(indptr, indices, values, mate, tie_key, v):
    best = NO_VERTEX
    best_weight, best_tie = values.dtype.type(0), np.uint32(0)
    for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
        w, weight = np.int64(indices[slot]), abs(values[slot])
        if weight == 0 or weight < best_weight or w == v or mate[w] < 0:
            continue
        tie = edge_hash(v, w, tie_key)
        if weight > best_weight or tie < best_tie:
            best, best_weight, best_tie = w, weight, tie
    return best


# Counting sort of the vertices by their aggregates; `indptr` is zero at first.
@kernel
def list_members(aggregates, indptr, members):
    for v in range(aggregates.size):
        indptr[aggregates[v] + 1] += 1
    for aggregate in range(1, indptr.size):
        indptr[aggregate] += indptr[aggregate - 1]
    # Scattering moves each aggregate's pointer to its end, where the next aggregate begins: shifted back
    # afterwards.
    for v in range(aggregates.size):
        aggregate = aggregates[v]
        members[indptr[aggregate]] = v
        indptr[aggregate] += 1
    for aggregate in range(indptr.size - 1, 0, -1):
        indptr[aggregate] = indptr[aggregate - 1]
    indptr[0] = 0


def restrict(indptr, members, fine, coarse):
    """coarse = P^T fine: the sum over the members of each aggregate.

    Members are added in their order in runs of 32, then the sums of the runs: the same bits on every device.
    Vectors are contiguous, (N,) or (N, k); nothing is allocated.
    """
    _run(sum_members, coarse, readonly(indptr), readonly(members), readonly(_columns(fine)), _columns(coarse))


def prolong_add(aggregates, coarse, fine):
    """fine += P coarse: each unknown adds the value of its aggregate."""
    _run(add_values, fine, readonly(aggregates), readonly(_columns(coarse)), _columns(fine))


def _columns(vector):
    return vector[:, None] if vector.ndim == 1 else vector


def _run(function, target, *arguments):
    """Call a parallel kernel, compiled without threads where there is one share of rows."""
    if target.shape[0] <= ROWS_AT_ONCE:
        function = serial_version(function)
    function(*arguments)


@kernel(parallel=True)
def sum_members(indptr, members, fine, coarse):
    rows = coarse.shape[0]
    for block in prange(-(-rows // ROWS_AT_ONCE)):
        first = block * ROWS_AT_ONCE
        sum_members_of(first, min(first + ROWS_AT_ONCE, rows), indptr, members, fine, coarse)


@helper
def sum_members_of(first, end, indptr, members, fine, coarse):
    for row in range(first, end):
        for column in range(coarse.shape[1]):
            total = coarse.dtype.type(0)
            last = np.int64(indptr[row + 1])
            for begin in range(np.int64(indptr[row]), last, RUN):
                run = coarse.dtype.type(0)
                for i in range(begin, min(begin + RUN, last)):
                    run += fine[members[i], column]
                total += run
            coarse[row, column] = total


@kernel(parallel=True)
def add_values(aggregates, coarse, fine):
    rows = fine.shape[0]
    for block in prange(-(-rows // ROWS_AT_ONCE)):
        first = block * ROWS_AT_ONCE
        add_values_of(first, min(first + ROWS_AT_ONCE, rows), aggregates, coarse, fine)


@helper
def add_values_of(first, end, aggregates, coarse, fine):
    for row in range(first, end):
        for column in range(fine.shape[1]):
            fine[row, column] += coarse[np.uint64(aggregates[row]), column]


def coarse_matrix(csr, aggregates, indptr, members):
    """The CSR arrays of P^T A P, columns ascending; each entry is summed in (row, column) order of A.

    Takes each unknown's aggregate, and the members of the aggregates (`aggregates.members_of`). Entries that
    sum to zero stay stored.
    """
    count, index = indptr.size - 1, csr.indices.dtype
    parts = max(1, min(numba.get_num_threads(), MOST_PARTS, count))
    # Load balancing: each part merges coarse rows with about equal numbers of terms, from `room` on.
    lengths = np.zeros(count + 1, np.int64)
    add_up_lengths(*map(readonly, (csr.indptr, indptr, members)), lengths)
    lengths = np.cumsum(lengths)
    starts = np.searchsorted(lengths, np.arange(parts + 1) * lengths[-1] // parts)
    starts[-1] = count
    room = lengths[starts]
    columns, sums = np.empty(lengths[-1], index), np.empty(lengths[-1], csr.data.dtype)
    counts = np.zeros(count + 1, np.int64)
    arrays = csr.indptr, csr.indices, csr.data, aggregates, indptr, members, starts, room
    merge_rows(*map(readonly, arrays), columns, sums, counts)
    ends = np.cumsum(counts)
    return ends.astype(index), *packed(room, ends[starts], columns, sums)


# Counts the entries of the members of each aggregate i at place i + 1.
@kernel(parallel=True)
def add_up_lengths(fine_indptr, indptr, members, lengths):
    for row in prange(lengths.size - 1):
        length = np.int64(0)
        for i in range(indptr[row], indptr[row + 1]):
            length += np.int64(fine_indptr[members[i] + 1]) - np.int64(fine_indptr[members[i]])
        lengths[row + 1] = length


# Gustavson's algorithm: each part merges its coarse rows in a dense accumulator; counts[i + 1] is of row i.
@kernel(parallel=True)
def merge_rows(
    fine_indptr, indices, data, aggregates, indptr, members, starts, room, columns, sums, counts
):  # fmt: skip
    for part in prange(starts.size - 1):
        # The place of each column in the output; places before the current row's begin are of earlier rows.
        places = np.full(indptr.size - 1, -1, np.int64)
        end = room[part]
        for row in range(starts[part], starts[part + 1]):
            begin = end
            for i in range(indptr[row], indptr[row + 1]):
                v = np.int64(members[i])
                for slot in range(np.int64(fine_indptr[v]), np.int64(fine_indptr[v + 1])):
                    column = np.int64(aggregates[indices[slot]])
                    place = places[column]
                    if place < begin:
                        places[column] = end
                        columns[end], sums[end] = column, data[slot]
                        end += 1
                    else:
                        sums[place] += data[slot]
            shell_sort(columns[begin:end], sums[begin:end], end - begin)
            counts[row + 1] = end - begin
