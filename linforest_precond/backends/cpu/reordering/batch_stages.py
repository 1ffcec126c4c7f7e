"""The stages of a batch: discover candidates, sort them, and check which of them are children."""

import numpy as np

from ..runtime.atomics import fetch_min, give_way, load, store
from ..runtime.jit import helper
from .batch_state import (
    BEGIN, BROKEN, COUNT, COUNTED, DEGREES, DONE, END, STAGE, STOPPED, Buffers,
)  # fmt: skip
from .child_order import INSERTION_LIMIT, LOW_HALF, ONE, ZERO, index, sort_key

# A waiting thread polls SPINS times, then yields: about a microsecond a round. The watchdog reports an error
# after `patience` rounds without progress.
SPINS = 128


# Mark the neighbours of the batch's positions. Those that a position is the lowest for so far are its
# candidates. Returns the buffers, which grow where needed.
@helper
def discover(graph, shared, rules, slot, row, buffers):
    offsets = buffers.offsets[row]
    count = ZERO
    for position in range(slot[BEGIN], slot[END]):
        v = wait_for_vertex(shared, rules, position)
        if v < 0:
            slot[STAGE] = STOPPED
            return buffers
        begin, end = index(graph.indptr[index(v)]), index(graph.indptr[index(v) + ONE])
        if count + (end - begin) > index(buffers.children.shape[1]):
            buffers = enlarged(buffers, np.int64(count + (end - begin)))
        offsets[position - slot[BEGIN]] = np.int64(count)
        children, degrees = buffers.children[row], buffers.degrees[row]
        for entry in range(begin, end):
            u = index(graph.indices[entry])
            if load(shared.marks, u) > position and fetch_min(shared.marks, u, position) > position:
                children[count], degrees[count] = np.int32(u), graph.degrees[u]
                count += ONE
    offsets[slot[END] - slot[BEGIN]] = np.int64(count)
    slot[COUNT] = np.int64(count)
    return buffers


# The vertex at a position, once it is written; -1 on completion or error. Its writer has the position
# already and waits for nobody.
@helper
def wait_for_vertex(shared, rules, position):
    rounds, progress = 0, np.int64(0)
    while True:
        for _ in range(SPINS):
            v = load(shared.order, index(position))
            if v >= 0:
                return v
        if halted(shared.counters):
            return np.int32(-1)
        rounds, progress = pause(shared.counters, rules.patience, rounds, progress)


@helper
def halted(counters):
    return load(counters, DONE) != 0 or load(counters, BROKEN) != 0


# A round of waiting: yields the core. The watchdog expires after `patience` rounds in which no batch has
# counted its children.
@helper
def pause(counters, patience, rounds, progress):
    now = load(counters, COUNTED)
    rounds = rounds + 1 if now == progress else 0
    if rounds > patience:
        store(counters, BROKEN, 1)
    give_way()
    return rounds, now


@helper
def enlarged(buffers, capacity):
    children = np.empty((buffers.children.shape[0], 2 * capacity), np.int32)
    degrees = np.empty_like(children)
    children[:, : buffers.children.shape[1]] = buffers.children
    degrees[:, : buffers.degrees.shape[1]] = buffers.degrees
    return Buffers(children, degrees, buffers.offsets)


# Sort the candidates of each position by (degree, index).
@helper
def sort_candidates(slot, row, buffers):
    children, degrees, offsets = buffers.children[row], buffers.degrees[row], buffers.offsets[row]
    for i in range(slot[END] - slot[BEGIN]):
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
    kept, begin = ZERO, ZERO
    for i in range(slot[END] - slot[BEGIN]):
        position, end = slot[BEGIN] + i, index(offsets[i + 1])
        for place in range(begin, end):
            if load(shared.marks, index(children[place])) == position:
                children[kept], degrees[kept] = children[place], degrees[place]
                kept += ONE
        begin = end
        offsets[i + 1] = np.int64(kept)
    slot[COUNT] = np.int64(kept)


# The sum of the children's degrees; one that exceeds the capacity fills a batch, no more.
@helper
def add_degrees(rules, slot, row, buffers):
    degrees = buffers.degrees[row]
    total = np.int64(0)
    for i in range(index(slot[COUNT])):
        total += min(np.int64(degrees[i]), rules.capacity)
    slot[DEGREES] = total
