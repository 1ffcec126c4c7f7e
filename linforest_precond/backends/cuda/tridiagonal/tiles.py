"""Launch sizes of sweeps.cu: the tile of a tridiagonal system that a thread block solves."""

import functools

import numpy as np

from ..runtime import wide_type

# Columns that `sweep_many` solves at once.
COLUMNS = 4
# Shared memory that a block may request on compute capability 8.0 and its successors with as much.
LARGEST_SHARED_MEMORY = 163 * 1024

KINDS = PLAIN, SYMMETRIC, TRANSPOSED = range(3)
BLOCK_SIZES = (1, 2, 4)

# (Block) rows per thread by the bytes of a value and the block size, for one column and for several. They are
# odd, so that threads that read their rows in lockstep have no bank conflicts.
_ROWS = {
    (4, 1): (13, 5), (8, 1): (9, 3), (16, 1): (5, 1),
    (4, 2): (5, 3), (8, 2): (3, 1), (16, 2): (1, 1),
    (4, 4): (1, 1), (8, 4): (1, 1), (16, 4): (1, 1),
}  # fmt: skip
# Thread blocks per multiprocessor, likewise: the occupancy that `__launch_bounds__` limits registers for.
_BLOCKS = {(4, 1): (4, 4), (8, 1): (3, 4), (16, 1): (3, 2), (4, 2): (3, 2), (8, 2): (3, 2)}


def block_size(diagonal):
    """1 for a scalar system, b for b x b blocks."""
    return diagonal.shape[1] if diagonal.ndim > 1 else 1


def aligned(band):
    """The band, copied where its address is not a multiple of 16 bytes, the unit of vectorized loads."""
    return band if band.data.ptr % 16 == 0 else band.copy()


def threads(dtype, block):
    """Threads of a block: fewer where a block row is large."""
    return 128 if np.dtype(dtype).itemsize * block * block > 128 else 256


def rows_of_thread(dtype, block):
    """(Block) rows per thread: for one column, for several."""
    return _ROWS[np.dtype(dtype).itemsize, block]


def carry_threads(block):
    """Threads of the block that computes the carries."""
    return 1024 if block == 1 else 256


def halo(dtype, block):
    """Rows of the halo on either side of a tile; in most grids, carries decay within it."""
    single = np.dtype(dtype).type(0).real.dtype.itemsize == 4
    return 32 if (block, single) in ((2, True), (4, False)) else 64


@functools.cache
def shared_memory(dtype, block, kind, rows, columns):
    """Bytes of a tile in shared memory with `rows` rows per thread: the layout of `SweepTile` (sweeps.cu)."""
    value = np.dtype(dtype).itemsize
    size, tile = value * block * block, threads(dtype, block) * rows
    room = max(16, size)
    matrix = 2 * tile * size + room if kind == SYMMETRIC else 3 * tile * size + 2 * room
    return matrix + columns * tile * block * value


@functools.cache
def macros(dtype, block, kind):
    """The macros of sweeps.cu; callers do not change the dictionary."""
    dtype = np.dtype(dtype)
    one, many = rows_of_thread(dtype, block)
    blocks, blocks_of_many = _BLOCKS.get((dtype.itemsize, block), (1, 1))
    return {
        "VALUE": dtype.type, "WIDE": wide_type(dtype), "BLOCK": block, "KIND": kind,
        "THREADS": threads(dtype, block), "LEAST_BLOCKS": blocks, "LEAST_BLOCKS_OF_MANY": blocks_of_many,
        "THREAD_ROWS": one, "THREAD_ROWS_OF_MANY": many, "COLUMNS_OF_MANY": COLUMNS,
    }  # fmt: skip
