"""Smoothed aggregation: aggregates of strongly coupled unknowns, and the smoothed prolongator.

P. Vanek, J. Mandel, M. Brezina, "Algebraic multigrid by smoothed aggregation for second and fourth order
elliptic problems" (Computing 56, 1996, doi:10.1007/BF02238511); roots by MIS(2) as in N. Bell, S. Dalton,
L. Olson, "Exposing fine-grained parallelism in algebraic multigrid methods" (2012, doi:10.1137/110838844).
"""

import numba
import numpy as np
from numba import prange

from ..csgraph.independent_set import independent_set
from ..matrix.entries import modulus, transposed
from ..runtime.arrays import readonly, shell_sort
from ..runtime.jit import helper, kernel
from .strong_couplings import entries_of, parts_of, row_coupling, row_strengths, strong_graph, with_mirrors

# A coupling by which an unknown without strong ones joins a neighbour has this share of its diagonal.
JOINING_SHARE = 0.25
# The damping of the prolongator's l1-Jacobi step, and the least share of its diagonal that a row may keep.
DAMPING = 4.0 / 3.0
LEAST_SHARE = 0.1
# Numbers below have no finite reciprocal.
TINY = float(np.finfo(np.float64).tiny)
# Parts at most: each has a dense array with a place for every aggregate.
MOST_PARTS = 16
NO_AGGREGATE = -1


def aggregate(csr, strength, seed, signed=True):
    """The number of each unknown's aggregate, the count of aggregates, and what the prolongator needs.

    The strength of a coupling is |a_ij|^2 / (|a_ii| |a_jj|) where a_ij has the opposite sign of a_ii (with
    `signed`; of real parts), and 0 where row i or j is dominant. A coupling is strong if it is at least
    `strength` squared times the strongest of either row.

    Roots are a MIS(2) of the graph of strong couplings. Their neighbours join them, others with strong
    couplings the first neighbour that did. An unknown without strong couplings has the number -1 if its row
    is dominant. Else it joins the neighbour of its largest coupling, if that has strong ones and the coupling
    is a quarter of the diagonal; otherwise it is a root, too. Roots are numbered in ascending order.

    The third result is for `smoothed_prolongator`: the least magnitudes of each row's strong couplings.
    """
    matrix = entries_of(csr)
    scales, strongest = row_strengths(csr, matrix, signed)
    graph, least, balance = strong_graph(csr, matrix, scales, strongest, strength, signed)
    if not csr.symmetric or balance:
        graph = with_mirrors(csr, graph)
    pattern, scales, roots = (
        tuple(map(readonly, graph[:3])),
        readonly(scales),
        independent_set(graph, 2, seed),
    )
    mark_roots(*matrix, scales, signed, pattern[2], roots)
    numbers = np.where(roots, np.cumsum(roots) - 1, NO_AGGREGATE).astype(csr.indices.dtype)
    near = numbers.copy()
    join_roots(*pattern[:2], readonly(numbers), near)
    join_neighbors(*matrix, scales, signed, *pattern, readonly(near), numbers)
    return numbers, int(roots.sum()), least


def smoothed_prolongator(csr, strength, numbers, count, signed=True, strong=None):
    """The CSR arrays of P = (I - W F) T, for the tentative prolongator T of aggregates, and those of P^H.

    F is A without its weak couplings, which are added to the diagonal in column order, unless that would
    leave at most a tenth of it. Here a coupling is weak if it is below `strength` times the largest of its
    row, whatever those of the other row are: rows next to a jump of the coefficients keep all that matters to
    them. W is 4/3 divided by the sums of the magnitudes of F's rows, and 0 for rows without strong couplings
    in the sense of `aggregate`. Each entry of P is a sum in double precision: the diagonal's term first, then
    those of strong couplings in column order. Columns ascend.

    `strong` is the third result of `aggregate` for the same matrix, if there is one; it serves once. The
    third result is 1 for the couplings that F keeps, 0 for all other entries of A: see `prolongator_values`.
    """
    matrix = entries_of(csr)
    if strong is None:
        _, strong, _ = strong_graph(csr, matrix, *row_strengths(csr, matrix, signed), strength, signed)
    kept = np.empty(csr.nnz, np.uint8)
    mark_kept(*matrix[:4], matrix[5], readonly(strong), signed, kept)
    P = _from_kept(csr, matrix, numbers, count, kept)
    return P, transposed(*P[:2], P[2].conj(), count), kept


def prolongator_values(csr, numbers, count, kept, indptr, indices):
    """The values of P on its pattern for other values of A; ValueError if the pattern is not that of P."""
    found = _from_kept(csr, entries_of(csr), numbers, count, kept)
    if not (np.array_equal(found[0], indptr) and np.array_equal(found[1], indices)):
        raise ValueError("the prolongator's pattern is not that of its aggregates")
    return found[2]


