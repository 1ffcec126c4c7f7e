"""Jones-Plassmann vertex colouring, all rounds in one launch."""

import numpy as np

from ..matrix.long_row_split import LONG_ROWS_FIELD, PIECE, split_long_rows
from ..runtime.launch import launch_blocks, resident_blocks
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from .worklist import LENGTHS, WORKLIST

COLORING = Struct(
    "Coloring", "csgraph/coloring.cu",
    indptr="P", indices="P", degrees="P", long_rows=LONG_ROWS_FIELD, states="P", progress="P", reports="P",
    masks="P", n="q", mask_words="q", seed="Q",
)  # fmt: skip
BLOCKS, FREELY, BACKOFF = None, True, 0


def color_vertices(pattern, largest_first, seed):
    """The colour of each vertex."""
    n, piece = pattern.n, PIECE
    program = kernels("csgraph/coloring", cooperative=True, INDEX=pattern.indptr.dtype.type, PIECE=piece, BACKOFF=BACKOFF)
    long_rows = split_long_rows(pattern.indptr, pattern.nnz, pattern.longest_row, piece)
    capacity = n + long_rows.most_pieces
    mask_words = n + pattern.nnz // 32 + 1
    states, masks = cupy.empty(n, np.int32), cupy.empty(mask_words, np.uint32)
    progress = cupy.empty(capacity, np.uint64)
    reports = cupy.empty(long_rows.most_rows, np.uint64)
    coloring = COLORING(
        indptr=pattern.indptr, indices=pattern.indices, degrees=pattern.degrees if largest_first else None,
        long_rows=long_rows.field, states=states, progress=progress, reports=reports, masks=masks, n=n,
        mask_words=mask_words, seed=seed,
    )  # fmt: skip
    if FREELY:
        blocks = resident_blocks(program.color_freely)
        blocks = min(blocks, BLOCKS or blocks)
        lists = cupy.empty(capacity + 40 * 8 * blocks, np.uint32)
        barrier = cupy.zeros(1, np.uint32)
        launch_blocks(program.color_freely, blocks, (coloring, lists, barrier))
        return states
    items = cupy.empty((2, capacity), np.uint32)
    words = cupy.zeros(LENGTHS + 1, np.uint64)
    worklist = WORKLIST(items=items, lengths=words, capacity=capacity)
    blocks = resident_blocks(program.color)
    launch_blocks(program.color, min(blocks, BLOCKS or blocks), (coloring, worklist, words[LENGTHS:]))
    return states
