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

from .atomics import fetch_add, fetch_min, give_way, load, store
from .children import FEW, ONE, ZERO, append_sorted, index, insert, sort_key
from .entries import wide_pattern
from .jit import helper, kernel
from .leveled import prepared

# Positions of a full batch.
BATCH = 64
# A thread that waits asks this often, and then lets another run: a round takes about a microsecond. It gives
# up after so many rounds without progress, and one more for each entry: no batch works so long on an entry.
SPINS = 128
PATIENCE = 2**24

# What all threads share, each word on a cache line of its own: the batches taken, those that have left their
# marks, and those that have counted their children; the positions that children have taken, the batches made
# of these, and the first that is in no batch yet; whether all is done, or something went wrong.
LINE = 8
TAKEN, MARKED, COUNTED, WRITTEN, MADE, PENDING, DONE, BROKEN = (LINE * i for i in range(8))
WORDS = 8 * LINE
STOPPED = -1


@dataclass(frozen=True, eq=False)
class Run:
    """What the threads work on."""

    order: np.ndarray
    marks: np.ndarray
    ends: np.ndarray  # of each batch, -1 where it is not made yet
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
    """The starts in batches, nothing taken yet."""
    order, marks = prepared(pattern, starts)
    # No batch is empty, so there are no more than vertices.
    ends, words = np.full(pattern.n, -1, np.int32), np.zeros(WORDS, np.int64)
    made = -(-starts.size // size)
    ends[:made] = np.minimum(np.arange(1, made + 1) * size, starts.size)
    words[[WRITTEN, PENDING]] = starts.size
    words[MADE] = made
    words[DONE] = starts.size == pattern.n
    return Run(order, marks, ends, words)


def work_off(run, pattern, threads, size=BATCH, patience=None):
    """Let threads take batches until there are none."""
    patience = PATIENCE + pattern.nnz if patience is None else patience
    arguments = *wide_pattern(pattern), run.order, run.marks, run.ends, run.words, size, patience

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
            f"the batches of the Cuthill-McKee order came to a standstill after {run.words[WRITTEN]} of "
            f'{run.order.size} vertices; please report it, and use method="serial"'
        )


@kernel(nogil=True)
def take_batches(indptr, indices, degrees, order, marks, ends, words, size, patience):
    children, parents = np.empty(16 * size, np.int32), np.empty(16 * size, np.int32)
    keys = np.empty(FEW, np.int32)
    while True:
        batch = fetch_add(words, TAKEN, 1)
        if batch >= ends.size:
            return
        end = np.int64(wait_for(ends, batch, 0, words, patience))
        if end == STOPPED:
            return
        begin = np.int64(ends[batch - 1]) if batch else np.int64(0)
        count = ZERO
        for position in range(begin, end):
            v = wait_for(order, position, 0, words, patience)
            if v == STOPPED:
                return
            row = indices[indptr[v] : indptr[v + 1]]
            if count + index(row.size) > index(children.size):
                children, parents = enlarged(children, row.size), enlarged(parents, row.size)
            found = claim(row, degrees, marks, position, children, count, keys)
            for i in range(count, found):
                parents[i] = position
            count = found
        if wait_for(words, MARKED, batch, words, patience) == STOPPED:
            return
        store(words, MARKED, batch + 1)
        count = confirm(marks, children, parents, count)
        if wait_for(words, COUNTED, batch, words, patience) == STOPPED:
            return
        begin = pass_on(batch, np.int64(count), order.size, ends, words, size)
        for i in range(np.int64(count)):
            store(order, begin + i, children[i])


# Ask for an entry until it is at least so much; STOPPED if all is done or came to a standstill.
@helper
def wait_for(array, place, least, words, patience):
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


# Leave a position's mark on its neighbours, and append those it is the lowest for so far to the candidates.
@helper
def claim(row, degrees, marks, position, children, begin, keys):
    if index(row.size) > FEW:
        return claim_many(row, degrees, marks, position, children, begin)
    count = ZERO
    for v in row:
        u = index(v)
        if load(marks, u) > position and fetch_min(marks, u, position) > position:
            insert(v, degrees[u], children, begin, keys, count)
            count += ONE
    return begin + count


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
    for i in range(count):
        if load(marks, index(children[i])) == parents[i]:
            children[kept] = children[i]
            kept += ONE
    return kept


# Take positions for the children, make batches of all that are in none, and let the next one count. A batch
# that is not full waits for more, unless nobody else is at work to bring them. Gives the first position.
@helper
def pass_on(batch, count, n, ends, words, size):
    begin, made, pending = words[WRITTEN], words[MADE], words[PENDING]
    written = begin + count
    while written - pending >= size:
        pending += size
        store(ends, made, pending)
        made += 1
    if made == batch + 1 and pending < written:
        pending = written
        store(ends, made, pending)
        made += 1
    words[WRITTEN], words[MADE], words[PENDING] = written, made, pending
    if written == n or made == batch + 1:
        store(words, DONE, 1)
    store(words, COUNTED, batch + 1)
    return begin


@helper
def enlarged(array, more):
    larger = np.empty(2 * (array.size + more), array.dtype)
    larger[: array.size] = array
    return larger
