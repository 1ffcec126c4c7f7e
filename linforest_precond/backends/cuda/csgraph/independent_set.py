"""Maximal independent sets, in rounds of one launch."""

import numpy as np

from ..matrix.long_row_split import LONG_ROWS_FIELD, PIECE, split_long_rows
from ..runtime.launch import launch
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from .worklist import work_off

# The struct in independent_set.cu.
SELECTION = Struct(
    "Selection", "csgraph/independent_set.cu",
    indptr="P", indices="P", degrees="P", long_rows=LONG_ROWS_FIELD, states="P", offsets="P", unfinished="P",
    first_words="P", arrived="P", nearest="P", going="P", members="P", n="q", seed="Q", k="q",
)  # fmt: skip


def independent_set(pattern, k, seed):
    """1 for the vertices of the set, 0 for the others."""
    n, piece = pattern.n, PIECE
    program = kernels(
        "csgraph/independent_set", cooperative=True, INDEX=pattern.indptr.dtype.type, PIECE=piece
    )
    long_rows = split_long_rows(pattern.indptr, pattern.nnz, pattern.longest_row, piece)
    items = n + long_rows.most_pieces
    members, states = cupy.empty(n, np.int32), cupy.empty(n, np.uint8)
    offsets = cupy.empty(items if k == 1 else 0, np.uint16)
    unfinished, arrived = cupy.empty((2, long_rows.most_rows), np.uint32)
    first_words, nearest = cupy.empty(long_rows.most_rows, np.uint64), cupy.empty((k - 1, n), np.uint64)
    words = cupy.zeros(3 if k > 1 else 0, np.uint32)
    selection = SELECTION(
        indptr=pattern.indptr, indices=pattern.indices, degrees=pattern.degrees, long_rows=long_rows.field,
        states=states, offsets=offsets, unfinished=unfinished, first_words=first_words, arrived=arrived,
        nearest=nearest, going=words, members=members, n=n, seed=seed, k=k,
    )  # fmt: skip
    if k == 1:
        work_off(program.select_near, selection, items)
    else:
        # The last word serves the barrier.
        launch(program.select_far, (selection, words[2:]))
    return members
