"""The [0,n]-factor by proposals, and the greedy one: Algorithms 2 and 1 of Klein & Strzodka (2022)."""

import functools
import time

import numpy as np
from numba import prange

from ..matrix.entries import find_slot, gathered, magnitudes, rows_of
from ..runtime.arrays import BLOCK, NO_VERTEX, compact, readonly
from ..runtime.hashing import edge_hash, edge_order_key, hash_edges, is_positive, iteration_keys
from ..runtime.jit import helper, kernel
from ..runtime.md5 import is_positive_md5

MAX_DEGREE = 4

# Iterations between two returns to Python, which handles signals there.
AT_ONCE = 32

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
    state = FactorState(graph, n)
    state.iterate(limit, automatic, m, k_m, threshold, seed, charge, ties)
    return state.neighbors, gathered(graph.values, state.slots), state.slots, state.progress[:2].copy()


def proposition_times(graph, n, k, repeats):
    """Seconds of the proposition of iteration k without charging, in each of `repeats` runs.

    The second result is the number of vertices that propose: those that still have a free edge. There are no
    times where the factor is maximal before iteration k.
    """
    state = FactorState(graph, n)
    if k > 0:
        state.iterate(k, False, 1, 0, 0, 0, "splitmix64", "auto")
    if state.progress[1]:
        return [], 0
    times, rules = [], (False, *tie_rule_of("auto", False, 0, k), k > 0)
    for _ in range(repeats + 1):  # the first run compiles
        proposals = [array.copy() for array in state.proposals]
        start = time.perf_counter()
        propose(*state.graph, state.neighbors, state.degrees, state.states, state.active, state.ids, *rules,
                *proposals)  # fmt: skip
        times.append(time.perf_counter() - start)
    return times[1:], state.active.size


class FactorState:
    """The arrays of a factor that grows.

    `progress` are the iterations, whether the factor is known to be maximal, its edges and the active
    vertices, which are the first of `vertices`.
    """

    def __init__(self, graph, n):
        vertices, index = graph.indptr.size - 1, graph.indices.dtype
        self.graph = tuple(map(readonly, (graph.indptr, graph.indices, graph.values)))
        self.neighbors, self.slots = np.full((2, vertices, n), NO_VERTEX, index)
        self.proposals = tuple(np.empty((2, vertices, n), index))
        self.degrees, self.states = np.zeros((2, vertices), np.uint8)
        self.vertices, self.ids = np.arange(vertices, dtype=index), readonly(OWN_NUMBERS)
        self.progress = np.array([0, 0, 0, vertices])

    @property
    def active(self):
        return self.vertices[: self.progress[3]]

    def iterate(self, limit, automatic, m, k_m, threshold, seed, charge, ties, keep=True):
        """The iterations of Algorithm 2; without `keep`, all proposals are searched for."""
        arrays = self.neighbors, self.slots, *self.proposals, self.degrees, self.states, self.vertices
        md5, limit = charge == "md5", -1 if limit is None else limit
        rules = np.uint64(threshold), md5, m, k_m, limit, automatic, keep
        ended = False
        while not ended:
            k = int(self.progress[0])
            if md5 and k % m != k_m:
                draw_charges(self.active, self.ids, self.states, charge, threshold, seed, k)
            keys = keys_of_iterations(ties, seed, k, 1 if md5 else AT_ONCE)
            ended = iterate(*self.graph, *arrays, self.ids, *keys, *rules, self.progress)


@functools.lru_cache(maxsize=64)
def keys_of_iterations(ties, seed, first, count):
    """The keys of charges and ties in some iterations; whether ties are hashed without and with charges."""
    keys = [iteration_keys(seed, k) for k in range(first, first + count)]
    charges, hashes = (readonly(np.array(each)) for each in zip(*keys))
    if ties == "random":
        hashes = readonly(np.full(count, edge_order_key(seed)))
    return charges, hashes, ties == "random", ties != "index"


# As many iterations of Algorithm 2 as there are keys; returns whether they have ended. With `drawn`, the
# charges have been drawn. With `keep`, proposals of the iteration before are kept where all are uncharged.
@kernel(parallel=True)
def iterate(
    indptr, indices, values, neighbors, slots, proposed, proposed_slots, degrees, states, vertices, ids,
    charge_keys, tie_keys, hashed_uncharged, hashed_charged, threshold, drawn, m, k_m, limit, automatic, keep,
    progress,
):  # fmt: skip
    k, maximal, edges, size = progress
    first, ended = k, False
    made, confirmed, left = np.empty((3, -(-size // BLOCK)), np.int64)
    while not ended and k - first < charge_keys.size:
        charged, active = k % m != k_m, vertices[:size]
        blocks = -(-size // BLOCK)
        charge_key, tie_key = charge_keys[k - first], tie_keys[k - first]
        hashed, same_rules = hashed_charged if charged else hashed_uncharged, keep and m == 1 and k > 0
        for i in prange(size if charged and not drawn else 0):
            v = active[i]
            states[v] = POSITIVE if is_positive(id_of(ids, v), charge_key, threshold) else NEGATIVE
        for block in prange(blocks):
            made[block] = propose_block(
                indptr, indices, values, neighbors, degrees, states, active, ids, charged, hashed, tie_key,
                same_rules, proposed, proposed_slots, block,
            )  # fmt: skip
        for block in prange(blocks):
            confirmed[block], left[block] = confirm_block(
                proposed, proposed_slots, neighbors, slots, degrees, states, active, block
            )
        k += 1
        maximal = not charged and made[:blocks].sum() == 0
        new = confirmed[:blocks].sum() // 2
        edges += new
        size = compact(active, left[:blocks])
        ended = maximal or k == limit or (automatic and k >= 5 and 100 * new <= edges)
        if size == 0 and limit < 0 and not maximal:
            k += (k_m - k) % m  # nothing can happen before the next uncharged iteration
    progress[0], progress[1], progress[2], progress[3] = k, maximal, edges, size
    return ended


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


def greedy_factor(graph, n, ties="index", seed=0):
    """Visit the edges by decreasing weight and keep each one whose ends both have fewer than n edges.

    Equal weights are ordered by (min, max); with `ties` "random" by (hash, min, max).
    """
    indptr, indices = readonly(graph.indptr), readonly(graph.indices)
    weights = magnitudes(graph.values)
    rows = rows_of(indptr, indices.size)
    upper = np.flatnonzero((indices > rows) & (weights > 0))  # sorted by (min, max)
    if ties == "random":
        hashes = np.empty(upper.size, np.uint32)
        hash_edges(rows[upper], indices[upper], edge_order_key(seed), hashes)
        upper = upper[np.argsort(hashes, kind="stable")]
    order = upper[np.argsort(-weights[upper], kind="stable")]
    vertices = indptr.size - 1
    neighbors, slots = (np.full((vertices, n), NO_VERTEX, indices.dtype) for _ in range(2))
    take_edges(indptr, indices, rows, order, neighbors, slots, np.zeros(vertices, np.uint8))
    return neighbors, gathered(graph.values, slots), slots


# Keeps each edge whose ends both have fewer than n edges so far.
@kernel(parallel=False)
def take_edges(indptr, indices, rows, order, neighbors, slots, degrees):
    n = neighbors.shape[1]
    for slot in order:
        v, w = rows[slot], indices[slot]
        if degrees[v] < n and degrees[w] < n:
            insert(neighbors, slots, v, np.int64(degrees[v]), w, slot)
            insert(neighbors, slots, w, np.int64(degrees[w]), v, find_slot(indptr, indices, w, v))
            degrees[v] += 1
            degrees[w] += 1
