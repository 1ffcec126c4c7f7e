"""The stages of a batch: discover candidates, sort them, and check which of them are children."""

import numpy as np

from ..runtime.atomics import fetch_min, give_way, load, store
from ..runtime.jit import helper
from . import batch_state as at
from .batch_state import Buffers
from .child_order import INSERTION_LIMIT, LOW_HALF, ONE, ZERO, index, sort_key

# A waiting thread polls SPINS times, then yields: about a microsecond a round. The watchdog reports an error
# after `patience` rounds without progress.
SPINS = 128


# Mark the neighbours of the batch's positions. Those that a position is the lowest for so far are its
# candidates. Returns the buffers, which grow where needed.
@helper
def discover(graph, shared, rules, slot, row, buffers):
    position, count = slot[at.BEGIN], np.int64(0)
    while 0 <= position < slot[at.END]:
        position, count = mark_neighbours(
            graph.indptr, graph.indices, graph.degrees, shared.order, shared.marks, shared.counters,
            rules.patience, slot[at.BEGIN], position, slot[at.END],
            buffers.children[row], buffers.degrees[row], buffers.offsets[row], count,
        )  # fmt: skip
        if 0 <= position < slot[at.END]:
            v = shared.order[position]
            buffers = enlarged(buffers, count + graph.indptr[v + 1] - graph.indptr[v])
    slot[at.COUNT] = count
    if position < 0:
        slot[at.STAGE] = at.STOPPED
    return buffers


# Continue from a position on. Returns the position reached, -1 on completion or error, and the number of
# candidates; a row that they have no room for ends it early.
@helper
def mark_neighbours(
    indptr, indices, degrees, order, marks, counters, patience,
    begin, first, end, children, child_degrees, offsets, count,
):  # fmt: skip
    tail = index(count)
    for position in range(first, end):
        offsets[index(position - begin)] = np.int64(tail)
        # Mostly it is there. LLVM optimizes well only if this load is not in the loop that waits.
        v = load(order, index(position))
        if v < 0:
            v = wait_for_vertex(order, index(position), counters, patience)
        if v < 0:
            return np.int64(-1), np.int64(0)
        entry, row_end = index(indptr[index(v)]), index(indptr[index(v) + ONE])
        if tail + (row_end - entry) > index(children.size):
            return position, np.int64(tail)
        for place in range(entry, row_end):
            u = index(indices[place])
            if load(marks, u) > position and fetch_min(marks, u, position) > position:
                children[tail] = np.int32(u)
                child_degrees[tail] = degrees[u]
                tail += ONE
    offsets[index(end - begin)] = np.int64(tail)
    return end, np.int64(tail)


# The vertex at a position, once it is written; -1 on completion or error. Its writer has the position
# already and waits for nobody.
@helper
def wait_for_vertex(order, position, counters, patience):
    rounds, progress = 0, np.int64(0)
    while True:
        for _ in range(SPINS):
            v = load(order, position)
            if v >= 0:
                return v
        if halted(counters):
            return np.int32(-1)
        rounds, progress = pause(counters, patience, rounds, progress)


@helper
def halted(counters):
    return load(counters, at.DONE) != 0 or load(counters, at.BROKEN) != 0


# A round of waiting: yields the core. The watchdog expires after `patience` rounds in which no batch has
# counted its children.
@helper
def pause(counters, patience, rounds, progress):
    now = load(counters, at.COUNTED)
    rounds = rounds + 1 if now == progress else 0
    if rounds > patience:
        store(counters, at.BROKEN, 1)
    give_way()
    return rounds, now


@helper
def enlarged(buffers, capacity):
    children = np.empty((buffers.children.shape[0], 2 * capacity), np.int32)
    degrees = np.empty_like(children)
    for row in range(buffers.children.shape[0]):  # assigning whole slices takes four seconds to compile
        for i in range(buffers.children.shape[1]):
            children[row, i], degrees[row, i] = buffers.children[row, i], buffers.degrees[row, i]
    return Buffers(children, degrees, buffers.offsets)


# Sort the candidates of each position by (degree, index).
@helper
def sort_candidates(slot, row, buffers):
    children, degrees, offsets = buffers.children[row], buffers.degrees[row], buffers.offsets[row]
    for i in range(slot[at.END] - slot[at.BEGIN]):
        begin, end = index(offsets[i]), index(offsets[i + 1])
        if end - begin > INSERTION_LIMIT:
            sort_many(children[begin:end], degrees[begin:end])
        else:
            insertion_sort(children, degrees, begin, end)


# Rows are stored by ascending index, so a stable sort by degree is enough.
@helper
def insertion_sort(children, degrees, begin, end):
    for i in range(begin + ONE, end):
        child, degree = children[i], degrees[i]
        place = i
        while place > begin and degrees[place - ONE] > degree:
            children[place], degrees[place] = children[place - ONE], degrees[place - ONE]
            place -= ONE
        children[place], degrees[place] = child, degree


@helper
def sort_many(children, degrees):
    keys = np.empty(children.size, np.int64)
    for i in range(keys.size):
        keys[i] = sort_key(degrees[i], children[i])
    keys.sort()
    for i in range(keys.size):
        children[i], degrees[i] = np.int32(keys[i] & LOW_HALF), np.int32(keys[i] >> 32)


# Stream compaction of the candidates that no lower position has marked meanwhile.
@helper
def rediscover(shared, slot, row, buffers):
    children, degrees, offsets = buffers.children[row], buffers.degrees[row], buffers.offsets[row]
    marks, kept, begin = shared.marks, ZERO, ZERO
    for i in range(slot[at.END] - slot[at.BEGIN]):
        position, end = slot[at.BEGIN] + i, index(offsets[i + 1])
        for place in range(begin, end):
            if load(marks, index(children[place])) == position:
                children[kept], degrees[kept] = children[place], degrees[place]
                kept += ONE
        begin = end
        offsets[i + 1] = np.int64(kept)
    slot[at.COUNT] = np.int64(kept)


# The sum of the children's degrees; one that exceeds the capacity fills a batch, no more.
@helper
def add_degrees(rules, slot, row, buffers):
    degrees = buffers.degrees[row]
    total = np.int64(0)
    for i in range(index(slot[at.COUNT])):
        total += min(np.int64(degrees[i]), rules.capacity)
    slot[at.DEGREES] = total
