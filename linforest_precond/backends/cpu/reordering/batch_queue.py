"""The queue of batches: how many are made of the children of a batch, and where they begin and end."""

import numpy as np

from ..runtime.atomics import store
from ..runtime.jit import helper
from . import batch_state as at
from .child_order import index


# Assign positions to the children, reserve batches for the positions that are in none, and let the next batch
# count. What is too little for a batch is left to the next one, if there is one in the queue.
@helper
def reserve(shared, rules, slot, turn, next_turn):
    counted = shared.counted
    begin, made = counted[turn + at.ASSIGNED], counted[turn + at.MADE]
    pending, overhang = counted[turn + at.PENDING], counted[turn + at.OVERHANG]
    slot[at.PLACE], slot[at.FIRST], slot[at.LEFT_FROM], slot[at.LEFT_DEGREES] = begin, made, pending, overhang
    assigned, last = begin + slot[at.COUNT], made == slot[at.BATCH] + 1
    positions, degrees = assigned - pending, overhang + slot[at.DEGREES]
    new = batches_for(positions, degrees, last, rules)
    slot[at.NEW] = new
    if rules.packing == at.BY_SIZE:
        pending += min(positions, new * rules.size)
    elif new:
        pending, degrees = assigned, np.int64(0)
    counted[next_turn + at.ASSIGNED], counted[next_turn + at.MADE] = assigned, made + new
    counted[next_turn + at.PENDING], counted[next_turn + at.OVERHANG] = pending, degrees
    store(counted, next_turn + at.TURN, slot[at.BATCH] + 1)
    # For the watchdog only: a later batch may store its number first.
    store(shared.counters, at.COUNTED, slot[at.BATCH] + 1)
    if assigned == shared.order.size or (last and new == 0):
        shared.counters[at.WRITTEN] = assigned
        store(shared.counters, at.DONE, 1)


# The number of batches for positions with a sum of degrees.
#
# Next-fit packing closes a batch at `size` positions, or where the next degree does not fit; the latter
# happens less than 2 * degrees / capacity times, since a batch and the vertex after it exceed the capacity.
@helper
def batches_for(positions, degrees, last, rules):
    size, capacity = rules.size, rules.capacity
    if rules.packing == at.BY_SIZE:
        full = positions // size
        return np.int64(1) if last and full == 0 and positions > 0 else full
    if positions == 0 or (not last and 2 * positions < size and 2 * degrees < capacity):
        return np.int64(0)
    if rules.packing == at.EVENLY:
        return max(ceil_divide(positions, size), ceil_divide(degrees, capacity))
    return positions // size + ceil_divide(2 * degrees, capacity)


@helper
def ceil_divide(a, b):
    return (a + b - 1) // b


@helper
def write(shared, slot, children):
    order, place = shared.order, index(slot[at.PLACE])
    for i in range(index(slot[at.COUNT])):
        store(order, place + i, children[i])


# Fill the reserved batches by the degrees of the sorted children.
@helper
def pack(shared, rules, slot, degrees):
    if rules.packing == at.EVENLY:
        pack_evenly(shared, rules, slot, degrees)
    elif rules.packing == at.WITH_SPARES:
        pack_in_order(shared, rules, slot, degrees)


@helper
def put(shared, batch, begin, end):
    store(shared.ranges, batch, begin << 32 | end)


# Batches of `size` positions: they need not be sorted before.
@helper
def make_full(shared, rules, slot):
    begin, assigned = slot[at.LEFT_FROM], slot[at.PLACE] + slot[at.COUNT]
    for batch in range(slot[at.FIRST], slot[at.FIRST] + slot[at.NEW]):
        end = min(begin + rules.size, assigned)
        put(shared, batch, begin, end)
        begin = end


# Each batch takes vertices up to its share of the remaining degrees, but no fewer than the batches after it
# could not hold. What is left from the batches before goes into the first one.
@helper
def pack_evenly(shared, rules, slot, degrees):
    begin, i = slot[at.LEFT_FROM], 0
    positions, left = slot[at.PLACE] + slot[at.COUNT] - begin, slot[at.LEFT_DEGREES] + slot[at.DEGREES]
    held, total = slot[at.PLACE] - begin, slot[at.LEFT_DEGREES]
    for batch in range(slot[at.NEW]):
        others = slot[at.NEW] - batch - 1
        least, share = positions - others * rules.size, ceil_divide(left, others + 1)
        while i < slot[at.COUNT] and (held < least or (held < rules.size and total < share)):
            total += min(np.int64(degrees[i]), rules.capacity)
            held, i = held + 1, i + 1
        put(shared, slot[at.FIRST] + batch, begin, begin + held)
        begin, positions, left = begin + held, positions - held, left - total
        held, total = 0, np.int64(0)


# Next-fit packing; reserved batches that are not needed stay empty.
@helper
def pack_in_order(shared, rules, slot, degrees):
    batch, last = slot[at.FIRST], slot[at.FIRST] + slot[at.NEW]
    begin, end, total = slot[at.LEFT_FROM], slot[at.PLACE], slot[at.LEFT_DEGREES]
    if batch == last:
        return
    for i in range(slot[at.COUNT]):
        degree = min(np.int64(degrees[i]), rules.capacity)
        if end > begin and (end - begin == rules.size or total + degree > rules.capacity):
            put(shared, batch, begin, end)
            batch, begin, total = batch + 1, end, np.int64(0)
        end, total = end + 1, total + degree
    put(shared, batch, begin, end)
    for spare in range(batch + 1, last):
        put(shared, spare, end, end)
