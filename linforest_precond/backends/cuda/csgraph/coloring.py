"""Jones-Plassmann vertex colouring with shortcuts, in one launch."""

import numpy as np

from ..matrix.long_row_split import LONG_ROWS_FIELD, split_long_rows
from ..runtime import INDICES, Program, Struct, blocks_for, cupy, launch_blocks
from .independent_set import listed_items

COLORING = Struct("Coloring", "csgraph/predecessors.cuh", long_rows=LONG_ROWS_FIELD)
# Lanes of an item, at most.
LANES = 32
# Rows of more entries are split into pieces for several warps. A colour passes from a piece to its row and
# then to the neighbours, one step more than in a row that a warp scans alone.
PIECE = 4096
# Entries of a row that is not listed, at most, as in predecessors.cuh.
SHORT_ROW = 63
PROGRAM = Program("csgraph/coloring", cooperative=True, INDEX=INDICES, PIECE=PIECE)


def color_vertices(pattern, largest_first, seed):
    n, nnz, piece = pattern.n, pattern.nnz, PIECE
    program = PROGRAM(INDEX=pattern.indptr, PIECE=piece)
    long_rows = split_long_rows(pattern.indptr, nnz, pattern.longest_row, piece)
    items = n + long_rows.most_pieces + long_rows.most_rows
    blocks = blocks_for(program.color, LANES * items)
    has_lists = pattern.longest_row > min(SHORT_ROW, piece)
    mask_words = n + nnz // 32 + 1 if has_lists else 0
    # In the end, the states are the colours.
    states, bounds = cupy.empty(n, np.int32), cupy.empty(long_rows.most_pieces, np.uint32)
    blockers, lengths = cupy.empty((2, items), np.uint32)
    listed, masks = cupy.empty(nnz if has_lists else 0, np.int32), cupy.empty(mask_words, np.uint32)
    lists, barrier = cupy.empty(listed_items(items, blocks), np.uint32), cupy.zeros(1, np.uint32)
    coloring = COLORING(
        indptr=pattern.indptr, indices=pattern.indices, degrees=pattern.degrees if largest_first else None,
        long_rows=long_rows.field, states=states, bounds=bounds, blockers=blockers, lengths=lengths,
        listed=listed, masks=masks, lists=lists, barrier=barrier, n=n, mask_words=mask_words, seed=seed,
    )  # fmt: skip
    launch_blocks(program.color, blocks, (coloring,))
    return states
