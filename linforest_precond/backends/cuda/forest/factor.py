"""The parallel [0,n]-factor: propose the heaviest edges, keep what both ends proposed, repeat."""

import numpy as np

from ..matrix.long_row_split import split_long_rows
from ..matrix.row_staging import STAGED_MEAN, lanes_to_a_row, staged_entries
from ..runtime.launch import launch, note
from ..runtime.lazy_cupy import cupy
from ..runtime.loader import kernels
from ..runtime.structs import Struct

# Below this share of active vertices the list of them is worked off instead of all rows.
DENSE_SHARE = 0.6
# Rows beyond this, and beyond LONG_FACTOR times the mean, are split into pieces, each for a block.
LONG_ROW = 256
LONG_FACTOR = 8
PIECE = 2048
# Iterations of one launch at most.
AT_ONCE = 1000

# The structs in factor.cu.
PROBLEM = Struct(
    "Problem",
    "forest/candidates.cuh",
    indptr="P",
    indices="P",
    values="P",
    neighbors="P",
    edge_values="P",
    slots="P",
    state="P",
    rows="q",
)
OPTIONS = Struct(
    "Options", "forest/candidates.cuh",
    seed="Q", threshold="Q", first="q", last="q", long_row="q", fewest_dense="q",
    m="i", k_m="i", automatic="i", short_rows="i", capacity="i", width="i",
)  # fmt: skip
RECORD = "active", "confirmed", "proposed", "started_at", "proposed_at", "confirmed_at"
PROGRESS = "iterations", "maximal", "finished", "confirmed", "active"


def propose_factor(graph, n, limit, automatic, m, k_m, threshold, seed):
    """The factor's neighbours, values, slots, and an array: propositions made, and whether it is maximal."""
    rows, index = graph.n, graph.indices.dtype
    types = {"WEIGHT": graph.values.dtype.type, "INDEX": index.type, "DEGREE": n, "PIECE": PIECE}
    program = kernels("forest/factor", cooperative=True, **types)
    plan = _plan(graph)
    shared_memory = plan["capacity"] * _entry_bytes(graph)
    neighbors, slots = cupy.empty((rows, n), index), cupy.empty((rows, n), index)
    values, state = cupy.empty((rows, n), graph.values.dtype), cupy.empty(rows, np.uint8)
    lists = cupy.empty((2, rows), index)
    long_rows = split_long_rows(
        graph.indptr, graph.indices.size, graph.longest_row, PIECE, longest_whole=plan["long_row"]
    )
    partials = cupy.empty(long_rows.most_pieces * _partial_bytes(graph, n), np.uint8)
    graph_arrays = {"indptr": graph.indptr, "indices": graph.indices, "values": graph.values}
    problem = PROBLEM(
        **graph_arrays, neighbors=neighbors, edge_values=values, slots=slots, state=state, rows=rows
    )
    progress = cupy.zeros(len(PROGRESS), np.uint64)

    def launch_iterations(first, last):
        iterations = {"first": first, "last": last, "m": m, "k_m": k_m, "automatic": automatic}
        options = OPTIONS(seed=seed, threshold=threshold, **iterations, **plan)
        # The first words serve the barrier.
        records = cupy.zeros((last - first + 2, len(RECORD)), np.uint64)
        arguments = problem, options, long_rows.struct, partials, lists, records[1:], progress, records
        launch(program.propose_factor, arguments, shared_memory=shared_memory)
        note("iterations", records[1:])

    first, finished = 0, limit is not None and limit <= AT_ONCE
    if finished:
        launch_iterations(0, limit)
    while not finished and first != limit:
        launch_iterations(first, first + AT_ONCE if limit is None else min(limit, first + AT_ONCE))
        first, _, finished, _, active = map(int, progress.get())  # stall: go on?
        if limit is None and not finished and not active:
            first += (k_m - first) % m  # nothing can happen before the next uncharged iteration
    return neighbors, values, slots, progress[:2]


def _plan(graph):
    """How rows are gone through, from their mean length."""
    mean = graph.indices.size / max(graph.n, 1)
    short_rows = mean <= STAGED_MEAN
    return {
        "short_rows": short_rows,
        "capacity": staged_entries(mean, _entry_bytes(graph)) if short_rows else 0,
        "width": lanes_to_a_row(mean),
        "fewest_dense": int(DENSE_SHARE * graph.n),
        "long_row": max(LONG_ROW, int(LONG_FACTOR * mean)),
    }


def _entry_bytes(graph):
    """Of a staged entry: column, value, state."""
    return graph.indices.dtype.itemsize + graph.values.dtype.itemsize + 1


def _partial_bytes(graph, n):
    """Of a piece's partial result, the struct Partial in propositions.cuh."""
    candidate = [("value", graph.values.dtype), ("hash", np.uint32), ("places", graph.indices.dtype, 2)]
    partial = [("best", np.dtype(candidate, align=True), n), ("alive", np.int32)]
    return np.dtype(partial, align=True).itemsize
