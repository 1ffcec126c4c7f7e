"""Hermitian matrices: whether a matrix is one to rounding, and values that make it exactly Hermitian.

A is Hermitian to rounding if each entry that is not 0 has its mirror image stored, and

    |a_ij - conj(a_ji)| <= 8 eps max(|a_ij|, |a_ji|, s_ij),    s_ij = sqrt(|a_ii| |a_jj|).

An assembled entry is a sum over elements whose terms may cancel, so that its rounding error is relative to
the terms. The magnitudes of those of positive semidefinite element matrices add up to at most s_ij, by the
Cauchy-Schwarz inequality. Where a_ii is 0, as for the multipliers of a saddle point matrix, s_ij is the
largest magnitude of row i; the smaller one of both rows where a_jj is 0, too. Magnitudes of complex numbers
are max(|re|, |im|). The rule is the same for A and D A D with a diagonal D, but for rows with a_ii = 0.
"""

import math

import numpy as np
from numba import prange

from ..runtime.arrays import NOT_FOUND, readonly
from ..runtime.jit import helper, kernel
from .entries import find_slot

# Differences in units of eps.
ULPS = 8


def values_without_rounding(indptr, indices, data, diagonal):
    """The values by `mirror_upper` of a matrix that is Hermitian to rounding and not exactly; else None."""
    arrays = tuple(map(readonly, (indptr, indices, data)))
    scales, found = np.empty(diagonal.size), np.zeros(1, np.int64)
    find_scales(arrays[0], arrays[2], readonly(diagonal), scales)
    tolerance = ULPS * float(np.finfo(data.dtype).eps)
    different, unpaired = compare_mirrors(*arrays, readonly(scales), tolerance, found)
    if found[0] or unpaired or not different:
        return None
    values = data.copy()
    mirror_upper(indptr, indices, values)
    return values


def mirror_upper(indptr, indices, data):
    """Copy the conjugates of the entries above the diagonal below it, and make the diagonal real, in place.

    For matrices that are Hermitian to rounding, as Galerkin products of Hermitian ones: sums on either side
    of the diagonal run in different orders. An entry whose mirror image is not stored is 0.
    """
    copy_upper(*map(readonly, (indptr, indices)), data)


# max(|re|, |im|): for bounds that have the same bits on every backend.
@helper
def size(z):
    return max(abs(np.float64(z.real)), abs(np.float64(z.imag)))


# The square root of the diagonal entry of each row; where that is 0, minus the largest magnitude of the row.
@kernel(parallel=True)
def find_scales(indptr, data, diagonal, scales):
    for row in prange(diagonal.size):
        largest = 0.0
        if diagonal[row] == 0:
            for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
                largest = max(largest, size(data[slot]))
        scales[row] = math.sqrt(size(diagonal[row])) if diagonal[row] != 0 else -largest


# s_ij, for the scales of rows i and j.
@helper
def pair_scale(here, there):
    if here > 0.0 and there > 0.0:
        return here * there
    return -max(here, there) if here <= 0.0 and there <= 0.0 else -min(here, there)


# Whether two entries are conjugates to rounding.
@helper
def is_mirror(a, b, scale, tolerance):
    real = abs(np.float64(a.real) - np.float64(b.real))
    imaginary = abs(np.float64(a.imag) + np.float64(b.imag))
    return max(real, imaginary) <= tolerance * max(max(size(a), size(b)), scale)


# Compares the entries above the diagonal, and on it, with their mirror images. Returns the number of those
# that differ, and of the nonzero entries below the diagonal that were not found. The first entry that is not
# a mirror image to rounding sets found[0] and ends the search.
@kernel(parallel=True)
def compare_mirrors(indptr, indices, data, scales, tolerance, found):
    different = unpaired = 0
    for row in prange(indptr.size - 1):
        if found[0] != 0:
            continue
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            column, own = np.int64(indices[slot]), data[slot]
            if column < row:
                unpaired += own != 0
                continue
            mirror = slot if column == row else find_slot(indptr, indices, column, row)
            other = data[mirror] if mirror != NOT_FOUND else data.dtype.type(0)
            unpaired += -1 if column > row and other != 0 else 0
            if own == np.conj(other):
                continue
            different += 1
            scale = pair_scale(scales[row], scales[column])
            if mirror == NOT_FOUND or not is_mirror(own, other, scale, tolerance):
                found[0] = 1
                break
    return different, unpaired


# The number of entries that are not the conjugates of `mirrored` to rounding; `here` and `there` are the
# scales of their rows and columns.
@kernel
def count_far(data, mirrored, here, there, tolerance):
    far = 0
    for i in range(data.size):
        far += not is_mirror(data[i], mirrored[i], pair_scale(here[i], there[i]), tolerance)
    return far


# The slots of entries by their rows and columns; -1 where one is not stored.
@kernel(parallel=True)
def find_entries(indptr, indices, rows, columns, slots):
    for i in prange(slots.size):
        slots[i] = find_slot(indptr, indices, np.int64(rows[i]), np.int64(columns[i]))


@kernel(parallel=True)
def copy_upper(indptr, indices, data):
    for row in prange(indptr.size - 1):
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            column = np.int64(indices[slot])
            if column >= row:
                if column == row:
                    data[slot] = data[slot].real
                break
            mirror = find_slot(indptr, indices, column, row)
            if mirror >= 0:
                data[slot] = np.conj(data[mirror])
