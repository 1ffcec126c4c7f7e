"""The order of Cuthill and McKee, level by level in one launch."""

import numpy as np

from ..csgraph.frontier import ITEM_BYTES, Meeting
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct

NOT_MARKED = np.iinfo(np.int32).max

# The struct in leveled.cu.
TRAVERSAL = Struct(
    "Traversal", "reordering/rcm_leveled.cu",
    spans="P", neighbours="P", starts="P", marks="P", order="P", even="P", odd="P", totals="P", meetings="P",
    hand_over="P", start_count="i",
)  # fmt: skip


def traverse(rows, starts, **sizes):
    """The vertices in the order of all components' queues, one level of all components after the other."""
    n = rows.by_rank.size
    meeting = Meeting(rows.width, **sizes)
    order, marks = cupy.empty(n, np.int32), cupy.empty(n, np.int32)
    marks.fill(NOT_MARKED)
    marks[starts] = -1
    items = cupy.empty((2, ITEM_BYTES * rows.most_items), np.uint8)
    arguments = TRAVERSAL(
        spans=rows.spans, neighbours=rows.neighbours, starts=starts, marks=marks, order=order,
        even=items[0], odd=items[1], totals=meeting.totals, meetings=meeting.meetings,
        hand_over=meeting.hand_over, start_count=starts.size,
    )  # fmt: skip
    meeting.launch(kernels("reordering/rcm_leveled", cooperative=True, **rows.macros).traverse, arguments)
    return order
