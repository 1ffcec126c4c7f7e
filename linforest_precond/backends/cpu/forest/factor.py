"""The [0,n]-factor by proposals: Algorithm 2 of Klein & Strzodka (2022)."""

import time

import numpy as np
from numba import prange

from ..matrix.entries import gathered
from ..runtime.arrays import BLOCK, NO_VERTEX, compact, readonly
from ..runtime.hashing import edge_hash, edge_order_key, is_positive, iteration_keys
from ..runtime.jit import helper, kernel
from ..runtime.md5 import is_positive_md5

MAX_DEGREE = 4

# The first proposal of a vertex that has no free edge left.
EXHAUSTED = -2

# No ids: vertices are hashed by their own numbers. Ranks, which number theirs from 0, give global ids.
OWN_NUMBERS = np.empty(0, np.int64)

# The state of a vertex: its charge in this iteration, or that it has n edges.
NEGATIVE, POSITIVE, SATURATED = np.uint8(0), np.uint8(1), np.uint8(2)


def propose_factor(graph, n, limit, automatic, m, k_m, threshold, seed, charge="splitmix64", ties="auto"):
    """Propose and confirm edges until the limit, the automatic rule or a maximal factor ends the iteration.

    Returns neighbors, values, slots, and an array: iterations, and whether the factor is known to be maximal.
    """
    return _iterate(propose, graph, n, limit, automatic, m, k_m, threshold, seed, charge, ties)


def proposition_times(graph, n, k, repeats):
    """Seconds of the proposition of iteration k without charging, in each of `repeats` runs.

    The second result is the number of vertices that propose: those that still have a free edge. There are no
    times where the factor is maximal before iteration k.
    """
    times = []

    def timed_propose(*arguments):
        start = time.perf_counter()
        made = propose(*arguments)
        times.append((time.perf_counter() - start, arguments[6].size))
        return made

    found = []
    for _ in range(repeats + 1):  # the first run compiles
        times.clear()
        _iterate(timed_propose, graph, n, k + 1, False, 1, 0, 0, 0, "splitmix64", "auto")
        found += times[k : k + 1]
    return [seconds for seconds, _ in found[1:]], found[0][1] if found else 0


def _iterate(propose, graph, n, limit, automatic, m, k_m, threshold, seed, charge, ties):
    """The iterations of Algorithm 2, with the kernel that proposes."""
    vertices, index = graph.indptr.size - 1, graph.indices.dtype
    graph_arrays = tuple(map(readonly, (graph.indptr, graph.indices, graph.values)))
    neighbors, slots, *proposals = (np.full((vertices, n), NO_VERTEX, index) for _ in range(4))
    degrees, states = np.zeros(vertices, np.uint8), np.zeros(vertices, np.uint8)
    active, ids = np.arange(vertices, dtype=index), readonly(OWN_NUMBERS)
    edges = k = 0
    maximal = False
    while not maximal and (limit is None or k < limit):
        charged = k % m != k_m
        if charged:
            draw_charges(active, ids, states, charge, threshold, seed, k)
        rules = charged, *tie_rule_of(ties, charged, seed, k), m == 1 and k > 0
        k += 1
        made = propose(*graph_arrays, neighbors, degrees, states, active, ids, *rules, *proposals)
        maximal = not charged and made == 0
        confirmed, left = confirm(*proposals, neighbors, slots, degrees, states, active)
        new = confirmed // 2
        edges += new
        active = active[:left]
        if automatic and k >= 5 and 100 * new <= edges:
            break
        if active.size == 0 and limit is None and not maximal:
            k += (k_m - k) % m  # nothing can happen before the next uncharged iteration
    return neighbors, gathered(graph.values, slots), slots, np.array([k, maximal])


def draw_charges(active, ids, states, charge, threshold, seed, k):
    """Draw the charges of the active vertices in iteration k."""
    if charge == "md5":
        charge_md5(active, ids, states, np.uint64(seed), np.uint64(k), np.uint64(threshold))
    else:
        charge_splitmix64(active, ids, states, iteration_keys(seed, k)[0], np.uint64(threshold))


def tie_rule_of(ties, charged, seed, k):
    """Whether equal weights are ordered by a hash in iteration k, and the key of that hash."""
    if ties == "random":
        return True, edge_order_key(seed)
    return charged and ties == "auto", iteration_keys(seed, k)[1]


# Each active vertex draws its charge.
@kernel(parallel=True)
def charge_splitmix64(active, ids, states, charge_key, threshold):
    for i in prange(active.size):
        v = active[i]
        states[v] = POSITIVE if is_positive(id_of(ids, v), charge_key, threshold) else NEGATIVE