def _from_kept(csr, matrix, numbers, count, kept):
    """The CSR arrays of P where the couplings that F keeps are known."""
    parts = max(1, min(numba.get_num_threads(), MOST_PARTS, csr.n))
    starts = np.searchsorted(csr.indptr, np.arange(parts + 1) * csr.nnz // parts)
    starts[0], starts[-1] = 0, csr.n
    among = readonly(kept), readonly(numbers), readonly(starts), count
    counts = np.zeros(csr.n + 1, np.int64)
    count_columns(*matrix[:2], *among, counts)
    indptr = np.cumsum(counts)
    indices, data = np.empty(indptr[-1], csr.indices.dtype), np.empty(indptr[-1], csr.data.dtype)
    fill_columns(*matrix, *among, readonly(indptr), indices, parts_of(data))
    return indptr.astype(csr.indices.dtype), indices, data


def l1_weights(csr, factor, stored):
    """`factor` over the sum of each row's magnitudes, with the sign of the diagonal, in the type `stored`.

    Sums whose reciprocals overflow count as 1.
    """
    matrix, weights = entries_of(csr), np.zeros(csr.n, csr.data.dtype)
    tiny = float(np.finfo(stored).tiny)
    weigh_rows(matrix[0], matrix[2], matrix[5], float(factor), tiny, parts_of(weights))
    return weights.astype(stored, copy=False)


# The column of a row's largest coupling, the first of equal ones, if the row, without strong couplings, joins
# it; else -1.
@helper
def joined_column(indptr, indices, sizes, values, diagonal_sizes, diagonal, signed, degrees, row):
    best, column, sign = 0.0, np.int64(NO_AGGREGATE), np.float64(diagonal[row, 0])
    for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
        found = row_coupling(sizes[slot], values[slot, 0], sign, signed)
        if found > best and indices[slot] != row:
            best, column = found, np.int64(indices[slot])
    if column < 0 or degrees[column] == 0:
        return np.int64(NO_AGGREGATE)
    return column if best >= JOINING_SHARE * np.float64(abs(diagonal_sizes[row])) else np.int64(NO_AGGREGATE)


# Of unknowns without strong couplings, which are all in the independent set, those that join none are roots.
@kernel(parallel=True)
def mark_roots(
    indptr, indices, sizes, values, diagonal_sizes, diagonal, scales, signed, degrees, roots
):  # fmt: skip
    for v in prange(roots.size):
        row = np.int64(v)
        if degrees[row] == 0:
            column = joined_column(
                indptr, indices, sizes, values, diagonal_sizes, diagonal, signed, degrees, row
            )
            roots[row] = scales[row] != 0.0 and column < 0


# The first number among a vertex's neighbours.
@helper
def first_number(indptr, columns, numbers, vertex):
    for slot in range(np.int64(indptr[vertex]), np.int64(indptr[vertex + 1])):
        if numbers[columns[slot]] >= 0:
            return np.int64(numbers[columns[slot]])
    return np.int64(NO_AGGREGATE)


# Neighbours of roots: there is only one root within two steps of a root's neighbour.
@kernel(parallel=True)
def join_roots(indptr, columns, roots, near):
    for v in prange(near.size):
        if roots[v] < 0:
            near[v] = first_number(indptr, columns, roots, np.int64(v))


# `near` are the numbers of roots and their neighbours; `columns` may have other row pointers than the matrix.
@kernel(parallel=True)
def join_neighbors(
    indptr, indices, sizes, values, diagonal_sizes, diagonal, scales, signed, begins, columns, degrees, near,
    numbers,
):  # fmt: skip
    for v in prange(numbers.size):
        row = np.int64(v)
        if near[row] < 0 and degrees[row] == 0 and scales[row] != 0.0:
            row = joined_column(
                indptr, indices, sizes, values, diagonal_sizes, diagonal, signed, degrees, row
            )
        number = np.int64(near[row])
        numbers[v] = number if number >= 0 else first_number(begins, columns, near, row)


# Marks the couplings that the prolongator smoother keeps.
@kernel(parallel=True)
def mark_kept(indptr, indices, sizes, values, diagonal, least, signed, kept):
    for v in prange(indptr.size - 1):
        row = np.int64(v)
        sign = np.float64(diagonal[row, 0])
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            found = row_coupling(sizes[slot], values[slot, 0], sign, signed)
            kept[slot] = found > 0.0 and found >= least[row] and indices[slot] != row


# Counts the aggregates of a row and its kept neighbours, for each row i at place i + 1.
@kernel(parallel=True)
def count_columns(indptr, indices, kept, numbers, starts, width, counts):
    for part in prange(starts.size - 1):
        met = np.full(width, -1, np.int64)  # the last row in which each aggregate occurred
        for row in range(starts[part], starts[part + 1]):
            own = np.int64(numbers[row])
            if own >= 0:
                met[own] = row
                counts[row + 1] = 1
            for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
                number = np.int64(numbers[indices[slot]])
                if kept[slot] and number >= 0 and met[number] != row:
                    met[number] = row
                    counts[row + 1] += 1


# The diagonal of F, and the weight of the row's step, 0 where no coupling is kept.
@helper
def filtered_row(indptr, indices, sizes, values, diagonal_sizes, diagonal, kept, row):
    real, imaginary, total, any_kept = np.float64(diagonal[row, 0]), np.float64(diagonal[row, -1]), 0.0, False
    for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
        if kept[slot]:
            any_kept = True
            total += np.float64(abs(sizes[slot]))
        elif indices[slot] != row:
            real += np.float64(values[slot, 0])
            imaginary += np.float64(values[slot, -1])
    if not any_kept:
        return 0.0, 0.0, 0.0
    own = np.float64(abs(diagonal_sizes[row]))
    share = (real / own) * (np.float64(diagonal[row, 0]) / own)
    if diagonal.shape[1] == 2:
        share += (imaginary / own) * (np.float64(diagonal[row, 1]) / own)
    if not share > LEAST_SHARE:
        real, imaginary = np.float64(diagonal[row, 0]), np.float64(diagonal[row, -1])
    total += abs(real) if diagonal.shape[1] == 1 else modulus(abs(real), abs(imaginary))
    return real, imaginary, DAMPING / total if total >= TINY else 0.0


@kernel(parallel=True)
def fill_columns(
    indptr, indices, sizes, values, diagonal_sizes, diagonal, kept, numbers, starts, width, out_indptr,
    out_indices, out_values,
):  # fmt: skip
    for part in prange(starts.size - 1):
        fill_rows(
            starts[part], starts[part + 1], indptr, indices, sizes, values, diagonal_sizes, diagonal, kept,
            numbers, width, out_indptr, out_indices, out_values,
        )  # fmt: skip


# A dense accumulator (Gustavson 1978) for the terms of each row: `places` are those of aggregates in the row,
# valid where `met` is the row.
@helper
def fill_rows(
    first, last, indptr, indices, sizes, values, diagonal_sizes, diagonal, kept, numbers, width, out_indptr,
    out_indices, out_values,
):  # fmt: skip
    places, met = np.empty(width, np.int64), np.full(width, -1, np.int64)
    longest = np.int64(0)
    for row in range(first, last):
        longest = max(longest, out_indptr[row + 1] - out_indptr[row])
    sums, order = np.empty((longest, out_values.shape[1])), np.empty(longest, np.int64)
    for row in range(first, last):
        real, imaginary, weight = filtered_row(
            indptr, indices, sizes, values, diagonal_sizes, diagonal, kept, row
        )
        begin, count, own = out_indptr[row], 0, np.int64(numbers[row])
        if own >= 0:
            count = place(own, row, out_indices, begin, count, met, places, sums)
            sums[0, 0] = 1.0 - weight * real
            if sums.shape[1] == 2:
                sums[0, 1] = 0.0 - weight * imaginary
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            number = np.int64(numbers[indices[slot]])
            if kept[slot] and number >= 0:
                count = place(number, row, out_indices, begin, count, met, places, sums)
                for i in range(sums.shape[1]):
                    sums[places[number], i] -= weight * np.float64(values[slot, i])
        copy_sorted(out_indices, begin, count, order, sums, out_values)


# Gives an aggregate a place in the row, with the sum 0, unless it has one; returns how many have.
@helper
def place(number, row, out_indices, begin, count, met, places, sums):
    if met[number] == row:
        return count
    met[number], places[number], out_indices[begin + count] = row, count, number
    for i in range(sums.shape[1]):
        sums[count, i] = 0.0
    return count + 1


@helper
def copy_sorted(out_indices, begin, count, order, sums, out_values):
    for i in range(count):
        order[i] = i
    shell_sort(out_indices[begin : begin + count], order, count)
    for k in range(count):
        for i in range(sums.shape[1]):
            out_values[begin + k, i] = sums[order[k], i]


# The weights have parts as the values, of which only the first is written.
@kernel(parallel=True)
def weigh_rows(indptr, sizes, diagonal, factor, tiny, weights):
    for row in prange(weights.shape[0]):
        total = 0.0
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            total += np.float64(abs(sizes[slot]))
        total = total if total >= tiny else 1.0
        weights[row, 0] = factor / (-total if diagonal[row, 0] < 0 else total)
