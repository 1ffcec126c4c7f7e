"""The b x b diagonal blocks of a matrix: gathered, inverted, multiplied with vectors (block Jacobi)."""

import numpy as np
from numba import prange

from ..runtime.arithmetic import conjugate_transpose, is_indefinite, largest_size, limits_of
from ..runtime.arithmetic import invert as invert_blocks
from ..runtime.arrays import readonly
from ..runtime.jit import kernel


def gather(csr, block_size):
    """The diagonal blocks in A's order, (blocks, b, b); a short last block is padded with the identity."""
    count = -(-csr.n // block_size)
    blocks = np.zeros((count, block_size, block_size), csr.data.dtype)
    copy_blocks(*map(readonly, (csr.indptr, csr.indices, csr.data)), blocks)
    return blocks


def invert(blocks):
    """The inverses; counts of perturbed pivots, and of blocks that are not Hermitian positive definite."""
    side_by_side, limits = np.ascontiguousarray(np.moveaxis(blocks, 0, -1)), limits_of(blocks.dtype)
    with np.errstate(all="ignore"):  # pivots may be zero
        hermitian = (side_by_side == conjugate_transpose(side_by_side)).all(axis=(0, 1))
        definite = hermitian & ~is_indefinite(side_by_side, side_by_side, limits)
        inverse, perturbed = invert_blocks(side_by_side, largest_size(side_by_side), limits)
    report = np.array([perturbed.sum(), np.count_nonzero(~definite)])
    return np.ascontiguousarray(np.moveaxis(inverse, -1, 0)), report


def apply(inverse, b, x, transpose):
    """x = inverse @ b, block by block; b and x are (N, k) arrays of any strides."""
    if inverse.shape[1] == 1:
        np.multiply(inverse.reshape(-1, 1), b, out=x)
        return
    # A kernel is compiled for every layout of b.
    b = readonly(np.ascontiguousarray(b))
    multiply_blocks(readonly(inverse.transpose(0, 2, 1) if transpose else inverse), b, x)


# One block per iteration, from the entries of its rows.
@kernel(parallel=True)
def copy_blocks(indptr, indices, data, blocks):
    n, b = indptr.size - 1, blocks.shape[1]
    for i in prange(blocks.shape[0]):
        first = i * b
        for r in range(b):
            if first + r >= n:
                blocks[i, r, r] = 1
                continue
            for slot in range(indptr[first + r], indptr[first + r + 1]):
                column = np.int64(indices[slot]) - first
                if 0 <= column < b:
                    blocks[i, r, column] = data[slot]


@kernel(parallel=True)
def multiply_blocks(inverse, b, x):
    size = inverse.shape[1]
    for i in prange(inverse.shape[0]):
        first = i * size
        rows = min(size, b.shape[0] - first)
        for r in range(rows):
            for column in range(b.shape[1]):
                total = inverse[i, r, 0] * b[first, column]
                for c in range(1, rows):
                    total += inverse[i, r, c] * b[first + c, column]
                x[first + r, column] = total
