"""The batch Cuthill-McKee order: threads discover the children of later batches speculatively.

D. Mlakar, M. Winter, M. Parger, M. Steinberger, "Speculative Parallel Reverse Cuthill-McKee Reordering on
Multi- and Many-core Architectures", IPDPS 2021. A batch is a range of positions in the order. Threads take
batches in ascending order and wait for lower batches only, so a single thread can always finish.

1. Discover: a thread marks the neighbours of its positions (see rcm_leveled.py). Those for which it is the
   lowest so far are candidates; a lower batch may still take them.
2. Confirm: when all lower batches have marked their neighbours, the candidates that keep the mark are its
   children.
3. Count: when all lower batches have counted their children, the positions of its own are known. The thread
   makes new batches of them, signals the next batch, and writes the children. A position is empty while it is
   -1.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numba
import numpy as np

from ..matrix.entries import wide_pattern
from ..runtime.atomics import fetch_add, fetch_min, give_way, load, store
from ..runtime.jit import helper, kernel
from .child_order import INSERTION_LIMIT, ONE, ZERO, append_sorted, index, insert, sort_key
from .rcm_leveled import initial_state

# Positions of a full batch.
BATCH = 64
# A waiting thread polls SPINS times, then yields: about a microsecond a round. The watchdog reports an error
# after PATIENCE rounds without progress, plus one for each entry: no batch takes longer for an entry.
SPINS = 128
PATIENCE = 2**24

# 64-bit words of a cache line. Counters that many threads poll have lines of their own: no false sharing.
LINE = 8
# The shared counters: batches taken, the last batch that has counted its children, positions filled at the
# end, and flags for completion and for an error.
TAKEN, COUNTED, WRITTEN, DONE, BROKEN = (LINE * i for i in range(5))
COUNTERS = 5 * LINE
# The fields of a line: the number of the batch whose turn it is, and what its predecessor hands over: the
# positions assigned, the batches made, and the first position that is in no batch yet.
TURN, ASSIGNED, MADE, PENDING = range(4)
# Successive batches poll different lines, modulo TURNS; each waits for its own number there.
TURNS = 64
STOPPED = -1


@dataclass(frozen=True, eq=False)
class SharedState:
    """The arrays that all threads share."""

    order: np.ndarray
    marks: np.ndarray
    ends: np.ndarray  # the end of each batch, -1 while it is not made
    marked: np.ndarray  # TURNS lines: all lower batches have marked their neighbours
    counted: np.ndarray  # TURNS lines: all lower batches have counted their children
    counters: np.ndarray


def batch(pattern, starts, threads=None, size=BATCH):
    """The order of all reachable vertices, the starts first; components are interleaved."""
    state = prepare(pattern, starts, size)
    run_threads(state, pattern, threads or available_threads(), size)
    return state.order[: state.counters[WRITTEN]]


def available_threads():
    """The number of Numba's threads; 1 with NUMBA_DISABLE_JIT, where nothing is atomic."""
    return 1 if numba.config.DISABLE_JIT else numba.get_num_threads()


