"""LU factorization of (block) tridiagonal matrices without pivoting, by the (block) Thomas algorithm.

The factors are the matrix's couplings and the inverses of its pivots. The pass that computes them also counts
the properties of the matrix that decide whether elimination without pivoting is stable.
"""

import numpy as np
from numba import prange

from linforest_precond.backends.returns import PivotFinding

from ..runtime.arithmetic import VANISHING
from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel
from .sweeps import find_starts

# An inverse pivot above this size, relative to its row, is a sign of instability.
LARGEST_GROWTH = 8
# A pivot is weak where its inverse is above this, relative to its diagonal entry.
LARGEST_RATIO = 4

# Plain integers: compiled code cannot take an IntEnum.
PERTURBED = int(PivotFinding.PERTURBED)
INDEFINITE = int(PivotFinding.INDEFINITE)
GROWN = int(PivotFinding.GROWN)
NOT_ROW_DOMINANT = int(PivotFinding.NOT_ROW_DOMINANT)
NOT_COLUMN_DOMINANT = int(PivotFinding.NOT_COLUMN_DOMINANT)
NOT_SYMMETRIC = int(PivotFinding.NOT_SYMMETRIC)
NOT_HERMITIAN = int(PivotFinding.NOT_HERMITIAN)
NOT_POSITIVE = int(PivotFinding.NOT_POSITIVE)
WEAK = int(PivotFinding.WEAK)


def factor(lower, diagonal, upper, perturb=True, report=None):
    """The inverses of the pivots, and the counters of `PivotFinding`.

    Tiny pivots are perturbed; without `perturb`, only those that vanish. `report` is another one that the
    host reads at the same time; here, all are on the host.
    """
    inverse = np.empty(diagonal.shape, diagonal.dtype)
    return inverse, factor_rows(lower, diagonal, upper, inverse, 0, diagonal.shape[0], perturb)


def factor_rows(lower, diagonal, upper, inverse, first, end, perturb=True):
    """Write the inverses of the pivots of some rows, and count their `PivotFinding`s.

    The elimination goes on from the inverse of the row before the first, where there is one.
    """
    shape = (-1,) if diagonal[:1].size <= 1 else diagonal.shape
    bands = [readonly(band.reshape(shape)) for band in (lower, diagonal, upper)]
    starts = readonly(first + find_starts(bands[0][first:end], bands[2][first:end], end - first))
    counts = np.zeros((starts.size - 1, len(PivotFinding)), np.int64)
    if end > first:
        info = np.finfo(diagonal.dtype)
        limits = VANISHING * info.eps, VANISHING * info.eps * perturb, np.sqrt(info.eps), info.tiny
        find = find_scalar_pivots if len(shape) == 1 else find_block_pivots
        find(*bands, *map(float, limits), starts, inverse.reshape(shape), counts)
    return counts.sum(axis=0)


# Threads eliminate independent segments: at each start but the first the couplings to the row before vanish.
@kernel(parallel=True)
def find_scalar_pivots(
    lower, diagonal, upper, vanishing, perturbed, root_epsilon, tiny, starts, inverse, counts
):
    n = diagonal.size
    for part in prange(starts.size - 1):
        found = counts[part]
        for j in range(starts[part], starts[part + 1]):
            own, pivot = diagonal[j], diagonal[j]
            if j > starts[part] or (part == 0 and j > 0):
                pivot -= lower[j] * inverse[j - 1] * upper[j - 1]
            in_row, own_size = size(lower[j]) + size(upper[j]), size(own)
            row_size = max(max(size(lower[j]), own_size), size(upper[j]))
            found[INDEFINITE] += pivot.real <= vanishing * own.real or pivot.real == 0
            if size(pivot) <= perturbed * row_size or size(pivot) < tiny:
                least = root_epsilon * row_size
                pivot = diagonal.dtype.type(1 if least < tiny else (-least if pivot.real < 0 else least))
                found[PERTURBED] += 1
            inverse[j] = diagonal.dtype.type(1) / pivot
            ratio = inverse[j] * own
            found[WEAK] += not (size(ratio) <= LARGEST_RATIO and ratio.real >= 0)
            found[GROWN] += not size(inverse[j]) * row_size <= LARGEST_GROWTH
            in_column = size(upper[j - 1]) if j > 0 else own_size * 0
            symmetric, hermitian = own == own, own.real == own.real and own.imag == 0
            if j + 1 < n:
                after, mirrored = upper[j], lower[j + 1]
                in_column += size(mirrored)
                symmetric &= after == mirrored
                hermitian &= after.real == mirrored.real and after.imag == -mirrored.imag
            found[NOT_ROW_DOMINANT] += own_size < in_row
            found[NOT_COLUMN_DOMINANT] += own_size < in_column
            found[NOT_POSITIVE] += not own.real > 0
            found[NOT_SYMMETRIC] += not symmetric
            found[NOT_HERMITIAN] += not hermitian


# The same with blocks.
@kernel(parallel=True)
def find_block_pivots(
    lower, diagonal, upper, vanishing, perturbed, root_epsilon, tiny, starts, inverse, counts
):
    n, b = diagonal.shape[:2]
    for part in prange(starts.size - 1):
        found = counts[part]
        pivot, other = np.empty((b, b), diagonal.dtype), np.empty((b, b), diagonal.dtype)
        for j in range(starts[part], starts[part + 1]):
            copy(diagonal[j], pivot)
            if j > starts[part] or (part == 0 and j > 0):
                subtract_coupled(lower[j], inverse[j - 1], upper[j - 1], other, pivot)
            row_size = max(max(largest_size(lower[j]), largest_size(diagonal[j])), largest_size(upper[j]))
            copy(pivot, other)
            found[INDEFINITE] += is_indefinite(other, diagonal[j], vanishing)
            found[PERTURBED] += invert(pivot, row_size, perturbed, root_epsilon, tiny, inverse[j])
            found[WEAK] += is_weak(inverse[j], diagonal[j])
            found[GROWN] += not largest_size(inverse[j]) * row_size <= LARGEST_GROWTH
            count_nondominant(lower, diagonal, upper, j, n, found)
            count_nonsymmetric(lower, diagonal, upper, j, n, found)


