"""Euclidean norms of the columns of vectors on the device, in one launch."""

import numpy as np

from ..runtime import WEIGHTS, Program, cupy, launch_blocks, wide_type
from ..runtime.grid_sums import LARGEST_GRID, THREADS, sums_of

SUMS = 3
ENTRIES_OF_THREAD = 4
PROGRAM = Program("krylov/norms", VALUE=WEIGHTS, WIDE=wide_type, BLOCK=1)


def column_norms(columns):
    """The norms of the columns of an (n, k) array, on the host; nothing overflows inside."""
    (rows, count), value = columns.shape, columns.real.dtype
    if count > THREADS // 2:  # more than a block has threads for, perhaps
        parts = [slice(first, first + THREADS // 2) for first in range(0, count, THREADS // 2)]
        return np.concatenate([column_norms(columns[:, part]) for part in parts])
    # Real and imaginary parts are separate columns.
    reals = cupy.ascontiguousarray(columns).view(value)
    sums, _held = sums_of(reals.shape[1], SUMS, np.float64)
    norms = cupy.empty(reals.shape[1])
    blocks = max(1, min(LARGEST_GRID, -(-reals.size // (THREADS * ENTRIES_OF_THREAD))))
    launch_blocks(PROGRAM(VALUE=value).find_norms, blocks, (rows, sums, reals, norms), block=THREADS)
    found = norms.get().reshape(count, -1)  # stall: tolerances are relative to it
    return found[:, 0] if found.shape[1] == 1 else np.hypot(*found.T)


def largest_magnitudes(columns):
    """The largest magnitude of each column, on the host; there is at least one row.

    Column by column: CuPy reduces the first of two axes by one thread block for each column, which takes
    milliseconds for a million rows.
    """
    found = [abs(columns[:, c]).max() for c in range(columns.shape[1])]
    return cupy.stack(found).get()  # stall: decides whether rounding errors count


def finite_columns(columns):
    """Which columns have no NaN and no infinity, on the host."""
    finite = np.isfinite(column_norms(columns))
    if finite.all():
        return finite
    return cupy.isfinite(columns).all(axis=0).get()  # stall: numbers were too large for a norm
