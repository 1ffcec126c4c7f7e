"""The three block bands of the permuted matrix: copies of its entries along paths of blocks."""

import numpy as np
from numba import prange

from ..matrix.entries import find_slot
from ..runtime.arrays import NO_VERTEX, readonly
from ..runtime.jit import helper, kernel


def extract(csr, members, starts_path):
    """Copy A's entries inside the blocks and between neighbours on a path.

    The diagonal entry of a ghost is that of the first vertex of its block, so that it has the scale of A; it
    is 1 where that is 0. `members` holds a row of vertices for each block, `starts_path` whether the block is
    the first of its path.
    """
    n, b = members.shape
    # Values are copied as 32-bit words, so that one compiled kernel serves every type.
    words = csr.data.view(np.uint32).reshape(csr.nnz, csr.data.itemsize // 4)
    own = np.where(csr.diagonal != 0, csr.diagonal, csr.data.dtype.type(1))
    ghosts = own.view(np.uint32).reshape(csr.n, words.shape[1])
    bands = [np.zeros((n, b, b, words.shape[1]), np.uint32) for _ in range(3)]
    arrays = map(readonly, (csr.indptr, csr.indices, words, ghosts, members, starts_path))
    copy_blocks(*arrays, *bands)
    return tuple(band.view(csr.data.dtype).reshape(n, b, b) for band in bands)


# Each block copies the entries of its rows in its own columns and in those of the blocks before and after it.
@kernel(parallel=True)
def copy_blocks(indptr, indices, words, ghosts, members, starts_path, lower, diagonal, upper):
    n = members.shape[0]
    for block in prange(n):
        if not starts_path[block]:
            copy_block(indptr, indices, words, members, block, block - 1, lower)
        copy_block(indptr, indices, words, members, block, block, diagonal)
        if block + 1 < n and not starts_path[block + 1]:
            copy_block(indptr, indices, words, members, block, block + 1, upper)
        for i in range(members.shape[1]):
            if members[block, i] < 0:
                for k in range(ghosts.shape[1]):
                    diagonal[block, i, i, k] = ghosts[members[block, 0], k]


@helper
def copy_block(indptr, indices, words, members, block, other, band):
    for i in range(members.shape[1]):
        for j in range(members.shape[1]):
            v, w = np.int64(members[block, i]), np.int64(members[other, j])
            slot = find_slot(indptr, indices, v, w) if v >= 0 and w >= 0 else np.int64(NO_VERTEX)
            if slot >= 0:
                for k in range(words.shape[1]):
                    band[block, i, j, k] = words[slot, k]
