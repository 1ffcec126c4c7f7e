"""Maximal independent sets by Luby's rounds and MIS(k), all rounds in one launch."""

import numpy as np

from ..matrix.long_row_split import LONG_ROWS_FIELD, PIECE, split_long_rows
from ..runtime.launch import blocks_for, launch, launch_blocks
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct
from .worklist import process_worklist

# For k = 2: entries that a lane loads at once, as LOADS in worklist.cuh, and takes of one row at most.
LOADS, LANE_ENTRIES = 4, 64
BLOCKS, FREELY, BACKOFF, FREE_LOADS = None, True, 0, 4

SELECTION = Struct(
    "Selection", "csgraph/independent_set.cu",
    indptr="P", indices="P", degrees="P", long_rows=LONG_ROWS_FIELD, states="P", offsets="P", unfinished="P",
    row_minima="P", arrived="P", minima="P", any_undecided="P", members="P", lists="P", barrier="P", n="q", seed="Q", k="q",
    lanes="q",
)  # fmt: skip


def independent_set(pattern, k, seed):
    """1 for the vertices of the set, 0 for the others."""
    n, piece = pattern.n, PIECE
    if k == 1 and FREELY:
        return distance_1(pattern, seed)
    program = kernels(
        "csgraph/independent_set", cooperative=True, INDEX=pattern.indptr.dtype.type, PIECE=piece, BACKOFF=BACKOFF
    )
    long_rows = split_long_rows(pattern.indptr, pattern.nnz, pattern.longest_row, piece)
    items = n + long_rows.most_pieces
    members, states = cupy.empty(n, np.int32), cupy.empty(n, np.uint8)
    lanes = lanes_per_vertex(pattern)
    offsets = cupy.empty(items if k == 1 else 0, np.uint16)
    unfinished, arrived = cupy.empty((2, long_rows.most_rows), np.uint32)
    row_minima = cupy.empty(long_rows.most_rows, np.uint64)
    minima = cupy.empty((k - 1, n), np.uint64)
    words = cupy.zeros(3 if k > 1 else 0, np.uint32)
    selection = SELECTION(
        indptr=pattern.indptr, indices=pattern.indices, degrees=pattern.degrees, long_rows=long_rows.field,
        states=states, offsets=offsets, unfinished=unfinished, row_minima=row_minima, arrived=arrived,
        minima=minima, any_undecided=words, members=members, lists=None, barrier=None, n=n, seed=seed, k=k,
        lanes=lanes,
    )  # fmt: skip
    if k == 1:
        process_worklist(program.select_distance_1, selection, items)
    elif k == 2 and pattern.longest_row <= LANE_ENTRIES * lanes:
        process_worklist(program.select_distance_2, selection, n, threads=n * lanes)
    else:
        # The last word is the barrier.
        launch(program.select_distance_k, (selection, words[2:]), items=items)
    return members


def distance_1(pattern, seed):
    n, piece = pattern.n, PIECE
    program = kernels(
        "csgraph/independent_set", cooperative=True, INDEX=pattern.indptr.dtype.type, PIECE=piece, BACKOFF=BACKOFF, LOADS=FREE_LOADS
    )
    kernel = program.select_freely
    long_rows = split_long_rows(pattern.indptr, pattern.nnz, pattern.longest_row, piece)
    items = n + long_rows.most_pieces
    blocks = blocks_for(kernel, items)
    blocks = min(blocks, BLOCKS or blocks)
    members = cupy.empty(n, np.int32)
    listed = items + 33 * 8 * blocks
    memory = cupy.empty(2 + listed + long_rows.most_rows + (3 * items + 3) // 4 + 1, np.uint32)
    memory.data.memset_async(0, 8)
    lists = memory.data.ptr + 8
    unfinished = lists + 4 * listed
    offsets = unfinished + 4 * long_rows.most_rows
    selection = SELECTION(
        indptr=pattern.indptr, indices=pattern.indices, degrees=pattern.degrees, long_rows=long_rows.field,
        states=offsets + 2 * items, offsets=offsets, unfinished=unfinished, row_minima=None, arrived=None,
        minima=None, any_undecided=None, members=members, lists=lists, barrier=memory, n=n, seed=seed, k=1,
        lanes=1,
    )  # fmt: skip
    launch_blocks(kernel, blocks, (selection,))
    return members


def lanes_per_vertex(pattern):
    """Lanes that load a row of mean length at once."""
    return next(
        lanes for lanes in (1, 2, 4, 8, 16, 32) if lanes * LOADS * pattern.n >= pattern.nnz or lanes == 32
    )