@helper
def copy(block, target):
    for r in range(block.shape[0]):
        for c in range(block.shape[1]):
            target[r, c] = block[r, c]


# |re| + |im|, the size by which numbers are compared.
@helper
def size(z):
    return abs(z.real) + abs(z.imag)


@helper
def largest_size(block):
    largest = size(block[0, 0])
    for r in range(block.shape[0]):
        for c in range(block.shape[1]):
            largest = max(largest, size(block[r, c]))
    return largest


# pivot -= (lower * w) * upper
@helper
def subtract_coupled(lower, w, upper, work, pivot):
    b = pivot.shape[0]
    for r in range(b):
        for c in range(b):
            total = lower[r, 0] * w[0, c]
            for k in range(1, b):
                total += lower[r, k] * w[k, c]
            work[r, c] = total
    for r in range(b):
        for c in range(b):
            total = work[r, 0] * upper[0, c]
            for k in range(1, b):
                total += work[r, k] * upper[k, c]
            pivot[r, c] -= total


# Whether a pivot block, which is overwritten, is not positive definite, relative to the diagonal block it
# came from.
@helper
def is_indefinite(pivot, diagonal, vanishing):
    b = pivot.shape[0]
    for k in range(b):
        head = pivot[k, k].real
        if head <= vanishing * diagonal[k, k].real or head == 0:  # complex division by 0 raises
            return True
        for r in range(k + 1, b):
            for c in range(k + 1, b):
                pivot[r, c] -= pivot[r, k] / head * pivot[k, c]
    return False


# The inverse of a pivot block, which is overwritten, by Gauss-Jordan elimination with partial pivoting. A
# tiny pivot is perturbed to +-sqrt(eps) times its row's norm (1 in an empty row). Returns how many were.
@helper
def invert(pivot, row_size, vanishing, root_epsilon, tiny, inverse):
    b = pivot.shape[0]
    perturbed = 0
    for r in range(b):
        for c in range(b):
            inverse[r, c] = 1 if r == c else 0
    for k in range(b):
        best = k
        for r in range(k + 1, b):
            if size(pivot[r, k]) > size(pivot[best, k]):
                best = r
        for c in range(b if best != k else 0):
            pivot[k, c], pivot[best, c] = pivot[best, c], pivot[k, c]
            inverse[k, c], inverse[best, c] = inverse[best, c], inverse[k, c]
        own = size(pivot[k, k])
        if own <= vanishing * row_size or own < tiny:
            least = root_epsilon * row_size
            pivot[k, k] = 1 if least < tiny else (-least if pivot[k, k].real < 0 else least)
            perturbed += 1
        head = pivot[k, k]
        for c in range(b):
            pivot[k, c] /= head
            inverse[k, c] /= head
        for r in range(b):
            if r != k:
                part = pivot[r, k]
                for c in range(b):
                    pivot[r, c] -= part * pivot[k, c]
                    inverse[r, c] -= part * inverse[k, c]
    return perturbed


# Whether a diagonal entry of P^-1 D is large or negative, for the pivot P of a diagonal block D.
@helper
def is_weak(inverse, diagonal):
    weak = False
    for r in range(diagonal.shape[0]):
        weak |= has_weak_entry(inverse, diagonal, r)
    return weak


# The same for one diagonal entry.
@helper
def has_weak_entry(inverse, diagonal, r):
    ratio = inverse[r, 0] * diagonal[0, r]
    for k in range(1, diagonal.shape[0]):
        ratio += inverse[r, k] * diagonal[k, r]
    return not (size(ratio) <= LARGEST_RATIO and ratio.real >= 0)


# Counts the diagonal entries that do not dominate their row, or their column.
@helper
def count_nondominant(lower, diagonal, upper, j, n, found):
    b = diagonal.shape[1]
    for r in range(b):
        in_row = in_column = size(diagonal[j, r, r]) * 0
        for c in range(b):
            in_row += size(lower[j, r, c]) + size(upper[j, r, c])
            if j > 0:
                in_column += size(upper[j - 1, c, r])
            if j + 1 < n:
                in_column += size(lower[j + 1, c, r])
            if c != r:
                in_row += size(diagonal[j, r, c])
                in_column += size(diagonal[j, c, r])
        own = size(diagonal[j, r, r])
        found[NOT_ROW_DOMINANT] += own < in_row
        found[NOT_COLUMN_DOMINANT] += own < in_column
        found[NOT_POSITIVE] += not diagonal[j, r, r].real > 0


# Compares a row with its column.
@helper
def count_nonsymmetric(lower, diagonal, upper, j, n, found):
    b = diagonal.shape[1]
    symmetric = hermitian = True
    for r in range(b):
        for c in range(b):
            own, other = diagonal[j, r, c], diagonal[j, c, r]
            symmetric &= own == other
            hermitian &= own.real == other.real and own.imag == -other.imag
            if j + 1 < n:
                own, other = upper[j, r, c], lower[j + 1, c, r]
                symmetric &= own == other
                hermitian &= own.real == other.real and own.imag == -other.imag
    found[NOT_SYMMETRIC] += not symmetric
    found[NOT_HERMITIAN] += not hermitian
