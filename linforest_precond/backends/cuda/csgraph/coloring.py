"""Vertex colouring, in rounds of one launch."""

import numpy as np

from ..matrix.long_row_split import LONG_ROWS_FIELD, PIECE, split_long_rows
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from .worklist import work_off

# The struct in coloring.cu.
COLORING = Struct(
    "Coloring", "csgraph/coloring.cu",
    indptr="P", indices="P", degrees="P", long_rows=LONG_ROWS_FIELD, colors="P", offsets="P", unfinished="P",
    masks="P", n="q", seed="Q",
)  # fmt: skip


def color_vertices(pattern, largest_first, seed):
    """The colour of each vertex."""
    n, piece = pattern.n, PIECE
    program = kernels("csgraph/coloring", cooperative=True, INDEX=pattern.indptr.dtype.type, PIECE=piece)
    long_rows = split_long_rows(pattern.indptr, pattern.nnz, pattern.longest_row, piece)
    items = n + long_rows.most_pieces
    colors, offsets = cupy.empty(n, np.int32), cupy.zeros(items, np.uint16)
    unfinished = cupy.empty(long_rows.most_rows, np.uint32)
    masks = cupy.zeros(long_rows.most_pieces * piece // 32, np.uint32)
    coloring = COLORING(
        indptr=pattern.indptr, indices=pattern.indices, degrees=pattern.degrees if largest_first else None,
        long_rows=long_rows.field, colors=colors, offsets=offsets, unfinished=unfinished, masks=masks, n=n,
        seed=seed,
    )  # fmt: skip
    work_off(program.color, coloring, items)
    return colors
