"""The Cuthill-McKee order by batches of positions that threads work on ahead of one another.

Mlakar et al., "Speculative Parallel Reverse Cuthill-McKee Reordering on Multi- and Many-core Architectures"
(IPDPS 2021). Batches are ranges of positions in the order. Threads take them one after the other, and each
waits for lower batches only: a single one would get to the end.

1. A thread leaves the marks of its positions at once (see leveled.py), and keeps the neighbours it was the
   lowest for as candidates, though lower batches may still take some of them.
2. When all lower batches have left their marks, candidates that still have its own are its children.
3. When all lower batches have counted theirs, it knows where to write its own. It makes new batches of the
   positions they take, lets the next one count, and writes them. A position is filled when it is not -1.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numba
import numpy as np

from ..matrix.entries import wide_pattern
from ..runtime.atomics import fetch_add, fetch_min, give_way, load, store
from ..runtime.jit import helper, kernel
from .child_order import FEW, ONE, ZERO, append_sorted, index, insert, sort_key
from .rcm_leveled import prepared

# Positions of a full batch.
BATCH = 64
# A thread that waits asks this often, and then lets another run: a round takes about a microsecond. It gives
# up after so many rounds without progress, and one more for each entry: no batch works so long on an entry.
SPINS = 128
PATIENCE = 2**24

# Numbers that many threads ask for are kept on cache lines of their own, so many of them on a line.
LINE = 8
# What all threads share: the batches taken, the last that has counted its children, the positions that are
# taken in the end, and whether all is done, or something went wrong.
TAKEN, COUNTED, WRITTEN, DONE, BROKEN = (LINE * i for i in range(5))
WORDS = 5 * LINE
# A batch's turn to count, and what the one before hands over with it: the positions that children have taken,
# the batches made of these, and the first position that is in none yet.
TURN, PLACES, MADE, PENDING = range(4)
# Lines for the turns of successive batches, each of which waits for its own number: more threads share lines.
TURNS = 64
STOPPED = -1


@dataclass(frozen=True, eq=False)
class Run:
    """What the threads work on."""

    order: np.ndarray
    marks: np.ndarray
    ends: np.ndarray  # of each batch, -1 where it is not made yet
    marked: np.ndarray  # which batch's turn it is, one line for each: all before have left their marks
    counted: np.ndarray  # and all before have counted their children
    words: np.ndarray


def batch(pattern, starts, threads=None, size=BATCH):
    """The order of all vertices that can be reached, the starts first; components are interleaved."""
    run = prepare(pattern, starts, size)
    work_off(run, pattern, threads or available_threads(), size)
    return run.order[: run.words[WRITTEN]]


def available_threads():
    """Threads that Numba would use; one where nothing is compiled, since nothing is atomic then."""
    return 1 if numba.config.DISABLE_JIT else numba.get_num_threads()


def prepare(pattern, starts, size=BATCH):
    """The starts in batches, nothing taken yet: it is the turn of batch 0."""
    order, marks = prepared(pattern, starts)
    # No batch is empty, so there are no more than vertices.
    ends, words = np.full(pattern.n, -1, np.int32), np.zeros(WORDS, np.int64)
    marked, counted = np.zeros((2, LINE * TURNS), np.int64)
    made = -(-starts.size // size)
    ends[:made] = np.minimum(np.arange(1, made + 1) * size, starts.size)
    counted[[PLACES, MADE, PENDING]] = starts.size, made, starts.size
    words[WRITTEN] = starts.size
    words[DONE] = starts.size == pattern.n
    return Run(order, marks, ends, marked, counted, words)


def work_off(run, pattern, threads, size=BATCH, patience=None):
    """Let threads take batches until there are none."""
    patience = PATIENCE + pattern.nnz if patience is None else patience
    shared = run.order, run.marks, run.ends, run.marked, run.counted, run.words
    arguments = *wide_pattern(pattern), *shared, size, patience

    def work():
        try:
            take_batches(*arguments)
        except BaseException:
            run.words[BROKEN] = 1  # the others would wait for this thread
            raise

    with ThreadPoolExecutor(max(1, threads - 1)) as pool:
        others = [pool.submit(work) for _ in range(threads - 1)]
        work()
        for other in others:
            other.result()
    if run.words[BROKEN]:
        raise RuntimeError(
            f"the batches of the Cuthill-McKee order came to a standstill after number {run.words[COUNTED]}; "
            'please report it, and use method="serial"'
        )


@kernel(nogil=True)
def take_batches(indptr, indices, degrees, order, marks, ends, marked, counted, words, size, patience):
    children, parents = np.empty(16 * size, np.int32), np.empty(16 * size, np.int32)
    keys = np.empty(FEW, np.int32)
    while True:
        batch = fetch_add(words, TAKEN, 1)
        if batch >= ends.size:
            return
        end = np.int64(wait_for(ends, batch, 0, words, patience))
        position = np.int64(ends[batch - 1]) if batch else np.int64(0)
        count = np.int64(0)
        while position < end:
            found = discover(
                indptr, indices, degrees, order, marks, words, patience,
                position, end, children, parents, keys, count,
            )  # fmt: skip
            position, count = found
            if 0 <= position < end:  # a row was too long for the room
                v = order[position]
                room = count + indptr[v + 1] - indptr[v]
                children, parents = enlarged(children, room), enlarged(parents, room)
            elif position == STOPPED:
                return
        turn, next_turn = LINE * (batch % TURNS), LINE * ((batch + 1) % TURNS)
        if end == STOPPED or wait_for(marked, turn, batch, words, patience) == STOPPED:
            return
        store(marked, next_turn, batch + 1)
        count = confirm(marks, children, parents, count)
        if wait_for(counted, turn, batch, words, patience) == STOPPED:
            return
        begin = pass_on(batch, count, order.size, ends, counted, turn, next_turn, words, size)
        write(children, count, order, begin)


# Ask for an entry until it is at least so much; STOPPED if all is done or came to a standstill.
@helper
def wait_for(array, place, least, words, patience):
    found = load(array, place)
    if found >= least:
        return found
    rounds, progress = 0, load(words, COUNTED)
    while True:
        for _ in range(SPINS):
            found = load(array, place)
            if found >= least:
                return found
        if load(words, DONE) or load(words, BROKEN):
            return array.dtype.type(STOPPED)
        now = load(words, COUNTED)
        rounds = rounds + 1 if now == progress else 0
        progress = now
        if rounds > patience:
            store(words, BROKEN, 1)
        give_way()


# Leave the marks of a range of positions on their neighbours, and append those that each is the lowest for so
# far to the candidates, by degree. Gives the position that it has come to and the number of candidates.
@helper
def discover(
    indptr, indices, degrees, order, marks, words, patience, begin, end, children, parents, keys, count
):
    first = index(count)
    for position in range(begin, end):
        v = wait_for(order, index(position), 0, words, patience)
        if v == STOPPED:
            return np.int64(STOPPED), np.int64(0)
        row, row_end = index(indptr[index(v)]), index(indptr[index(v) + ONE])
        if first + (row_end - row) > index(children.size):
            return position, np.int64(first)
        last = first
        if row_end - row > FEW:
            last = claim_many(indices[row:row_end], degrees, marks, position, children, first)
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
def claim_many(row, degrees, marks, position, children, begin):
    keys = np.empty(row.size, np.int64)
    count = 0
    for v in row:
        if load(marks, v) > position and fetch_min(marks, v, position) > position:
            keys[count] = sort_key(degrees[v], v)
            count += 1
    append_sorted(keys[:count], children, begin)
    return begin + index(count)


# Keep the candidates that no lower position has taken.
@helper
def confirm(marks, children, parents, count):
    kept = ZERO
    for i in range(index(count)):
        if load(marks, index(children[i])) == parents[i]:
            children[kept] = children[i]
            kept += ONE
    return np.int64(kept)


# Take positions for the children, make batches of all that are in none, and let the next one count. A batch
# that is not full waits for more, unless nobody else is at work to bring them. Gives the first position.
@helper
def pass_on(batch, count, n, ends, counted, turn, next_turn, words, size):
    begin, made, pending = counted[turn + PLACES], counted[turn + MADE], counted[turn + PENDING]
    places = begin + count
    while places - pending >= size:
        pending += size
        store(ends, made, pending)
        made += 1
    if made == batch + 1 and pending < places:
        pending = places
        store(ends, made, pending)
        made += 1
    counted[next_turn + PLACES], counted[next_turn + MADE] = places, made
    counted[next_turn + PENDING] = pending
    store(counted, next_turn + TURN, batch + 1)
    # For those that watch over the progress. Batches that come later may tell of theirs before.
    store(words, COUNTED, batch + 1)
    if places == n or made == batch + 1:
        words[WRITTEN] = places
        store(words, DONE, 1)
    return begin


@helper
def write(children, count, order, begin):
    for i in range(index(count)):
        store(order, index(begin) + i, children[i])


@helper
def enlarged(array, room):
    larger = np.empty(2 * room, array.dtype)
    larger[: array.size] = array
    return larger
