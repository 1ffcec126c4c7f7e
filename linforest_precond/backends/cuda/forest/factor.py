"""The [0,n]-factor by proposals, and the greedy one: Algorithms 2 and 1 of Klein & Strzodka (2022)."""

import functools

import numpy as np

from ..matrix.long_row_split import split_long_rows, staged_entries
from ..runtime import INDICES, WEIGHTS, Program, Struct, cupy, launch
from ..runtime.launches import note, recording

# From this share of active vertices on, all rows are read in order instead of those in the active list.
DENSE_SHARE = 0.6
# Rows beyond this, and beyond LONG_FACTOR times the mean, are split into pieces, each for a block.
LONG_ROW = 256
LONG_FACTOR = 8
PIECE = 2048
# Entries of a row, at most, that one lane takes.
MOST_TO_A_LANE = 64
# The largest number of iterations of one launch.
AT_ONCE = 1000
# Runs before the first that is timed.
WARM_RUNS = 3

PROBLEM = Struct("Problem", "forest/candidates.cuh")
OPTIONS = Struct("Options", "forest/candidates.cuh")
RECORD = "active", "confirmed", "proposed", "started_at", "proposed_at", "confirmed_at"
# The codes of `ties`: enum Ties.
TIES = {"auto": 0, "index": 1, "random": 2}
PROGRESS = "iterations", "maximal", "finished", "confirmed", "active"
PROGRAM = Program(
    "forest/factor",
    cooperative=True,
    WEIGHT=WEIGHTS,
    INDEX=INDICES,
    DEGREE=(1, 2, 3, 4),
    PIECE=PIECE,
    SWITCHES=(0, 1),
    STAGED=(0, 1),
    SPLIT=(0, 1),
)


RANKS = Program("forest/rank_factor", WEIGHT=WEIGHTS, INDEX=INDICES, DEGREE=(1, 2, 3, 4))


def draw_charges(active, ids, states, charge, threshold, seed, k):
    """Draw the charges of vertices in iteration k."""
    program = RANKS(WEIGHT=np.float64, INDEX=active, DEGREE=1)
    keys = np.uint64(threshold), np.uint64(seed), k, np.int32(charge == "md5")
    launch(program.draw_charges, (active, active.size, ids, *keys, states), items=active.size)


def propose(
    indptr, indices, values, neighbors, degrees, states, active, ids, charged, hashed, tie_key, same_rules,
    proposed, proposed_slots,
):  # fmt: skip
    """Propose for the active vertices of a rank; the number of proposals."""
    program = RANKS(WEIGHT=values, INDEX=indices, DEGREE=neighbors.shape[1])
    made = cupy.zeros(1, np.uint64)
    graph = indptr, indices, values, neighbors, degrees, states, active, active.size, ids
    rules = np.int32(charged), np.int32(hashed), np.uint32(tie_key), np.int32(same_rules)
    launch(program.propose, (*graph, *rules, proposed, proposed_slots, made), items=active.size)
    return int(made[0])  # stall: tells whether the factor is maximal


def confirm(proposed, proposed_slots, neighbors, slots, degrees, states, active):
    """Confirm edges of a rank; the ends of confirmed edges, and the vertices left, the first of `active`."""
    program = RANKS(WEIGHT=np.float64, INDEX=active, DEGREE=neighbors.shape[1])
    confirmed, stays = cupy.zeros(1, np.uint64), cupy.empty(active.size, bool)
    state = neighbors, slots, degrees, states, active, active.size
    launch(program.confirm, (proposed, proposed_slots, *state, stays, confirmed), items=active.size)
    left = active[stays]  # stall: stream compaction
    active[: left.size] = left
    return int(confirmed[0]), left.size  # stall: tells whether the factor still grows


