"""The level-synchronous Cuthill-McKee order, in one launch."""

import numpy as np

from ..csgraph.frontier import ITEM_BYTES, FrontierLaunch
from ..matrix.entries import WIDTHS
from ..runtime import INDICES, Program, Struct, cupy

NOT_MARKED = np.iinfo(np.int32).max

TRAVERSAL = Struct("Traversal", "reordering/rcm_leveled.cu")
PROGRAM = Program("reordering/rcm_leveled", cooperative=True, INDEX=INDICES, WIDTH=WIDTHS)


def traverse(rows, starts, **sizes):
    """The vertices in Cuthill-McKee order, with the frontiers of all components interleaved."""
    n = rows.by_rank.size
    launch_state = FrontierLaunch(rows.width, **sizes)
    order, marks = cupy.empty(n, np.int32), cupy.empty(n, np.int32)
    marks.fill(NOT_MARKED)
    marks[starts] = -1
    items = cupy.empty((2, ITEM_BYTES * rows.most_items), np.uint8)
    arguments = TRAVERSAL(
        spans=rows.spans, neighbours=rows.neighbours, starts=starts, marks=marks, order=order,
        even=items[0], odd=items[1], totals=launch_state.totals, sum_words=launch_state.sum_words,
        handoff=launch_state.handoff, start_count=starts.size,
    )  # fmt: skip
    launch_state.launch(PROGRAM(**rows.macros).traverse, arguments)
    return order
