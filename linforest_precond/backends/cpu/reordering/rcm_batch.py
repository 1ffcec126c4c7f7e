"""The batch Cuthill-McKee order: threads discover the children of later batches speculatively.

D. Mlakar, M. Winter, M. Parger, M. Steinberger, "Speculative Parallel Reverse Cuthill-McKee Reordering on
Multi- and Many-core Architectures", IPDPS 2021. A batch is a range of positions in the order. Threads take
batches in ascending order and wait for lower batches only, so a single thread can always finish.

1. Discover: a thread marks the neighbours of its positions (see rcm_leveled.py). Those for which it is the
   lowest so far are candidates; a lower batch may still take them.
2. Rediscover: when all lower batches have marked their neighbours, the candidates that keep the mark are its
   children. Where the signal came before step 1, all of them do.
3. Count: when all lower batches have counted their children, the positions of its own are known. The thread
   reserves new batches for them, signals the next batch, and writes the children. A position is empty while
   it is -1, so that a batch may be taken before its vertices are written.

Differences from the paper: marks are positions instead of batches, candidates that were removed are compacted
at once, and "Completed" is not signalled, because every position says for itself whether it is written.
"""

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from linforest_precond.backends.batch_options import BatchOptions

from ..runtime.atomics import fetch_add, load, store
from ..runtime.jit import helper, kernel
from ..runtime.streams import nanoseconds
from . import batch_state as at
from .batch_queue import make_full, pack, reserve, write
from .batch_stages import SPINS, add_degrees, discover, halted, pause, rediscover, sort_candidates
from .batch_state import Buffers, graph_of, prepare, rules_of

# Batches of a fixed number of vertices, one at a time for each worker: the simplest ones.
DEFAULT = BatchOptions(balanced=False, concurrent=1)
# Rounds of waiting without progress until the watchdog expires, plus one for each entry: no batch takes
# longer for an entry.
PATIENCE = 2**24
# Initial capacity for the candidates of a position.
CANDIDATES_EACH = 16


def batch(pattern, starts, options=None):
    """The order of all reachable vertices, the starts first; components are interleaved."""
    options = options or DEFAULT
    shared = prepare(pattern, starts, options)
    run_threads(shared, pattern, options)
    return shared.order[: shared.counters[at.WRITTEN]]


def profile(pattern, starts, options=None):
    """The order, and the sums over all threads of times (in nanoseconds) and counts, by name."""
    options = options or DEFAULT
    shared = prepare(pattern, starts, options)
    sums = run_threads(shared, pattern, options, timed=True).sum(axis=0)
    parts = "discover", "sort", "rediscover", "signal", "output", "stall"
    counts = "dequeued", "executed", "early", "candidates", "children", "switched"
    found = {name: int(sums[getattr(at, name.upper())]) for name in (*parts, *counts)}
    found["generated"] = int(np.count_nonzero(shared.ranges != at.NOT_MADE))
    return shared.order[: shared.counters[at.WRITTEN]], found


def available_threads():
    """The number of Numba's threads; 1 with NUMBA_DISABLE_JIT, where nothing is atomic."""
    return 1 if numba.config.DISABLE_JIT else numba.get_num_threads()


def run_threads(shared, pattern, options, patience=None, timed=False):
    """Let threads process batches until none is left; returns the statistics of each."""
    threads = 1 if numba.config.DISABLE_JIT else options.workers or available_threads()
    patience = PATIENCE + pattern.nnz if patience is None else patience
    arguments = graph_of(pattern), shared, rules_of(options, patience, timed)
    statistics = np.zeros((threads, at.STATISTICS), np.int64)

    run_workers(threads, lambda i: process_batches(*arguments, statistics[i]), shared.counters, at.BROKEN)
    if shared.counters[at.BROKEN]:
        raise RuntimeError(
            "the batches of the Cuthill-McKee order came to a standstill after number "
            f'{shared.counters[at.COUNTED]}; please report it, and use method="serial"'
        )
    return statistics


def run_workers(threads, work, counters, broken):
    """Let each thread run `work(i)`; an exception sets a flag, or the others would wait for that thread."""

    def guarded(thread):
        try:
            work(thread)
        except BaseException:
            counters[broken] = 1
            raise

    with ThreadPoolExecutor(max(1, threads - 1)) as pool:
        others = [pool.submit(guarded, thread) for thread in range(1, threads)]
        guarded(0)
        for other in others:
            other.result()


# A worker: advances the batches that it holds, and takes another one when all of them wait.
@kernel(nogil=True)
def process_batches(graph, shared, rules, statistics):
    slots = np.zeros((rules.concurrent, at.FIELDS), np.int64)
    candidates = (rules.concurrent, CANDIDATES_EACH * rules.size)
    offsets = np.zeros((rules.concurrent, rules.size + 1), np.int64)
    buffers = Buffers(np.empty(candidates, np.int32), np.empty(candidates, np.int32), offsets)
    polls, rounds, progress = 0, 0, np.int64(0)
    lap(rules, statistics, at.LAST)
    while True:
        moved = False
        for row in range(rules.concurrent):
            slot = slots[row]
            stage = slot[at.STAGE]
            if stage != at.FREE:
                buffers = advance(graph, shared, rules, slot, row, buffers, statistics)
                if slot[at.STAGE] == at.STOPPED:
                    return
                moved |= slot[at.STAGE] != stage
        if moved:
            polls = 0
            continue
        row = free_slot(slots)
        # Once all vertices have positions, the batches that are still in the queue have no children.
        if (row >= 0 or polls % SPINS == 0) and halted(shared.counters):
            lap(rules, statistics, at.STALL)
            return
        if row >= 0:
            take(shared, slots, row, statistics)
            continue
        polls += 1
        if polls % SPINS == 0:
            rounds, progress = pause(shared.counters, rules.patience, rounds, progress)


