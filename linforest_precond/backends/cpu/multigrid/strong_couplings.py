"""The strong couplings of a matrix, for smoothed aggregation.

Complex values are handled by their real and imaginary parts, so that they share the kernels of real ones.
"""

import numpy as np
from numba import prange

from linforest_precond.backends.returns import StrongGraph

from ..matrix.entries import magnitudes, rows_of, symmetrized
from ..runtime.arrays import readonly
from ..runtime.hashing import symmetry_hash
from ..runtime.jit import helper, kernel

# A row is dominant if its diagonal is this many times the sum of its other magnitudes.
DOMINANCE = 5.0
# Couplings of a row that are less than `strength` of the largest by rounding errors only are strong in the
# row, lest the precision decides: coarse matrices of uniform stencils have many ratios of 2/5.
ROUNDING = 1.0 - 2.0**-12
NO_BITS = np.uint64(0)


def entries_of(csr):
    """Pointers, columns, magnitudes and parts of the entries, magnitudes and parts of the diagonal."""
    arrays = csr.indptr, csr.indices, *_sized(csr.data), *_sized(csr.diagonal)
    return tuple(map(readonly, arrays))


def _sized(values):
    """Numbers with the magnitudes of `values`, and their parts."""
    return magnitudes(values) if values.dtype.kind == "c" else values, parts_of(values)


def parts_of(values):
    """A view of real or complex numbers as rows of one or two real ones."""
    return values.view(values.real.dtype).reshape(values.size, 2 if values.dtype.kind == "c" else 1)


def row_strengths(csr, matrix, signed):
    """The scale of each row's couplings, 0 for rows without any, and the strongest of them."""
    scales, strongest = np.empty(csr.n), np.empty(csr.n)
    scale_rows(*matrix[:3], *matrix[4:], signed, scales)
    find_strongest(*matrix[:4], readonly(scales), signed, strongest)
    return scales, strongest


def strong_graph(csr, matrix, scales, strongest, strength, signed):
    """The strong couplings of each row, what `aggregate` gives `smoothed_prolongator`, and a hash sum.

    The sum is 0 if the mirror images of strong couplings are strong, too.
    """
    columns, degrees, least = np.empty(csr.nnz, np.int32), np.empty(csr.n, np.int32), np.empty(csr.n)
    couplings = *matrix, readonly(scales), readonly(strongest), signed
    balance = find_strong(*couplings, float(strength), columns, degrees, least)
    return StrongGraph(csr.indptr, columns, degrees, csr.longest_row), least, balance


def with_mirrors(csr, graph):
    """The union of a graph and its mirror image."""
    strong = (graph.indices != rows_of(csr.indptr, csr.nnz)).astype(np.float32)
    indptr, indices, found, _ = symmetrized(csr.indptr, csr.indices, strong)
    columns, degrees = np.empty(indices.size, np.int32), np.empty(csr.n, np.int32)
    mask_columns(*map(readonly, (indptr, indices, found)), columns, degrees)
    return StrongGraph(indptr, columns, degrees, int(np.diff(indptr).max(initial=0)))


# The magnitude of the diagonal, with its sign, by which a row's couplings are divided. It is 0 for a dominant
# row. For a diagonal without a sign it is infinite, so that nothing is coupled; without signs, the row's sum
# replaces a zero.
@kernel(parallel=True)
def scale_rows(indptr, indices, sizes, diagonal_sizes, diagonal, signed, scales):
    for v in prange(scales.size):
        row = np.int64(v)
        others = 0.0
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            if indices[slot] != row:
                others += np.float64(abs(sizes[slot]))
        own, sign = np.float64(abs(diagonal_sizes[row])), np.float64(diagonal[row, 0])
        scale = 0.0
        if not own >= DOMINANCE * others:
            if not signed:
                scale = own if own > 0.0 else others
            else:
                scale = own if sign > 0.0 else -own if sign < 0.0 else np.inf
        scales[row] = scale


@helper
def is_opposite(real, sign):
    return real < 0.0 if sign > 0.0 else sign < 0.0 and real > 0.0


# The strength of a coupling; by two divisions, because a square may overflow.
@helper
def coupling(size, real, scale, other, signed):
    if scale == 0.0 or other == 0.0 or (signed and not is_opposite(real, scale)):
        return 0.0
    found = (size / abs(scale)) * (size / abs(other))
    return found if found > 0.0 else 0.0


@helper
def coupling_at(indices, sizes, values, scales, signed, row, slot):
    column = np.int64(indices[slot])
    if column == row:
        return 0.0
    size, real = np.float64(abs(sizes[slot])), np.float64(values[slot, 0])
    return coupling(size, real, scales[row], scales[column], signed)


# The magnitude of an off-diagonal entry, 0 where it couples nothing: the measure of strength within a row,
# whose diagonal has this sign. (It takes numbers: with arrays, the function is not inlined.)
@helper
def row_coupling(size, real, sign, signed):
    return 0.0 if signed and not is_opposite(np.float64(real), sign) else np.float64(abs(size))


@kernel(parallel=True)
def find_strongest(indptr, indices, sizes, values, scales, signed, strongest):
    for v in prange(strongest.size):
        row = np.int64(v)
        best = 0.0
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            best = max(best, coupling_at(indices, sizes, values, scales, signed, row, slot))
        strongest[row] = best


# Copies the columns of strong couplings; in place of others, the row's own number is stored. `least` are the
# least magnitudes that are strong within each row, infinite if it has no strong couplings.
@kernel(parallel=True)
def find_strong(
    indptr, indices, sizes, values, diagonal_sizes, diagonal, scales, strongest, signed, strength, columns,
    degrees, least,
):  # fmt: skip
    balance = np.int64(0)
    for v in prange(degrees.size):
        row = np.int64(v)
        degree, largest, sign = 0, 0.0, np.float64(diagonal[row, 0])
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            column = np.int64(indices[slot])
            if column != row:
                largest = max(largest, row_coupling(sizes[slot], values[slot, 0], sign, signed))
            found = coupling_at(indices, sizes, values, scales, signed, row, slot)
            best = max(strongest[row], strongest[column])
            strong = found > 0.0 and found >= strength * strength * best
            columns[slot] = column if strong else row
            if strong:
                degree += 1
                word = np.int64(symmetry_hash(row, column, NO_BITS))
                balance += word if column > row else -word
        degrees[row] = degree
        least[row] = strength * ROUNDING * largest if degree > 0 else np.inf
    return balance


@kernel(parallel=True)
def mask_columns(indptr, indices, strong, columns, degrees):
    for v in prange(degrees.size):
        row = np.int64(v)
        degree = 0
        for slot in range(np.int64(indptr[row]), np.int64(indptr[row + 1])):
            columns[slot] = indices[slot] if strong[slot] > 0 else row
            degree += strong[slot] > 0
        degrees[row] = degree
