"""Batched arithmetic of small dense blocks, in the four value types.

m blocks are stored as a (b, b, m) array: entry (r, c) of all blocks is contiguous, so that NumPy vectorizes
over the blocks. The size of a number is its 1-norm |re| + |im|, which needs no square root.
"""

from typing import NamedTuple

import numpy as np

# A pivot of at most this many machine epsilons times its diagonal entry shows that a matrix is not positive
# definite.
VANISHING = 64


class Limits(NamedTuple):
    """Limits of the floating-point type of the sizes."""

    epsilon: np.floating
    root_epsilon: np.floating
    tiny: np.floating  # the smallest normal number: smaller ones are not inverted


def limits_of(dtype):
    info = np.finfo(dtype)
    return Limits(info.eps, np.sqrt(info.eps), info.tiny)


def size(z):
    return np.abs(z.real) + np.abs(z.imag) if z.dtype.kind == "c" else np.abs(z)


def times(x, y):
    """x * y entry by entry; NumPy's complex product may use fused multiply-adds, which round differently."""
    if x.dtype.kind != "c":
        return x * y
    real = x.real * y.real - x.imag * y.imag
    product = np.empty(real.shape, x.dtype)
    product.real = real
    product.imag = x.real * y.imag + x.imag * y.real
    return product


def scaled(z, factor):
    """z times a real factor."""
    if z.dtype.kind != "c":
        return z * factor
    product = np.empty(np.broadcast_shapes(z.shape, np.shape(factor)), z.dtype)
    product.real, product.imag = z.real * factor, z.imag * factor
    return product


def reciprocal(z):
    """1 / z; for complex numbers by Smith's formula (1962), which avoids overflow and underflow."""
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
    """The squared modulus |z|^2."""
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
    """Perturbed pivots: +-sqrt(eps) times the norm of the row, real; 1 where the row is (almost) zero."""
    least = limits.root_epsilon * row_sizes
    return np.where(least < limits.tiny, least.dtype.type(1), np.where(pivots.real < 0, -least, least))


def without_tiny(pivots, row_sizes, limits):
    """The pivots, perturbed where they are tiny relative to their rows, and a mask of the perturbed ones."""
    own = size(pivots)
    tiny = (own <= limits.epsilon * row_sizes) | (own < limits.tiny)
    return np.where(tiny, lifted(pivots, row_sizes, limits), pivots) if tiny.any() else pivots, tiny


def invert(x, row_sizes, limits):
    """Inverses by Gauss-Jordan elimination with partial pivoting, and the perturbed pivots per block."""
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
    """Partial pivoting: swap the row with the largest entry in column k to row k; the first of equal ones."""
    best = k + size(x[k:, k]).argmax(axis=0)
    for r in range(k + 1, x.shape[0]):
        here = best == r
        for blocks in (x, inverse) if here.any() else ():
            blocks[k], blocks[r] = np.where(here, blocks[r], blocks[k]), np.where(here, blocks[k], blocks[r])


def is_indefinite(pivots, diagonals, limits):
    """A mask of the pivot blocks that are not positive definite, relative to their diagonal blocks."""
    b, _, m = pivots.shape
    x, failed = pivots.copy(), np.zeros(m, bool)
    for k in range(b):
        head = x[k, k].real
        failed |= head <= VANISHING * limits.epsilon * diagonals[k, k].real
        factor = reciprocal(head)
        for r in range(k + 1, b):
            x[r, k + 1 :] -= times(scaled(x[r, k], factor), x[k, k + 1 :])
    return failed
