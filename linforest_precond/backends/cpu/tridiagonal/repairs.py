"""Repairs of (block) tridiagonal systems: clipped couplings, perturbed singular segments.

`clip` makes a Hermitian matrix positive definite, `clip_paths` clips couplings of paths with weak pivots.

`precond.tridiagonal.repair` says which paths are repaired, and why.
"""

import numpy as np
from numba import prange

from ..matrix.diagonal_blocks import invert
from ..matrix.entries import magnitudes as magnitudes_of
from ..runtime.arithmetic import (
    conjugate_transpose,
    is_indefinite,
    limits_of,
    reciprocal,
    scaled,
    squared,
    times,
)
from ..runtime.arrays import readonly
from ..runtime.jit import helper, kernel
from .pivots import has_weak_entry, size

# The largest product of the relative couplings between two (block) rows.
LARGEST_PRODUCT = 0.4995**2
# A row's coverage is counted in these units, so that the sums over a path are exact.
UNITS = 2**20
# A diagonal entry below this share of its row's off-diagonal weight is negligible.
NEGLIGIBLE = 1 / 16

AT_ONCE = 2**15  # rows that are worked on at a time, to stay in the cache
# The largest norm of C^-1 E C'^-H for a coupling E of diagonal blocks with the Cholesky factors C and C'.
# A row has two couplings: both together stay below 1.
SHARE = 0.4995
# The same for the off-diagonal entries of a row inside a diagonal block, all together.
INNER_SHARE = 0.999


def rows_to_repair(lower, diagonal, upper, inverse, magnitudes, order=None):
    """A mask of the (block) rows of all paths that are to be repaired; None where there are none.

    `magnitudes` are the sums of the magnitudes of A's rows, and `order` the row of A that each row of the
    system is, -1 for a ghost row; without it, they are in the order of the system, with 0 for ghost rows.
    """
    if order is not None:
        magnitudes = np.where(order >= 0, magnitudes[np.maximum(order, 0)], 0)
    counts = count_rows(lower, diagonal, upper, inverse, magnitudes)
    repaired = np.empty(diagonal.shape[0], bool)
    return repaired if mark_paths(*map(_blocks, (lower, upper)), counts, repaired) else None


def count_rows(lower, diagonal, upper, inverse, magnitudes):
    """What is summed over paths: weak pivots, negligible diagonals, and how far coverages exceed 2/3."""
    bands = tuple(map(_blocks, (lower, diagonal, upper)))
    sizes = [readonly(magnitudes_of(band.reshape(-1)).reshape(band.shape)) for band in bands]
    pivots = _blocks(inverse)
    inverse_sizes = magnitudes_of(np.diagonal(pivots, axis1=1, axis2=2).reshape(-1))
    counts = np.zeros((3, bands[1].shape[0]), np.int64)
    shape = bands[1].shape[:2]
    weights = inverse_sizes.reshape(shape), magnitudes.reshape(shape)
    count_block_rows(*sizes, bands[1], pivots, *map(readonly, weights), counts)
    return counts


def needs_repair(weak, negligible, excess):
    """Whether paths are repaired, by the sums of `count_rows`."""
    return (weak > 0) & (negligible == 0) & (excess < 0)


def clip_paths(lower, diagonal, upper, rows):
    """The lower and upper bands with the couplings of marked paths clipped; numbers of paths and couplings.

    Of two blocks D and D' that are coupled by U and L, the product of the Frobenius norms of D^-1 U and
    D'^-1 L is bounded; both couplings are scaled by the same factor.
    """
    lower, upper, clipped, paths = clip_couplings(lower, diagonal, upper, rows)
    return lower, upper, paths, int(np.count_nonzero(clipped))


def clip_couplings(lower, diagonal, upper, rows):
    """As above: the bands, whether each row's coupling to the next one is clipped, and the paths' number."""
    bands, inverse = tuple(map(_blocks, (lower, diagonal, upper))), invert(_blocks(diagonal))[0]
    new_lower, new_upper = np.array(lower, order="C"), np.array(upper, order="C")
    clipped = np.zeros(max(diagonal.shape[0] - 1, 0), bool)
    arguments = bands[0], bands[2], readonly(inverse), readonly(rows)
    into = (band.reshape(bands[1].shape) for band in (new_lower, new_upper))
    return new_lower, new_upper, clipped, clip_block_couplings(*arguments, *into, clipped)