# A free slot, -1 if there is none or a batch in another one is not made yet: then no later batch is.
@helper
def free_slot(slots):
    found = -1
    for row in range(slots.shape[0]):
        if slots[row, at.STAGE] == at.QUEUED:
            return -1
        if slots[row, at.STAGE] == at.FREE:
            found = row
    return found


@helper
def take(shared, slots, row, statistics):
    for other in range(slots.shape[0]):
        if slots[other, at.STAGE] != at.FREE:
            statistics[at.SWITCHED] += 1
            break
    slots[row, at.STAGE], slots[row, at.BATCH] = at.QUEUED, fetch_add(shared.counters, at.TAKEN, 1)


# Take a batch as far as it goes without waiting: Algorithm 5 of the paper, or 4 without `early`.
@helper
def advance(graph, shared, rules, slot, row, buffers, statistics):
    batch = slot[at.BATCH]
    turn, next_turn = at.LINE * (batch % at.TURNS), at.LINE * ((batch + 1) % at.TURNS)
    if slot[at.STAGE] == at.QUEUED:
        if batch >= shared.ranges.size or load(shared.ranges, batch) == at.NOT_MADE:
            return buffers
        lap(rules, statistics, at.STALL)
        buffers = speculate(graph, shared, rules, slot, row, buffers, statistics, turn, next_turn)
    if slot[at.STAGE] == at.SPECULATIVE and load(shared.marked, turn) >= batch:
        lap(rules, statistics, at.STALL)
        if rules.early:
            store(shared.marked, next_turn, batch + 1)
        rediscover(shared, slot, row, buffers)
        lap(rules, statistics, at.REDISCOVER)
        if not rules.early:
            store(shared.marked, next_turn, batch + 1)
        slot[at.STAGE] = at.CONFIRMED
    if slot[at.STAGE] == at.CONFIRMED and load(shared.counted, turn) >= batch:
        lap(rules, statistics, at.STALL)
        count(shared, rules, slot, row, buffers, statistics, turn, next_turn)
    if slot[at.STAGE] == at.PLACED:
        write(shared, slot, buffers.children[row])
        pack(shared, rules, slot, buffers.degrees[row])
        lap(rules, statistics, at.OUTPUT)
        statistics[at.CHILDREN] += slot[at.COUNT]
        slot[at.STAGE] = at.FREE
    return buffers


# Discover and sort the candidates. With early signals, what the predecessors have signalled by then is passed
# on before the sort.
@helper
def speculate(graph, shared, rules, slot, row, buffers, statistics, turn, next_turn):
    batch, found = slot[at.BATCH], load(shared.ranges, slot[at.BATCH])
    slot[at.BEGIN], slot[at.END] = found >> 32, found & 0xFFFFFFFF
    statistics[at.DEQUEUED] += 1
    statistics[at.EXECUTED] += slot[at.END] > slot[at.BEGIN]
    discovered_before = load(shared.marked, turn) >= batch
    buffers = discover(graph, shared, rules, slot, row, buffers)
    if slot[at.STAGE] == at.STOPPED:
        return buffers
    lap(rules, statistics, at.DISCOVER)
    statistics[at.CANDIDATES] += slot[at.COUNT]
    slot[at.STAGE] = at.SPECULATIVE
    if rules.early and load(shared.marked, turn) >= batch:
        store(shared.marked, next_turn, batch + 1)
        statistics[at.EARLY] += discovered_before
        if not discovered_before:
            rediscover(shared, slot, row, buffers)
            lap(rules, statistics, at.REDISCOVER)
        slot[at.STAGE] = at.CONFIRMED
        if load(shared.counted, turn) >= batch:
            count(shared, rules, slot, row, buffers, statistics, turn, next_turn)
    sort_candidates(slot, row, buffers)
    lap(rules, statistics, at.SORT)
    return buffers


# Count the children, which gives their positions, and signal the next batch to count.
@helper
def count(shared, rules, slot, row, buffers, statistics, turn, next_turn):
    if rules.packing != at.BY_SIZE:
        add_degrees(rules, slot, row, buffers)
    reserve(shared, rules, slot, turn, next_turn)
    if rules.packing == at.BY_SIZE:
        make_full(shared, rules, slot)
    slot[at.STAGE] = at.PLACED
    lap(rules, statistics, at.SIGNAL)


# The time since the last reading goes to a part of the statistics.
@helper
def lap(rules, statistics, part):
    if rules.timed:
        now = nanoseconds()
        if part != at.LAST:
            statistics[part] += now - statistics[at.LAST]
        statistics[at.LAST] = now