# The same by the MD5 digest of vertex, iteration and seed.
@kernel(parallel=True)
def charge_md5(active, ids, states, seed, k, threshold):
    for i in prange(active.size):
        v = active[i]
        states[v] = POSITIVE if is_positive_md5(id_of(ids, v), k, seed, threshold) else NEGATIVE


# The id that is hashed for a vertex: its own number, if there are no others.
@helper
def id_of(ids, v):
    return np.int64(v) if ids.size == 0 else ids[v]


# Each active vertex proposes along its heaviest free edges, as many as it lacks to n. Equal weights are
# ordered by their hash if `hashed`, then by column: rows are sorted, so the lower one comes first. With
# `same_rules` as in the iteration before, proposals stay while their other ends are free: the free edges only
# become fewer. Returns the number of proposals.
@kernel(parallel=True)
def propose(
    indptr, indices, values, neighbors, degrees, states, active, ids, charged, hashed, tie_key, same_rules,
    proposed, proposed_slots,
):  # fmt: skip
    made = np.empty(-(-active.size // BLOCK), np.int64)
    for block in prange(made.size):
        made[block] = propose_block(
            indptr, indices, values, neighbors, degrees, states, active, ids, charged, hashed, tie_key,
            same_rules, proposed, proposed_slots, block,
        )  # fmt: skip
    return made.sum()


# The same for one block of active vertices.
# (One long function: a helper that takes these arrays, called for every vertex, costs several times as much.)
@helper
def propose_block(
    indptr, indices, values, neighbors, degrees, states, active, ids, charged, hashed, tie_key, same_rules,
    proposed, proposed_slots, block,
):  # fmt: skip
    n = neighbors.shape[1]
    best, ties = np.empty(MAX_DEGREE, values.dtype), np.empty(MAX_DEGREE, np.uint32)
    total = 0
    for i in range(block * BLOCK, min((block + 1) * BLOCK, active.size)):
        v = np.int64(active[i])
        own_state, room = states[v], n - np.int64(degrees[v])
        count = 0
        while same_rules and count < n and proposed[v, count] >= 0:
            w = np.int64(proposed[v, count])
            if states[w] == SATURATED or holds(neighbors, v, w):
                break
            count += 1
        if count > 0 and (count == n or proposed[v, count] < 0):
            total += count
            continue
        count = 0
        available = False
        # The last of the best once the vertex has no more room; before that, every edge precedes it.
        last_weight, last_tie = values.dtype.type(0), np.uint32(0)
        for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
            w = np.int64(indices[slot])
            weight = abs(values[slot])
            if states[w] == SATURATED or w == v or weight == 0 or holds(neighbors, v, w):
                continue
            available = True
            if weight < last_weight or (charged and states[w] == own_state):
                continue
            tie = edge_hash(id_of(ids, v), id_of(ids, w), tie_key) if hashed else np.uint32(0)
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
    return total


@helper
def precedes(weight, tie, other_weight, other_tie):
    return weight > other_weight or (weight == other_weight and tie < other_tie)


@helper
def holds(table, v, w):
    found = False
    for j in range(table.shape[1]):  # no early exit: rows are short, and a branch on data costs more
        found |= table[v, j] == w
    return found


# Confirms the edges that both ends proposed, and moves the vertices that stay active to the front. Returns
# the number of ends of confirmed edges, and that of active vertices.
@kernel(parallel=True)
def confirm(proposed, proposed_slots, neighbors, slots, degrees, states, active):
    left = np.empty(-(-active.size // BLOCK), np.int64)
    confirmed = np.empty_like(left)
    for block in prange(left.size):
        confirmed[block], left[block] = confirm_block(
            proposed, proposed_slots, neighbors, slots, degrees, states, active, block
        )
    return confirmed.sum(), compact(active, left)


# The same for one block of active vertices; those that stay active move to its front.
@helper
def confirm_block(proposed, proposed_slots, neighbors, slots, degrees, states, active, block):
    n = neighbors.shape[1]
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
            # w is not saturated and has the free edge to v, so it is active and its proposals are of this
            # iteration.
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
    return count, stay - start


# Adds an edge to a vertex that has `degree` edges; neighbors stay ascending.
@helper
def insert(neighbors, slots, v, degree, w, slot):
    place = degree
    while place > 0 and neighbors[v, place - 1] > w:
        neighbors[v, place], slots[v, place] = neighbors[v, place - 1], slots[v, place - 1]
        place -= 1
    neighbors[v, place], slots[v, place] = w, slot
