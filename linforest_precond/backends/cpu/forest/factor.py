"""The [0,n]-factor by proposals: Algorithm 2 of Klein & Strzodka (2022)."""

import numpy as np
from numba import prange

from ..runtime.arrays import readonly
from ..runtime.compaction import BLOCK, compact
from ..runtime.constants import NO_VERTEX
from ..runtime.hashing import edge_hash, is_positive, iteration_keys
from ..runtime.jit import helper, kernel

MAX_DEGREE = 4

# Stands first among a vertex's proposals when none of its edges is available any more.
EXHAUSTED = -2

# What the others see of a vertex: its charge, or that it takes no more edges.
NEGATIVE, POSITIVE, SATURATED = np.uint8(0), np.uint8(1), np.uint8(2)


def propose_factor(graph, n, limit, automatic, m, k_m, threshold, seed):
    """Propose and confirm edges until the limit, the automatic rule, or a maximal factor ends it.

    Returns neighbors, values, slots, and an array: the propositions made, and whether it is surely maximal.
    """
    graph_arrays = tuple(map(readonly, (graph.indptr, graph.indices, graph.values)))
    vertices, index = graph.indptr.size - 1, graph.indices.dtype
    neighbors, slots, *proposals = (np.full((vertices, n), NO_VERTEX, index) for _ in range(4))
    degrees, states = np.zeros(vertices, np.uint8), np.zeros(vertices, np.uint8)
    active = np.arange(vertices, dtype=index)
    edges = k = 0
    maximal = False
    while not maximal and (limit is None or k < limit):
        charged = k % m != k_m
        charge_key, tie_key = iteration_keys(seed, k)
        k += 1
        if charged:
            charge(active, states, charge_key, np.uint64(threshold))
        made, left = _per_block(active), _per_block(active)
        propose(*graph_arrays, neighbors, degrees, states, active, charged, tie_key, *proposals, made)
        maximal = not charged and made.sum() == 0
        confirm(*proposals, neighbors, slots, degrees, states, active, made, left)
        new = int(made.sum()) // 2
        edges += new
        active = active[: compact(active, left)]
        if automatic and k >= 5 and 100 * new <= edges:
            break
        if active.size == 0 and limit is None and not maximal:
            k += (k_m - k) % m  # nothing can happen before the next uncharged iteration
    return neighbors, gather_values(graph.values, slots), slots, np.array([k, maximal])


def gather_values(values, slots):
    """What is stored at the slots, 0 where there is none."""
    if values.size == 0:
        return np.zeros(slots.shape, values.dtype)
    out = values.take(slots, mode="clip")
    out[slots < 0] = 0
    return out


def _per_block(active):
    return np.empty(-(-active.size // BLOCK), np.int64)


# Each active vertex draws its charge.
@kernel(parallel=True)
def charge(active, states, charge_key, threshold):
    for i in prange(active.size):
        v = active[i]
        states[v] = POSITIVE if is_positive(v, charge_key, threshold) else NEGATIVE


# Each vertex proposes along its heaviest available edges until it would hold n: equal weights by hash when
# charged, then the lower column, which is met first.
# (One long function: a helper that takes these arrays, called at every vertex, costs several times as much.)
@kernel(parallel=True)
def propose(
    indptr, indices, values, neighbors, degrees, states, active, charged, tie_key, proposed, proposed_slots,
    made,
):  # fmt: skip
    n = neighbors.shape[1]
    for block in prange(made.size):
        best, ties = np.empty(MAX_DEGREE, values.dtype), np.empty(MAX_DEGREE, np.uint32)
        total = 0
        for i in range(block * BLOCK, min((block + 1) * BLOCK, active.size)):
            v = np.int64(active[i])
            own_state, room = states[v], n - np.int64(degrees[v])
            count = 0
            available = False
            # The last of the best once they are n; before that, every edge beats it.
            last_weight, last_tie = values.dtype.type(0), np.uint32(0)
            for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
                w = np.int64(indices[slot])
                weight = abs(values[slot])
                if states[w] == SATURATED or w == v or weight == 0 or holds(neighbors, v, w):
                    continue
                available = True
                if weight < last_weight or (charged and states[w] == own_state):
                    continue
                tie = edge_hash(v, w, tie_key) if charged else np.uint32(0)
                if weight == last_weight and tie >= last_tie:
                    continue
                place = min(count, room - 1)
                while place > 0 and precedes(weight, tie, best[place - 1], ties[place - 1]):
                    best[place], ties[place] = best[place - 1], ties[place - 1]
                    proposed[v, place] = proposed[v, place - 1]
                    proposed_slots[v, place] = proposed_slots[v, place - 1]
                    place -= 1
                best[place], ties[place] = weight, tie
                proposed[v, place], proposed_slots[v, place] = w, slot
                count = min(count + 1, room)
                if count == room:
                    last_weight, last_tie = best[room - 1], ties[room - 1]
            for j in range(count, n):
                proposed[v, j] = NO_VERTEX
            if not available:
                proposed[v, 0] = EXHAUSTED
            total += count
        made[block] = total


@helper
def precedes(weight, tie, other_weight, other_tie):
    return weight > other_weight or (weight == other_weight and tie < other_tie)


@helper
def holds(table, v, w):
    found = False
    for j in range(table.shape[1]):  # no early exit: rows are short, and a branch on data costs more
        found |= table[v, j] == w
    return found


# Edges that both ends proposed are confirmed. Each block moves its vertices that go on to its front.
@kernel(parallel=True)
def confirm(proposed, proposed_slots, neighbors, slots, degrees, states, active, made, left):
    n = neighbors.shape[1]
    for block in prange(made.size):
        start = block * BLOCK
        stay = start
        count = 0
        for i in range(start, min(start + BLOCK, active.size)):
            v = np.int64(active[i])
            degree = np.int64(degrees[v])
            for j in range(n):
                w = np.int64(proposed[v, j])
                if w < 0:
                    break
                # Whom v proposed to is unsaturated and could choose v, hence active: its proposals are new.
                if holds(proposed, w, v):
                    insert(neighbors, slots, v, degree, w, proposed_slots[v, j])
                    degree += 1
                    count += 1
            degrees[v] = degree
            if degree == n:
                states[v] = SATURATED
            elif proposed[v, 0] != EXHAUSTED:
                active[stay] = v
                stay += 1
        made[block] = count
        left[block] = stay - start


# Add an edge to a vertex that has `degree`, its neighbors ascending.
@helper
def insert(neighbors, slots, v, degree, w, slot):
    place = degree
    while place > 0 and neighbors[v, place - 1] > w:
        neighbors[v, place], slots[v, place] = neighbors[v, place - 1], slots[v, place - 1]
        place -= 1
    neighbors[v, place], slots[v, place] = w, slot