def perturb_singular(lower, diagonal, upper, inverse):
    """Perturb the last diagonal entries of singular segments; the diagonal, and how many were perturbed.

    A segment of a scalar system is singular where elimination without pivoting ends with a zero pivot. A
    segment of an odd number of rows that are coupled both ways is structurally singular where the diagonal
    entries of its first, third, fifth ... rows are zero.

    A row that has only a lower entry, as its neighbours, is the only equation of the unknown before it. If
    all rows of such a chain were perturbed, the solution would grow from each to the next: they are not.
    """
    epsilon, perturbed = np.finfo(diagonal.dtype).eps, diagonal.copy()
    bands = map(readonly, (lower, diagonal, upper, inverse))
    count = perturb_segments(*bands, float(epsilon), float(np.sqrt(epsilon)), perturbed)
    return perturbed if count else diagonal, count


def _blocks(band):
    """A band as blocks; numbers are blocks of one row."""
    band = np.ascontiguousarray(band)
    return readonly(band if band.ndim == 3 else band.reshape(-1, 1, 1))


# The sum of the magnitudes of row r of a block.
@helper
def row_sum(sizes, r):
    total = 0.0
    for c in range(sizes.shape[1]):
        total += np.float64(sizes[r, c])
    return total


# A row without off-diagonal entries counts as covered, and a ghost row does not count. The weight that a row
# neglects is rounding error where it is below one unit.
@kernel(parallel=True)
def count_block_rows(lower, own, upper, diagonal, inverse, inverse_sizes, magnitudes, counts):
    for j in prange(own.shape[0]):
        for r in range(own.shape[1]):
            kept = row_sum(lower[j], r) + row_sum(own[j], r) + row_sum(upper[j], r)
            magnitude, diagonal_size = magnitudes[j, r], np.float64(own[j, r, r])
            total = max(magnitude, kept) - diagonal_size
            share = (kept - diagonal_size) / total if total > 0 else 1.0
            neglected = total - (kept - diagonal_size) if share < 1 - 1 / UNITS else 0.0
            below = np.float64(inverse_sizes[j, r]) * neglected > 1
            counts[0, j] |= below and has_weak_entry(inverse[j], diagonal[j], r)
            if magnitude > 0:
                counts[1, j] |= diagonal_size < NEGLIGIBLE * total
                covered = np.int64(np.rint(UNITS * share)) if share >= 0 else 0  # not NaN
                counts[2, j] += 3 * covered - 2 * UNITS


# Whether a (block) row is coupled to the row before it in either direction.
@helper
def is_coupled(lower, upper, j):
    for r in range(lower.shape[1]):
        for c in range(lower.shape[1]):
            if lower[j, r, c] != 0 or upper[j - 1, r, c] != 0:
                return True
    return False


# Marks the rows of all paths that need repair; returns whether there are any.
@kernel
def mark_paths(lower, upper, counts, repaired):
    first, found = 0, False
    weak, negligible, excess = 0, 0, 0
    for j in range(repaired.size):
        weak += counts[0, j]
        negligible += counts[1, j]
        excess += counts[2, j]
        if j + 1 == repaired.size or not is_coupled(lower, upper, j + 1):
            is_repaired = weak > 0 and negligible == 0 and excess < 0
            repaired[first : j + 1] = is_repaired
            found |= is_repaired
            first, weak, negligible, excess = j + 1, 0, 0, 0
    return found


# The square of the Frobenius norm of a product of blocks, in double precision.
@helper
def squared_norm(a, b):
    total = 0.0
    for r in range(a.shape[0]):
        for c in range(a.shape[0]):
            entry = a[r, 0] * b[0, c]
            for k in range(1, a.shape[0]):
                entry += a[r, k] * b[k, c]
            real, imag = np.float64(entry.real), np.float64(entry.imag)
            total += real * real + imag * imag
    return total


# Returns how many paths are marked.
@kernel
def clip_block_couplings(lower, upper, inverse, rows, new_lower, new_upper, clipped):
    paths, count, b = 0, rows.size, lower.shape[1]
    for j in range(count):
        paths += rows[j] and (j == 0 or not is_coupled(lower, upper, j))
        if j + 1 == count or not (rows[j] and rows[j + 1]):
            continue
        after, before = squared_norm(inverse[j], upper[j]), squared_norm(inverse[j + 1], lower[j + 1])
        product = np.sqrt(after) * np.sqrt(before)
        if product > LARGEST_PRODUCT:
            clipped[j] = True
            factor = new_lower.dtype.type(np.sqrt(LARGEST_PRODUCT / product))
            for r in range(b):
                for c in range(b):
                    new_upper[j, r, c] *= factor
                    new_lower[j + 1, r, c] *= factor
    return paths


# Whether a row has only a lower entry.
@helper
def has_only_lower(lower, diagonal, upper, j):
    return lower[j] != 0 and diagonal[j] == 0 and upper[j] == 0


