"""Arithmetic of many small square blocks at once, in the four value types.

Blocks are stored as (b, b, m) arrays: entry (r, c) of m blocks lies contiguous, so that NumPy works on all
blocks side by side. The size of a number is |re| + |im|, which needs no root.
"""

from typing import NamedTuple

import numpy as np

# A pivot of so many roundings of the diagonal shows that a matrix is not positive definite.
VANISHING = 64


class Limits(NamedTuple):
    """Numbers of the type of the sizes."""

    epsilon: np.floating
    root_epsilon: np.floating
    tiny: np.floating  # the least number that is inverted


def limits_of(dtype):
    info = np.finfo(dtype)
    return Limits(info.eps, np.sqrt(info.eps), info.tiny)


def size(z):
    return np.abs(z.real) + np.abs(z.imag) if z.dtype.kind == "c" else np.abs(z)


def times(x, y):
    """Products of numbers; NumPy's own complex product may be fused, which rounds differently."""
    if x.dtype.kind != "c":
        return x * y
    real = x.real * y.real - x.imag * y.imag
    product = np.empty(real.shape, x.dtype)
    product.real = real
    product.imag = x.real * y.imag + x.imag * y.real
    return product


def scaled(z, factor):
    """Numbers times real ones."""
    if z.dtype.kind != "c":
        return z * factor
    product = np.empty(np.broadcast_shapes(z.shape, np.shape(factor)), z.dtype)
    product.real, product.imag = z.real * factor, z.imag * factor
    return product


def reciprocal(z):
    """1 / z; for complex numbers Smith's way, which neither overflows nor vanishes early."""
    one = z.real.dtype.type(1)
    if z.dtype.kind != "c":
        return one / z
    real_first = np.abs(z.real) >= np.abs(z.imag)
    larger, smaller = np.where(real_first, z.real, z.imag), np.where(real_first, z.imag, z.real)
    ratio = smaller / larger
    total = larger + smaller * ratio
    inverse = np.empty(z.shape, z.dtype)
    inverse.real = np.where(real_first, one, ratio) / total
    inverse.imag = -np.where(real_first, ratio, one) / total
    return inverse


def squared(z):
    """Squares of lengths."""
    return z.real * z.real + z.imag * z.imag if z.dtype.kind == "c" else z * z


def conjugate_transpose(x):
    return x.conj().swapaxes(0, 1)


def identity(b, m, dtype):
    blocks = np.zeros((b, b, m), dtype)
    blocks[range(b), range(b)] = 1
    return blocks


def largest_size(x):
    return size(x).max(axis=(0, 1))


def lifted(pivots, row_sizes, limits):
    """What pivots that vanished become, all real: the root of epsilon times the row, 1 in an empty row."""
    least = limits.root_epsilon * row_sizes
    return np.where(least < limits.tiny, least.dtype.type(1), np.where(pivots.real < 0, -least, least))


def without_tiny(pivots, row_sizes, limits):
    """Pivots that vanish beside their rows, lifted, and which these are."""
    own = size(pivots)
    tiny = (own <= limits.epsilon * row_sizes) | (own < limits.tiny)
    return np.where(tiny, lifted(pivots, row_sizes, limits), pivots) if tiny.any() else pivots, tiny


def invert(x, row_sizes, limits):
    """Inverses by Gauss-Jordan with partial pivoting, and how many pivots vanished and were lifted."""
    b, _, m = x.shape
    if b == 1:
        pivots, tiny = without_tiny(x, row_sizes, limits)
        return reciprocal(pivots), tiny[0, 0].astype(np.int64)
    x, inverse = x.copy(), identity(b, m, x.dtype)
    lifts = np.zeros(m, np.int64)
    for k in range(b):
        exchange_rows(x, inverse, k)
        pivots, tiny = without_tiny(x[k, k], row_sizes, limits)
        lifts += tiny
        factor = reciprocal(pivots)
        x[k, k + 1 :] = times(x[k, k + 1 :], factor)
        inverse[k] = times(inverse[k], factor)
        for r in range(b):
            if r != k:
                x[r, k + 1 :] -= times(x[r, k], x[k, k + 1 :])
                inverse[r] -= times(x[r, k], inverse[k])
    return inverse, lifts


def exchange_rows(x, inverse, k):
    """Bring the row with the largest entry in column k to row k, the first one where several are equal."""
    best = k + size(x[k:, k]).argmax(axis=0)
    for r in range(k + 1, x.shape[0]):
        here = best == r
        for blocks in (x, inverse) if here.any() else ():
            blocks[k], blocks[r] = np.where(here, blocks[r], blocks[k]), np.where(here, blocks[k], blocks[r])


def is_indefinite(pivots, diagonals, limits):
    """Which pivot blocks fail to be positive definite beside the diagonal blocks they came from."""
    b, _, m = pivots.shape
    x, failed = pivots.copy(), np.zeros(m, bool)
    for k in range(b):
        head = x[k, k].real
        failed |= head <= VANISHING * limits.epsilon * diagonals[k, k].real
        factor = reciprocal(head)
        for r in range(k + 1, b):
            x[r, k + 1 :] -= times(scaled(x[r, k], factor), x[k, k + 1 :])
    return failed
