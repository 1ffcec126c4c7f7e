"""How strongly unknowns are coupled, for pairing them: couplings that pull their values together."""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel


def is_hermitian(csr):
    """Whether every entry is the conjugate of its mirror image; the magnitudes are known to be symmetric."""
    return bool(find_mirrors(*map(readonly, (csr.indptr, csr.indices, csr.data))))


def row_sums(csr):
    """The sums of the magnitudes of each row and the magnitudes of its sums, in double precision."""
    sizes, sums = np.empty(csr.n), np.empty(csr.n)
    add_rows(*map(readonly, (csr.indptr, csr.indices, csr.data)), sizes, sums)
    return sizes, sums


def weigh(csr, strength):
    """A weight for every entry: 2 |a_ij| / (|a_ii| + |a_jj|) where a_ij has the other sign than the diagonal.

    0 elsewhere, and where the weight is below `strength` times the largest of either row: in double
    precision.
    """
    arrays = tuple(map(readonly, (csr.indptr, csr.indices, csr.data, csr.diagonal)))
    strongest, weights = np.empty(csr.n), np.empty(csr.nnz)
    find_strongest(*arrays, strongest)
    weigh_entries(*arrays, readonly(strongest), float(strength), weights)
    return weights, strongest


@helper
def coupling(value, here, there):
    pull = -np.float64(value.real) if here.real > 0 else np.float64(value.real)
    size = abs(np.float64(here.real)) + abs(np.float64(there.real))
    return 2.0 * pull / size if pull > 0.0 and size > 0.0 else 0.0


@kernel(parallel=True)
def find_mirrors(indptr, indices, data):
    different = 0
    for row in prange(indptr.size - 1):
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            column = np.int64(indices[slot])
            begin, end = np.int64(indptr[column]), np.int64(indptr[column + 1])
            mirror = begin + np.searchsorted(indices[begin:end], row)
            if mirror == end or indices[mirror] != row:
                different += data[slot] != 0
            elif data[mirror] != np.conj(data[slot]):
                different += 1
    return different == 0


@kernel(parallel=True)
def add_rows(indptr, indices, data, sizes, sums):
    for row in prange(sizes.size):
        size = 0.0
        total = data.dtype.type(0) * 1.0
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            size += abs(data[slot])
            total += data[slot]
        sizes[row], sums[row] = size, abs(total)


@kernel(parallel=True)
def find_strongest(indptr, indices, data, diagonal, strongest):
    for row in prange(strongest.size):
        best = 0.0
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            column = np.int64(indices[slot])
            if column != row:
                best = max(best, coupling(data[slot], diagonal[row], diagonal[column]))
        strongest[row] = best


@kernel(parallel=True)
def weigh_entries(indptr, indices, data, diagonal, strongest, strength, weights):
    for row in prange(strongest.size):
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            column = np.int64(indices[slot])
            weight = 0.0
            if column != row:
                weight = coupling(data[slot], diagonal[row], diagonal[column])
                if weight < strength * min(strongest[row], strongest[column]):
                    weight = 0.0
            weights[slot] = weight