# Returns how many diagonal entries are perturbed.
@kernel
def perturb_segments(lower, diagonal, upper, inverse, epsilon, root_epsilon, perturbed):
    n, count = diagonal.size, 0
    first, useful = 0, False  # of the segment, so far: its first row, and whether an odd row has a diagonal
    for j in range(n):
        own, pivot = diagonal[j], diagonal[j]
        if j > 0:
            pivot -= lower[j] * inverse[j - 1] * upper[j - 1]
            if lower[j] == 0 or upper[j - 1] == 0:
                first, useful = j, False
        is_odd = (j - first) % 2 == 0
        useful |= is_odd and own != 0
        row_size = max(max(size(lower[j]), size(own)), size(upper[j]))
        singular = upper[j] == 0 and size(pivot) <= epsilon * row_size
        if j + 1 == n or lower[j + 1] == 0 or upper[j] == 0:
            singular |= is_odd and not useful
        if singular and 0 < j < n - 1 and has_only_lower(lower, diagonal, upper, j):
            before = has_only_lower(lower, diagonal, upper, j - 1)
            singular = not (before and has_only_lower(lower, diagonal, upper, j + 1))
        if singular:
            least = root_epsilon * row_size if row_size > 0 else 1.0
            perturbed[j] = own + diagonal.dtype.type(-least if own.real < 0 else least)
            count += 1
    return count


def clip(lower, diagonal, upper):
    """Scale couplings down until the matrix is a sum of positive definite pairs of (block) rows."""
    shape = diagonal.shape[0], *(diagonal.shape[1:] or (1, 1))
    blocks, couplings = diagonal.reshape(shape), upper.reshape(shape)
    new_lower, new_diagonal, new_upper = (np.zeros(shape, diagonal.dtype) for _ in range(3))
    for first in range(0, shape[0], AT_ONCE):
        pairs = slice(first, min(first + AT_ONCE, shape[0] - 1))  # (block) rows and their successors
        both = slice(pairs.start, pairs.stop + 1)
        own = definite_blocks(blocks[both].transpose(1, 2, 0))
        coupling = clipped_couplings(cholesky(own), couplings[pairs].transpose(1, 2, 0))
        new_diagonal[both] = own.transpose(2, 0, 1)
        new_upper[pairs] = coupling.transpose(2, 0, 1)
        new_lower[pairs.start + 1 : pairs.stop + 1] = conjugate_transpose(coupling).transpose(2, 0, 1)
    lower, new_diagonal, upper = (
        band.reshape(diagonal.shape) for band in (new_lower, new_diagonal, new_upper)
    )
    return lower, new_diagonal if diagonal.ndim == 3 else diagonal, upper


def definite_blocks(x):
    """Diagonal blocks; the off-diagonal entries of those that are not positive definite are clipped."""
    b = x.shape[0]
    if b == 1:
        return x
    x = x.copy()
    bad = is_indefinite(x, x, limits_of(x.dtype))
    for r in range(b) if bad.any() else ():
        for c in range(r + 1, b):
            roots = [reciprocal(np.sqrt(x[i, i].real)) for i in (r, c)]
            share = np.sqrt(squared(scaled(scaled(x[r, c], roots[0]), roots[1])))
            x[r, c] = np.where(bad, shrunk(x[r, c], share, INNER_SHARE / (b - 1)), x[r, c])
            x[c, r] = x[r, c].conj()
    return x


def shrunk(x, share, most):
    """Numbers scaled down to the largest share where theirs is larger."""
    most = share.dtype.type(most)
    return np.where(share > most, scaled(x, most / np.maximum(share, most)), x)


def clipped_couplings(factors, coupling):
    """Couplings between each block and the next; the share is the Frobenius norm of C^-1 E C'^-H."""
    relative = substitute(factors[..., :-1], coupling)
    relative = substitute(factors[..., 1:], conjugate_transpose(relative))
    return shrunk(coupling, np.sqrt(squared(relative).sum(axis=(0, 1))), SHARE)


def cholesky(x):
    """The lower Cholesky factors."""
    factor = np.zeros_like(x)
    for c in range(x.shape[0]):
        head = x[c, c].real - squared(factor[c, :c]).sum(axis=0)
        root = np.sqrt(head)
        factor[c, c] = root
        for r in range(c + 1, x.shape[0]):
            rest = x[r, c] - times(factor[r, :c], factor[c, :c].conj()).sum(axis=0)
            factor[r, c] = scaled(rest, reciprocal(root))
    return factor


def substitute(factor, x):
    """factor^-1 x, by forward substitution."""
    solved = np.empty_like(x)
    for r in range(x.shape[0]):
        rest = x[r].copy()
        for k in range(r):
            rest -= times(factor[r, k], solved[k])
        solved[r] = scaled(rest, reciprocal(factor[r, r].real))
    return solved
