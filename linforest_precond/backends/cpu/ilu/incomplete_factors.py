"""ILU(0): Gaussian elimination on the pattern of a matrix, without fill-in (Meijerink & van der Vorst 1977).

Rows are eliminated in the IKJ order (Saad, "Iterative Methods for Sparse Linear Systems", 2003, section
10.3). Every entry gets its updates in ascending order of the pivots, whichever thread computes them.
"""

import math

import numpy as np
from numba import prange

from linforest_precond.backends.returns import FactorFinding

from ..matrix.entries import find_slot
from ..runtime.arithmetic import VANISHING, limits_of
from ..runtime.arrays import lower_bound, readonly
from ..runtime.jit import helper, kernel, serial_version

# A level of at least PARALLEL_ROWS rows is eliminated, or substituted, by all threads, in chunks.
PARALLEL_ROWS = 4096
CHUNK = 512

PERTURBED, NEGATIVE, NOT_FINITE = map(int, FactorFinding)


def factorize(indptr, indices, data, starts, hermitian, shift, weights):
    """(I + L) D (I + U) on the pattern of a matrix whose diagonal is stored: L, U and the inverse of D.

    Level i has the rows from ``starts[i]`` to ``starts[i + 1]``. Where `hermitian`, all diagonal entries are
    positive, and L is the conjugate transpose of U. `shift` times its row's norm is added to each diagonal
    entry, with its sign; the norm is the largest entry, or the diagonal entry where `hermitian`. Also the
    fill-in that is dropped in each row, the sum of ``weights[i] * weights[j] * |l_ik u_kj|**2``, and counts
    of the events of `FactorFinding`.
    """
    n, work = indptr.size - 1, data.copy()
    diagonals, inverse = np.empty(n, np.int64), np.empty(n, data.dtype)
    dropped, found = np.empty(n), np.zeros((n, len(FactorFinding)), np.uint8)
    limits = limits_of(data.dtype)
    numbers = limits.epsilon * limits.epsilon.dtype.type(VANISHING), limits.root_epsilon, limits.tiny
    shift = limits.epsilon.dtype.type(shift)
    given = map(readonly, (starts, indptr, indices, weights))
    results = work, diagonals, inverse, dropped, found
    by_levels(eliminate, starts)(*given, bool(hermitian), shift, numbers, *results)
    lower, upper = split(indptr, indices, work, diagonals, inverse)
    return lower, upper, inverse, dropped, found.sum(axis=0, dtype=np.int64)


def by_levels(parallel, starts):
    """The version of a kernel that goes through levels: with threads where some level is large."""
    return parallel if np.diff(starts).max(initial=0) >= PARALLEL_ROWS else serial_version(parallel)


def split(indptr, indices, work, diagonals, inverse):
    """The strictly lower triangle, and the strictly upper one divided by the pivots, as CSR arrays."""
    rows = np.arange(indptr.size)
    lower_ends = np.append(0, np.cumsum(diagonals - indptr[:-1]))
    upper_ends = indptr - lower_ends - rows
    arrays = []
    for ends in (lower_ends, upper_ends):
        ends = ends.astype(indptr.dtype)
        arrays.append((ends, np.empty(ends[-1], indices.dtype), np.empty(ends[-1], work.dtype)))
    lower, upper = arrays
    given = indptr, indices, work, diagonals, inverse, lower[0], upper[0]
    copy_triangles(*map(readonly, given), *lower[1:], *upper[1:])
    return lower, upper


@kernel(parallel=True)
def eliminate(
    starts, indptr, indices, weights, hermitian, shift, limits, work, diagonals, inverse, dropped, found
):
    for level in range(starts.size - 1):
        begin, end = np.int64(starts[level]), np.int64(starts[level + 1])
        if end - begin < PARALLEL_ROWS:
            eliminate_rows(
                begin, end, indptr, indices, weights, hermitian, shift, limits,
                work, diagonals, inverse, dropped, found,
            )  # fmt: skip
            continue
        for chunk in prange((end - begin + CHUNK - 1) // CHUNK):
            first = begin + chunk * CHUNK
            eliminate_rows(
                first, min(first + CHUNK, end), indptr, indices, weights, hermitian, shift, limits,
                work, diagonals, inverse, dropped, found,
            )  # fmt: skip


# Called for many rows: passing the arrays takes longer than a row.
@helper
def eliminate_rows(
    first, last, indptr, indices, weights, hermitian, shift, limits, work, diagonals, inverse, dropped, found
):
    for row in range(first, last):
        end, diagonal = np.int64(indptr[row + 1]), find_slot(indptr, indices, row, row)
        diagonals[row] = diagonal
        norm = size(work[diagonal])
        if not hermitian:
            for slot in range(np.int64(indptr[row]), end):
                norm = max(norm, size(work[slot]))
        if shift != 0:
            work[diagonal] += -shift * norm if work[diagonal].real < 0 else shift * norm
        without = 0.0
        for slot in range(np.int64(indptr[row]), diagonal):
            pivot_row = indices[slot]
            factor = work[slot] * inverse[pivot_row]
            work[slot] = factor
            place = slot + 1
            for other in range(diagonals[pivot_row] + 1, np.int64(indptr[pivot_row + 1])):
                column, product = indices[other], factor * work[other]
                place = lower_bound(indices, place, end, column)
                if place < end and indices[place] == column:
                    work[place] -= product
                else:
                    lost = np.float64(size(product))
                    without += lost * lost * weights[column]
        dropped[row] = without * weights[row]
        one = work.dtype.type(1)
        pivot = usable_pivot(work[diagonal], norm, hermitian, limits, one, found[row])
        inverse[row] = one / pivot  # of complex numbers by Smith's formula (1962)


# |re| + |im|, the size by which numbers are compared.
@helper
def size(z):
    return abs(z.real) + abs(z.imag)


# The pivot of a row with this norm. A tiny one is perturbed to +-sqrt(eps) times the norm, to 1 in an empty
# row.
@helper
def usable_pivot(pivot, norm, hermitian, limits, one, found):
    vanishing, root_epsilon, tiny = limits
    if hermitian:
        pivot = one * pivot.real
        found[NEGATIVE] = pivot.real < -vanishing * norm
    own = size(pivot)
    if not math.isfinite(own):
        found[NOT_FINITE] = 1
        return one
    if own > vanishing * norm and own >= tiny:
        return pivot
    found[PERTURBED] = 1
    least = root_epsilon * norm
    if least < tiny:
        return one
    return -one * least if pivot.real < 0 and not hermitian else one * least


@kernel
def copy_triangles(
    indptr, indices, work, diagonals, inverse, lower_ends, upper_ends, lower, lower_data, upper, upper_data
):
    for row in range(diagonals.size):
        to = np.int64(lower_ends[row])
        for slot in range(np.int64(indptr[row]), diagonals[row]):
            lower[to], lower_data[to] = indices[slot], work[slot]
            to += 1
        to = np.int64(upper_ends[row])
        for slot in range(diagonals[row] + 1, np.int64(indptr[row + 1])):
            upper[to], upper_data[to] = indices[slot], inverse[row] * work[slot]
            to += 1
