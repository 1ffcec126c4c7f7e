"""Jones-Plassmann vertex colouring with shortcuts, in one launch."""

import numpy as np

from ..matrix.long_row_split import LONG_ROWS_FIELD, PIECE, split_long_rows
from ..runtime.launch import blocks_for, launch_blocks
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from .worklist import listed_items

COLORING = Struct(
    "Coloring", "csgraph/coloring.cu",
    indptr="P", indices="P", degrees="P", long_rows=LONG_ROWS_FIELD, states="P", progress="P", reports="P",
    masks="P", lists="P", barrier="P", n="q", mask_words="q", seed="Q",
)  # fmt: skip
# Lanes of an item, at most.
LANES = 32


def color_vertices(pattern, largest_first, seed):
    """The colour of each vertex."""
    n, piece = pattern.n, PIECE
    program = kernels("csgraph/coloring", cooperative=True, INDEX=pattern.indptr.dtype.type, PIECE=piece)
    long_rows = split_long_rows(pattern.indptr, pattern.nnz, pattern.longest_row, piece)
    items, mask_words = n + long_rows.most_pieces, n + pattern.nnz // 32 + 1
    blocks = blocks_for(program.color, LANES * items)
    # In the end, the states are the colours.
    states, progress = cupy.empty(n, np.int32), cupy.empty(items, np.uint64)
    masks, lists = cupy.empty(mask_words, np.uint32), cupy.empty(listed_items(items, blocks), np.uint32)
    reports, barrier = cupy.empty(long_rows.most_rows, np.uint64), cupy.zeros(1, np.uint32)
    coloring = COLORING(
        indptr=pattern.indptr, indices=pattern.indices, degrees=pattern.degrees if largest_first else None,
        long_rows=long_rows.field, states=states, progress=progress, reports=reports, masks=masks,
        lists=lists, barrier=barrier, n=n, mask_words=mask_words, seed=seed,
    )  # fmt: skip
    launch_blocks(program.color, blocks, (coloring,))
    return states