def prepare(pattern, starts, size=BATCH):
    """The state in which the starts are in batches and none is taken."""
    order, marks = initial_state(pattern, starts)
    # No batch is empty, so there are at most as many as vertices.
    ends, counters = np.full(pattern.n, -1, np.int32), np.zeros(COUNTERS, np.int64)
    marked, counted = np.zeros((2, LINE * TURNS), np.int64)
    made = -(-starts.size // size)
    ends[:made] = np.minimum(np.arange(1, made + 1) * size, starts.size)
    counted[[ASSIGNED, MADE, PENDING]] = starts.size, made, starts.size
    counters[WRITTEN] = starts.size
    counters[DONE] = starts.size == pattern.n
    return SharedState(order, marks, ends, marked, counted, counters)


def run_threads(state, pattern, threads, size=BATCH, patience=None):
    """Let threads process batches until none is left."""
    patience = PATIENCE + pattern.nnz if patience is None else patience
    shared = state.order, state.marks, state.ends, state.marked, state.counted, state.counters
    arguments = *wide_pattern(pattern), *shared, size, patience

    def work():
        try:
            process_batches(*arguments)
        except BaseException:
            state.counters[BROKEN] = 1  # otherwise the other threads would wait for this one
            raise

    with ThreadPoolExecutor(max(1, threads - 1)) as pool:
        others = [pool.submit(work) for _ in range(threads - 1)]
        work()
        for other in others:
            other.result()
    if state.counters[BROKEN]:
        raise RuntimeError(
            "the batches of the Cuthill-McKee order came to a standstill after number "
            f'{state.counters[COUNTED]}; please report it, and use method="serial"'
        )


@kernel(nogil=True)
def process_batches(indptr, indices, degrees, order, marks, ends, marked, counted, counters, size, patience):
    children, parents = np.empty(16 * size, np.int32), np.empty(16 * size, np.int32)
    keys = np.empty(INSERTION_LIMIT, np.int32)
    while True:
        batch = fetch_add(counters, TAKEN, 1)
        if batch >= ends.size:
            return
        end = np.int64(spin_until(ends, batch, 0, counters, patience))
        position = np.int64(ends[batch - 1]) if batch else np.int64(0)
        count = np.int64(0)
        while position < end:
            found = discover(
                indptr, indices, degrees, order, marks, counters, patience,
                position, end, children, parents, keys, count,
            )  # fmt: skip
            position, count = found
            if 0 <= position < end:  # the row does not fit into the candidates' capacity
                v = order[position]
                capacity = count + indptr[v + 1] - indptr[v]
                children, parents = enlarged(children, capacity), enlarged(parents, capacity)
            elif position == STOPPED:
                return
        turn, next_turn = LINE * (batch % TURNS), LINE * ((batch + 1) % TURNS)
        if end == STOPPED or spin_until(marked, turn, batch, counters, patience) == STOPPED:
            return
        store(marked, next_turn, batch + 1)
        count = confirm(marks, children, parents, count)
        if spin_until(counted, turn, batch, counters, patience) == STOPPED:
            return
        begin = assign_positions(batch, count, order.size, ends, counted, turn, next_turn, counters, size)
        write(children, count, order, begin)


# Poll an entry until it is at least `least` and return it; STOPPED on completion or error.
@helper
def spin_until(array, place, least, counters, patience):
    found = load(array, place)
    if found >= least:
        return found
    rounds, progress = 0, load(counters, COUNTED)
    while True:
        for _ in range(SPINS):
            found = load(array, place)
            if found >= least:
                return found
        if load(counters, DONE) or load(counters, BROKEN):
            return array.dtype.type(STOPPED)
        now = load(counters, COUNTED)
        rounds = rounds + 1 if now == progress else 0
        progress = now
        if rounds > patience:
            store(counters, BROKEN, 1)
        give_way()


# Mark the neighbours of a range of positions. Those that a position is the lowest for so far are appended to
# the candidates, by degree. Returns the position reached and the number of candidates.
@helper
def discover(
    indptr, indices, degrees, order, marks, counters, patience, begin, end, children, parents, keys, count
):
    first = index(count)
    for position in range(begin, end):
        v = spin_until(order, index(position), 0, counters, patience)
        if v == STOPPED:
            return np.int64(STOPPED), np.int64(0)
        row, row_end = index(indptr[index(v)]), index(indptr[index(v) + ONE])
        if first + (row_end - row) > index(children.size):
            return position, np.int64(first)
        last = first
        if row_end - row > INSERTION_LIMIT:
            last = claim_long_row(indices[row:row_end], degrees, marks, position, children, first)
        else:
            for slot in range(row, row_end):
                u = index(indices[slot])
                if load(marks, u) > position and fetch_min(marks, u, position) > position:
                    insert(np.int32(u), degrees[u], children, first, keys, last - first)
                    last += ONE
        for i in range(first, last):
            parents[i] = position
        first = last
    return end, np.int64(first)


@helper
def claim_long_row(row, degrees, marks, position, children, begin):
    keys = np.empty(row.size, np.int64)
    count = 0
    for v in row:
        if load(marks, v) > position and fetch_min(marks, v, position) > position:
            keys[count] = sort_key(degrees[v], v)
            count += 1
    append_sorted(keys[:count], children, begin)
    return begin + index(count)


# Stream compaction of the candidates that no lower position has marked.
@helper
def confirm(marks, children, parents, count):
    kept = ZERO
    for i in range(index(count)):
        if load(marks, index(children[i])) == parents[i]:
            children[kept] = children[i]
            kept += ONE
    return np.int64(kept)


# Assign positions to the children, make batches of the pending positions, and signal the next batch to count.
# A partial batch is made only where no other batch exists that could fill it. Returns the first position.
@helper
def assign_positions(batch, count, n, ends, counted, turn, next_turn, counters, size):
    begin, made, pending = counted[turn + ASSIGNED], counted[turn + MADE], counted[turn + PENDING]
    assigned = begin + count
    while assigned - pending >= size:
        pending += size
        store(ends, made, pending)
        made += 1
    if made == batch + 1 and pending < assigned:
        pending = assigned
        store(ends, made, pending)
        made += 1
    counted[next_turn + ASSIGNED], counted[next_turn + MADE] = assigned, made
    counted[next_turn + PENDING] = pending
    store(counted, next_turn + TURN, batch + 1)
    # For the watchdog only: a later batch may store its number first.
    store(counters, COUNTED, batch + 1)
    if assigned == n or made == batch + 1:
        counters[WRITTEN] = assigned
        store(counters, DONE, 1)
    return begin


@helper
def write(children, count, order, begin):
    for i in range(index(count)):
        store(order, index(begin) + i, children[i])


@helper
def enlarged(array, capacity):
    larger = np.empty(2 * capacity, array.dtype)
    larger[: array.size] = array
    return larger
