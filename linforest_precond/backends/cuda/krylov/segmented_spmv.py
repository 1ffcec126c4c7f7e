"""d = A x + d by segmented reduction over CSR (SRCSR), a baseline of studies; not of the Krylov solvers."""

import numpy as np

from ..runtime import INDICES, WEIGHTS, Program, cupy, launch_blocks

THREADS, ITEMS = 256, 7
TILE = THREADS * ITEMS
PROGRAM = Program(
    "krylov/segmented_spmv", same_bits=False, VALUE=WEIGHTS, INDEX=INDICES, THREADS=THREADS, ITEMS=ITEMS
)


class SegmentedProduct:
    """The product with a real CSR matrix. Only the rows in which tiles of entries begin are found in advance.

    Sums of rows in several tiles are atomic: they differ between calls by rounding.
    """

    def __init__(self, A):
        self._entries, self._tiles = A.indices.size, -(-A.indices.size // TILE)
        starts = cupy.minimum(cupy.arange(self._tiles + 1, dtype=np.int64) * TILE, self._entries - 1)
        rows = cupy.searchsorted(A.indptr, starts, side="right") - 1
        self._arrays = A.indptr, A.indices, A.data, rows.astype(A.indptr.dtype)
        self._kernel = PROGRAM(VALUE=A.data, INDEX=A.indptr).add_product

    def add_to(self, d, x):
        if self._tiles:
            launch_blocks(self._kernel, self._tiles, (*self._arrays, self._entries, x, d), block=THREADS)
