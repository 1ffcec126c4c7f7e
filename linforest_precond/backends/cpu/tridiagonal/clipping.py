"""Clipping of couplings: makes a Hermitian (block) tridiagonal matrix positive definite."""

import numpy as np

from ..runtime.arithmetic import (
    conjugate_transpose,
    is_indefinite,
    limits_of,
    reciprocal,
    scaled,
    squared,
    times,
)

AT_ONCE = 2**15  # rows that are worked on at a time, to stay in the cache
# The largest norm of C^-1 E C'^-H for a coupling E of diagonal blocks with the Cholesky factors C and C'.
# A row has two couplings: both together stay below 1.
SHARE = 0.4995
# The same for the off-diagonal entries of a row inside a diagonal block, all together.
INNER_SHARE = 0.999


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