def propose_factor(
    graph, n, limit, automatic, m, k_m, threshold, seed, charge="splitmix64", ties="auto", report=None
):
    """The factor's neighbours, values, slots, and an array: propositions made, and whether it is maximal.

    `report` is that of a scan of the graph, which the host has not read: where the graph is not valid, sorted
    and symmetric, or has longer rows, nothing is computed. Returns None where the program would have to be
    compiled while the host has not read it: later, others are compiled at the same time.
    """
    rows, index = graph.n, graph.indices.dtype
    program = program_of(graph, n, needs_switches(charge, ties, m))
    if report is not None and not program.has("propose_factor"):
        return None
    plan = _plan(graph)
    shared_memory = plan["capacity"] * _entry_bytes(graph)
    neighbors, slots = cupy.empty((rows, n), index), cupy.empty((rows, n), index)
    values, state = cupy.empty((rows, n), graph.values.dtype), cupy.empty(rows, np.uint8)
    lists = cupy.empty((2, rows), index)
    long_rows = split_long_rows(
        graph.indptr, graph.indices.size, graph.longest_row, PIECE, longest_whole=plan["long_row"]
    )
    partials = cupy.empty(long_rows.most_pieces * _partial_bytes(graph.values.dtype, index, n), np.uint8)
    graph_arrays = {"indptr": graph.indptr, "indices": graph.indices, "values": graph.values}
    problem = PROBLEM(
        **graph_arrays, neighbors=neighbors, edge_values=values, slots=slots, state=state, rows=rows
    )

    def launch_iterations(first, last, progress=None):
        iterations = {"first": first, "last": last, "m": m, "k_m": k_m, "automatic": automatic}
        rules = {"md5": charge == "md5", "ties": TIES[ties]}
        scan = {"report": report, "longest": graph.longest_row}
        options = OPTIONS(seed=seed, threshold=threshold, **iterations, **plan, **rules, **scan)
        # The barrier, the progress and the records; the progress goes on from that of the launch before.
        words = cupy.zeros((last - first + 3, len(RECORD)), np.uint64)
        progress = words[1] if progress is None else progress
        arguments = problem, options, long_rows.struct, partials, lists, words[2:], progress, words
        launch(program.propose_factor, arguments, shared_memory=shared_memory)
        note("iterations", words[2:])
        return progress

    first, finished, progress = 0, limit is not None and limit <= AT_ONCE, None
    if finished:
        progress = launch_iterations(0, limit)
    while not finished and first != limit:
        last = first + AT_ONCE if limit is None else min(limit, first + AT_ONCE)
        progress = launch_iterations(first, last, progress)
        first, _, finished, _, active = map(int, progress[: len(PROGRESS)].get())  # stall: go on?
        if limit is None and not finished and not active:
            first += (k_m - first) % m  # nothing can happen before the next uncharged iteration
    return neighbors, values, slots, progress[:2]


def proposition_times(graph, n, k, repeats):
    """By the kernel's own clock; k is below `AT_ONCE`."""
    logs = []
    for _ in range(WARM_RUNS + repeats):
        with recording() as log:
            propose_factor(graph, n, k + 1, False, m=1, k_m=0, threshold=0, seed=0)
        logs.append(log)
    notes = [first for log in logs[WARM_RUNS:] for name, first, _ in log if name == "iterations"]
    records = [dict(zip(RECORD, note[k].tolist())) for note in notes]  # stall: the kernel's clocks
    ran = [record for record in records if record["confirmed_at"]]
    active = [record["active"] if k else graph.n for record in ran]
    return [(record["proposed_at"] - record["started_at"]) / 1e9 for record in ran], max(active, default=0)


def needs_switches(charge, ties, m):
    """Whether a program needs the switches; programs without them are faster.

    Without charges, ties by index are the automatic ones.
    """
    return charge == "md5" or ties == "random" or (ties == "index" and m > 1)


def program_of(graph, n, switches):
    """The program of a [0,n]-factor, with the code for rows of the graph's lengths alone."""
    mean = _mean_row(graph)
    return PROGRAM(
        WEIGHT=graph.values,
        INDEX=graph.indices,
        DEGREE=n,
        SWITCHES=int(switches),
        STAGED=int(staged_entries(mean, _entry_bytes(graph)) > 0),
        SPLIT=int(graph.longest_row > _longest_whole(mean)),
    )


def _plan(graph):
    """The options of load balancing, chosen by the mean row length."""
    mean = _mean_row(graph)
    return {
        "capacity": staged_entries(mean, _entry_bytes(graph)),
        "width": _lanes(min(graph.longest_row, _longest_whole(mean))),
        "fewest_dense": int(DENSE_SHARE * graph.n),
        "long_row": _longest_whole(mean),
    }


def _mean_row(graph):
    return graph.indices.size / max(graph.n, 1)


def _longest_whole(mean):
    """Entries of the longest row that is not split."""
    return max(LONG_ROW, int(LONG_FACTOR * mean))


def _lanes(longest):
    """Lanes per row that is not staged: few, for they join their candidates by many shuffles."""
    return next(width for width in (2, 4, 8, 16, 32) if width == 32 or MOST_TO_A_LANE * width >= longest)


def _entry_bytes(graph):
    """Bytes of a staged entry: column, value, state."""
    return graph.indices.dtype.itemsize + graph.values.dtype.itemsize + 1


@functools.cache
def _partial_bytes(value, index, n):
    """Of a piece's partial result, the struct Partial in propositions.cuh."""
    candidate = [("value", value), ("hash", np.uint32), ("places", index, 2)]
    partial = [("best", np.dtype(candidate, align=True), n), ("alive", np.int32)]
    return np.dtype(partial, align=True).itemsize


def greedy_factor(graph, n, ties="index", seed=0):
    """The factor of Algorithm 1 of Klein & Strzodka (2022), by uncharged proposals until it is maximal.

    An edge that both ends propose is among the first ones, in the sweep's order, that each of them has room
    for; so the sequential sweep takes it, too.
    """
    neighbors, values, slots, _ = propose_factor(
        graph, n, limit=None, automatic=False, m=1, k_m=0, threshold=0, seed=seed, ties=ties
    )
    return neighbors, values, slots
