"""The Cuthill-McKee order by a pipeline of levels, after an unordered breadth-first search."""

import numpy as np

from ..csgraph import breadth_first
from ..matrix.entries import WIDTHS
from ..runtime import INDICES, Program, Struct, cupy, launch_blocks, resident_blocks
from .rcm_leveled import NOT_MARKED

# Threads of a block, and positions that it processes at a time, no more than threads.
BLOCK, ROWS = 256, 64
# Polls without progress after which the watchdog expires; one takes some hundred nanoseconds.
PATIENCE = 1 << 23

LEVEL_TRAVERSAL = Struct("LevelTraversal", "reordering/rcm_unordered.cu")
# 32-bit words of the struct LevelSignals, and the offset of `failed`.
SIGNAL_WORDS, FAILED = 3, 2
PROGRAM = Program("reordering/rcm_unordered", cooperative=True, INDEX=INDICES, WIDTH=WIDTHS)


def traverse(rows, starts, blocks=None, patience=PATIENCE):
    """The vertices in Cuthill-McKee order, with the levels of all components interleaved."""
    n = rows.by_rank.size
    depths = cupy.empty(n, np.int32)
    breadth_first.search_rows(rows, starts, depths, breadth_first.queue_for(rows))
    widths = cupy.bincount(depths)  # stall: the number of levels
    offsets = cupy.zeros(widths.size + 1, np.int32)
    offsets[1:] = cupy.cumsum(widths)
    order, marks = cupy.empty(n, np.int32), cupy.empty(n, np.int32)
    signals = cupy.zeros(SIGNAL_WORDS, np.uint32)
    order.fill(-1)
    order[: starts.size] = starts
    marks.fill(NOT_MARKED)
    arguments = LEVEL_TRAVERSAL(
        spans=rows.spans, neighbours=rows.neighbours, depths=depths, offsets=offsets, marks=marks,
        order=order, signals=signals, levels=widths.size, rows=ROWS, patience=patience,
    )  # fmt: skip
    kernel = PROGRAM(**rows.macros).traverse_levels
    blocks = min(blocks or widths.size, resident_blocks(kernel, block=BLOCK))
    launch_blocks(kernel, blocks, (arguments,), block=BLOCK)
    if signals[FAILED]:  # stall: whether the traversal failed
        raise RuntimeError("The levels of the traversal came to a halt")
    return order
