"""Maximal independent sets by Luby's algorithm, with fixed priorities or random selections; MIS(k).

Each is one launch with all rounds.
"""

import itertools

import numpy as np

from ..matrix.long_row_split import LONG_ROWS_FIELD, PIECE, split_long_rows
from ..runtime import BLOCK, INDICES, Program, Struct, blocks_for, cupy, launch, launch_blocks

# For k = 2: entries that a lane loads at once, as LOADS in worklist.cuh, and takes of one row at most.
LOADS, LANE_ENTRIES = 4, 64
BARRIER_BYTES = 8
# Counters of a worklist.
LENGTHS = 3
WORKLIST = Struct("Worklist", "csgraph/worklist.cuh")

SELECTION = Struct("Selection", "csgraph/independent_set.cu", long_rows=LONG_ROWS_FIELD)
PROGRAM = Program("csgraph/independent_set", cooperative=True, INDEX=INDICES, PIECE=PIECE)
LUBY = Struct("Luby", "csgraph/luby.cu")
# Words in rotation that count vertices.
COUNTS = 3
LUBY_PROGRAM = Program("csgraph/luby", cooperative=True, INDEX=INDICES)


def independent_set(pattern, k, seed):
    program = PROGRAM(INDEX=pattern.indptr, PIECE=PIECE)
    long_rows = split_long_rows(pattern.indptr, pattern.nnz, pattern.longest_row, PIECE)
    members = cupy.empty(pattern.n, np.int32)
    select = select_neighbours_apart if k == 1 else select_farther_apart
    select(program, pattern, long_rows, members, k, seed)
    return members


def select_neighbours_apart(program, pattern, long_rows, members, k, seed):
    """The set for k = 1."""
    kernel, items = program.select_distance_1, pattern.n + long_rows.most_pieces
    blocks = blocks_for(kernel, items)
    # One allocation: small graphs are latency-bound.
    sizes = {
        "barrier": BARRIER_BYTES, "lists": 4 * listed_items(items, blocks),
        "unfinished": 4 * long_rows.most_rows, "offsets": 2 * items, "states": pattern.n,
    }  # fmt: skip
    memory = cupy.empty(sum(sizes.values()), np.uint8)
    memory.data.memset_async(0, BARRIER_BYTES)
    addresses = itertools.accumulate(sizes.values(), initial=memory.data.ptr)
    selection = SELECTION(
        indptr=pattern.indptr, indices=pattern.indices, degrees=pattern.degrees, long_rows=long_rows.field,
        row_minima=None, arrived=None, minima=None, any_undecided=None, members=members, n=pattern.n,
        seed=seed, k=k, lanes=1, **dict(zip(sizes, addresses, strict=False)),
    )  # fmt: skip
    launch_blocks(kernel, blocks, (selection,))


def select_farther_apart(program, pattern, long_rows, members, k, seed):
    """The set for k > 1."""
    n, items, lanes = pattern.n, pattern.n + long_rows.most_pieces, lanes_per_vertex(pattern)
    states, minima = cupy.empty(n, np.uint8), cupy.empty((k - 1, n), np.uint64)
    unfinished, arrived = cupy.empty((2, long_rows.most_rows), np.uint32)
    row_minima, words = cupy.empty(long_rows.most_rows, np.uint64), cupy.zeros(3, np.uint32)
    selection = SELECTION(
        indptr=pattern.indptr, indices=pattern.indices, degrees=pattern.degrees, long_rows=long_rows.field,
        states=states, offsets=None, unfinished=unfinished, row_minima=row_minima, arrived=arrived,
        minima=minima, any_undecided=words, members=members, lists=None, barrier=None, n=n, seed=seed, k=k,
        lanes=lanes,
    )  # fmt: skip
    if k == 2 and pattern.longest_row <= LANE_ENTRIES * lanes:
        process_worklist(program.select_distance_2, selection, n, threads=n * lanes)
    else:
        # The last word is the barrier.
        launch(program.select_distance_k, (selection, words[2:]), items=items)


def lanes_per_vertex(pattern):
    """Lanes that load a row of mean length at once."""
    return next(
        lanes for lanes in (1, 2, 4, 8, 16, 32) if lanes * LOADS * pattern.n >= pattern.nnz or lanes == 32
    )


def process_worklist(kernel, problem, capacity, threads=None):
    """Launch a kernel whose worklist has at most `capacity` items, which take `threads` threads."""
    items = cupy.empty((2, capacity), np.uint32)
    # The last word is the barrier.
    words = cupy.zeros(LENGTHS + 1, np.uint64)
    worklist = WORKLIST(items=items, lengths=words, capacity=capacity)
    launch(kernel, (problem, worklist, words[LENGTHS:]), items=threads)


def listed_items(items, blocks):
    """The length of the lists of `process_own_items`: every warp may have up to 33 items more than others."""
    return items + 33 * blocks * BLOCK // 32


def luby_set(pattern, seed, fewest, patience):
    n, lanes = pattern.n, lanes_per_vertex(pattern)
    states, marks, members = cupy.empty(n, np.uint8), cupy.empty(n, np.uint32), cupy.empty(n, np.int32)
    words = cupy.zeros(COUNTS + 1, np.uint64)
    arguments = LUBY(
        indptr=pattern.indptr, indices=pattern.indices, degrees=pattern.degrees, states=states, marks=marks,
        members=members, counts=words, barrier=words[COUNTS:], n=n, seed=seed, fewest=fewest,
        patience=patience, per_warp=32 // lanes,
    )  # fmt: skip
    launch(LUBY_PROGRAM(INDEX=pattern.indptr).luby_rounds, (arguments,), items=n * lanes)
    return members
