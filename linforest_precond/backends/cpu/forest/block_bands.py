"""The three block bands of the permuted matrix: copies of its entries along paths of blocks."""

import numpy as np
from numba import prange

from ..matrix.entries import find_slot
from ..runtime.arrays import NOT_FOUND, readonly
from ..runtime.jit import kernel

# Entries of a row that is searched from end to end; longer ones are searched by halves.
LONGEST_SCANNED = 12


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
# (One long function: a helper that takes these arrays, called for every block, costs several times as much.)
@kernel(parallel=True)
def copy_blocks(indptr, indices, words, ghosts, members, starts_path, lower, diagonal, upper):
    n, b = members.shape
    for block in prange(n):
        first = block if starts_path[block] else block - 1
        end = block + 1 if block + 1 == n or starts_path[block + 1] else block + 2
        for i in range(b):
            v = np.int64(members[block, i])
            if v < 0:
                for k in range(ghosts.shape[1]):
                    diagonal[block, i, i, k] = ghosts[members[block, 0], k]
                continue
            begin, row_end = np.int64(indptr[v]), np.int64(indptr[v + 1])
            for other in range(first, end):
                for j in range(b):
                    w = np.int64(members[other, j])
                    slot = np.int64(NOT_FOUND)
                    if row_end - begin > LONGEST_SCANNED:
                        slot = find_slot(indptr, indices, v, w)
                    else:
                        for place in range(begin, row_end):
                            slot = place if indices[place] == w else slot
                    for k in range(words.shape[1] if slot >= 0 else 0):
                        if other < block:
                            lower[block, i, j, k] = words[slot, k]
                        elif other == block:
                            diagonal[block, i, j, k] = words[slot, k]
                        else:
                            upper[block, i, j, k] = words[slot, k]
