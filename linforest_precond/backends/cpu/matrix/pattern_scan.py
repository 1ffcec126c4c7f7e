"""The pattern of a matrix, checked in one pass without its values."""

import numpy as np
from numba import prange

from linforest_precond.backends.returns import PatternScan

from ..runtime.arrays import NOT_FOUND, readonly
from ..runtime.hashing import mix64
from ..runtime.jit import kernel
from .entries import check_rows

# Rows of a thread's share.
ROW_CHUNK = 4096
SHIFT_32 = np.uint64(32)


def scan_pattern(indptr, indices):
    """One pass over the indices: are they in range, sorted, symmetric; the degrees and the longest row."""
    rows = indptr.size - 1
    chunks = -(-rows // ROW_CHUNK)
    broken, unsorted = np.zeros((2, chunks), bool)
    balances, longest = np.zeros(chunks, np.uint64), np.zeros(chunks, np.int64)
    degrees = np.zeros(rows, np.int32)
    scan_rows(readonly(indptr), readonly(indices), broken, unsorted, balances, longest, degrees)
    bad_row = outside = NOT_FOUND
    if broken.any() or indptr[0] != 0 or indptr[-1] != indices.size:
        bad_row, _ = check_rows(readonly(indptr), indices.size)
        is_outside = (indices < 0) | (indices >= rows)
        outside = int(is_outside.argmax()) if is_outside.any() else NOT_FOUND
    return PatternScan(
        first_bad_row=bad_row,
        first_out_of_range=outside,
        sorted=not unsorted.any(),
        symmetric=int(balances.sum(dtype=np.uint64)) == 0,
        longest_row=int(longest.max(initial=0)),
        degrees=degrees,
    )


# Each chunk of rows reports indices out of range, unsorted rows, its longest row and its symmetry balance:
# hashes of edges, which are the same from both ends, above the diagonal minus those below.
@kernel(parallel=True)
def scan_rows(indptr, indices, broken, unsorted, balances, longest, degrees):
    n = indptr.size - 1
    for chunk in prange(balances.size):
        balance, most = np.uint64(0), np.int64(0)
        outside = disordered = False
        for row in range(chunk * ROW_CHUNK, min((chunk + 1) * ROW_CHUNK, n)):
            begin, end = np.int64(indptr[row]), np.int64(indptr[row + 1])
            if begin < 0 or end < begin or end > indices.size:
                outside = True
                continue
            most = max(most, end - begin)
            degrees[row] = end - begin
            # Unsigned: a negative column is too large, and Numba does not wrap it around.
            here, next_col = np.uint64(row), np.uint64(0)
            for slot in range(np.uint64(begin), np.uint64(end)):
                col = np.uint64(indices[slot])
                outside |= col >= np.uint64(n)
                disordered |= col < next_col
                next_col = col + np.uint64(1)
                word = mix64((min(here, col) << SHIFT_32) + max(here, col))
                # Without a branch, which would be mispredicted on shuffled matrices.
                balance += word * (np.uint64(col > here) - np.uint64(col < here))
                degrees[here] -= col == here
        broken[chunk], unsorted[chunk] = outside, disordered
        balances[chunk], longest[chunk] = balance, most
