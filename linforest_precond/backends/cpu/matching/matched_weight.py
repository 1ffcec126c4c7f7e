"""The weight of a matching: values of matched edges, augmentations that raise it, offers that bound it.

Dual variables are bounded by the best offers of edges that are not matched. Augmentations add two edges at
most: Pettie & Sanders (2004), in parallel rounds.
"""

import numpy as np
from numba import prange

from ..matrix.entries import find_slot
from ..runtime.arrays import NO_VERTEX, NOT_FOUND, readonly
from ..runtime.hashing import edge_hash
from ..runtime.jit import helper, kernel

# A gain counts if it exceeds this multiple of the weight that is added: several times its rounding error, so
# that every augmentation increases the weight in exact arithmetic, and the rounds end.
TOLERANCE = 2.0**-49
LOW_HALF, SHIFT_32 = np.uint64(0xFFFFFFFF), np.uint64(32)
# The marks of vertices whose augmentations are to be searched; those that an augmentation has touched.
DIRTY, TOUCHED = np.uint8(1), np.uint8(2)


def matched_edge_values(graph, mate):
    """The graph's value between each vertex and its mate, 0 where it has none or nothing is stored."""
    out = np.zeros(graph.n, graph.values.dtype)
    find_matched_values(*map(readonly, (graph.indptr, graph.indices, graph.values, mate)), out)
    return out


# Binary search of the mate in each vertex's row.
@kernel(parallel=True)
def find_matched_values(indptr, indices, values, mate, out):
    for v in prange(out.size):
        if mate[v] >= 0:
            slot = find_slot(indptr, indices, v, mate[v])
            if slot != NOT_FOUND:
                out[v] = values[slot]


def best_offers(graph, duals, without):
    """For each vertex the largest weight minus dual over its neighbours but one, `without`; at least 0.

    Weights are float64, times the graph's scale.
    """
    offers = np.empty(graph.n)
    arrays = graph.indptr, graph.indices, graph.values, duals, without
    find_best_offers(*map(readonly, arrays), graph.scale, offers)
    return offers


@kernel(parallel=True)
def find_best_offers(indptr, indices, values, duals, without, scale, offers):
    for v in prange(offers.size):
        best = 0.0
        for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
            x = np.int64(indices[slot])
            if x != v and x != without[v]:
                best = max(best, abs(np.float64(values[slot])) * scale - duals[x])
        offers[v] = best


def augment(graph, mate, tie_key, limit):
    """Augment a matching in place; returns rounds and whether no augmentation is left, and mates' weights.

    The centre of an augmentation is a single vertex, or a matched edge, which is removed. One or both ends of
    the centre get an arm: an edge to another vertex, whose own edge is removed. In a round all centres near
    a change search their best augmentation, and the locally best ones are applied: those that are the first
    by (-gain, hash of the centre, centre) at each vertex that they touch, among the first by gain. Changed
    vertices search anew, and their neighbours that have an arm to them, or had one in their augmentation: a
    new cycle is found by the changed one of its two matched edges.

    Weights are float64, times the graph's scale. The gain of arms a and b and the centre c
    is (w_a - w_a') + (w_b - w_b') - w_c, with the removed edges a' and b'; of a cycle, where a' is b',
    (w_a + w_b) - (w_a' + w_c). Equal gains of arms are ordered by the hashes of the added edges, then by the
    outer vertex, equal ones of cycles by the neighbour of the lower vertex.
    """
    arrays = tuple(map(readonly, (graph.indptr, graph.indices, graph.values)))
    index, scale, tie_key = mate.dtype, graph.scale, np.uint32(tie_key)
    mate_weights = np.abs(matched_edge_values(graph, mate).astype(np.float64)) * scale
    gains, arms = np.zeros(graph.n), np.full((2, graph.n), NO_VERTEX, index)
    dirty, active = np.full(graph.n, DIRTY), np.arange(graph.n, dtype=index)
    claims, ties = np.zeros(graph.n), np.zeros(graph.n, np.uint64)
    centres, rounds = np.empty(graph.n, index), 0
    size = 0
    while True:
        find_augmentations(*arrays, scale, tie_key, mate, mate_weights, active, gains, arms)
        size = list_centres(active, gains, dirty, centres, size)
        if size == 0 or rounds == limit:
            return (rounds, size == 0), mate_weights
        claim(centres[:size], mate, gains, arms, tie_key, claims, ties)
        active = apply_best(
            *arrays, scale, tie_key, mate, mate_weights, centres[:size], gains, arms, claims, ties, dirty
        )
        rounds += 1


# The best augmentation of the centre of each active vertex; gains[v] is 0 where there is none, and where v is
# not the lower end of its matched edge.
@kernel(parallel=True)
def find_augmentations(indptr, indices, values, scale, tie_key, mate, mate_weights, active, gains, arms):
    for i in prange(active.size):
        v = np.int64(active[i])
        gain, a, b = 0.0, NO_VERTEX, NO_VERTEX
        if mate[v] < 0:
            gain, a, _, _, _, _ = best_arms(
                indptr, indices, values, scale, tie_key, mate, mate_weights, v, NO_VERTEX, 0.0
            )
            if a >= 0 and gain <= TOLERANCE * (gain + mate_weights[a]):
                gain = 0.0
        elif v < mate[v]:
            gain, a, b = best_of_edge(
                indptr, indices, values, scale, tie_key, mate, mate_weights, v, np.int64(mate[v])
            )
        gains[v] = gain
        arms[0, v], arms[1, v] = a, b


# The best augmentation of a matched edge (v, m): gain, arm of v, arm of m.
@helper
def best_of_edge(indptr, indices, values, scale, tie_key, mate, mate_weights, v, m):
    removed = mate_weights[v]
    arms = indptr, indices, values, scale, tie_key, mate, mate_weights
    h, b, h2, b2, h_heaviest, h_most = best_arms(*arms, m, v, np.inf)
    g, a, g2, a2, g_heaviest, g_most = best_arms(*arms, v, m, h)
    # Arms to one matched edge, or to one single vertex, do not go together.
    if a >= 0 and b >= 0 and (a == b or mate[a] == b):
        if g + h2 >= g2 + h:
            h, b = h2, b2
        else:
            g, a = g2, a2
    gain = (g + h) - removed
    added = (g + h) + (weight_at(mate_weights, a) + weight_at(mate_weights, b))
    # Cycles: from the shorter row, the other edge by binary search. Bounds save most searches.
    least, cycle, cycle_a = max(gain, 0.0), 0.0, np.int64(NO_VERTEX)
    if (g_most + h_most) + TOLERANCE * (g_heaviest + h_heaviest) > removed + least:
        cycle, cycle_a = best_cycle(*arms, v, m, g_heaviest, h_heaviest, least)
    if cycle > 0:
        return cycle, cycle_a, np.int64(mate[cycle_a])
    if gain > 0 and gain > TOLERANCE * added:
        return gain, a, b
    return 0.0, np.int64(NO_VERTEX), np.int64(NO_VERTEX)


# The best cycle through two matched edges, one of which is (v, m): a gain above `least`, or 0, and the
# neighbour of v.
@helper
def best_cycle(
    indptr, indices, values, scale, tie_key, mate, mate_weights, v, m, g_heaviest, h_heaviest, least
):  # fmt: skip
    removed, cycle, cycle_a = mate_weights[v], 0.0, np.int64(NO_VERTEX)
    turned = np.int64(indptr[v + 1]) - np.int64(indptr[v]) > np.int64(indptr[m + 1]) - np.int64(indptr[m])
    near, far, bound = (m, v, g_heaviest) if turned else (v, m, h_heaviest)
    for slot in range(np.int64(indptr[near]), np.int64(indptr[near + 1])):
        x = np.int64(indices[slot])
        weight, out = abs(np.float64(values[slot])) * scale, mate_weights[x] + removed
        most = (weight + bound) - out
        if most <= least or most < cycle or weight == 0 or x == near or x == far or mate[x] < 0:
            continue
        y = np.int64(mate[x])
        other = find_slot(indptr, indices, far, y)
        if other == NOT_FOUND or values[other] == 0:
            continue
        total = weight + abs(np.float64(values[other])) * scale
        found, found_a = total - out, y if turned else x
        if found > least and found > TOLERANCE * total:
            if found > cycle or (found == cycle and found_a < cycle_a):
                cycle, cycle_a = found, found_a
    return cycle, cycle_a


@helper
def weight_at(mate_weights, v):
    return mate_weights[v] if v >= 0 else 0.0


# The best arm of a vertex with the mate m: gain, outer vertex; the best arm that ends at another matched
# edge, or single vertex, than the first; the weight of the vertex's heaviest edge; and the largest weight of
# an edge minus half of the matched edge at its other end: the gain of a cycle is the sum of two such numbers,
# minus the weight of the centre. `gain_of_mate` bounds the gains of the arms of m: edges too light for any
# gain are left out, before the other vertex is read.
@helper
def best_arms(indptr, indices, values, scale, tie_key, mate, mate_weights, v, m, gain_of_mate):
    gain, gain2, heaviest, most, removed = 0.0, 0.0, 0.0, -np.inf, mate_weights[v]
    arm, arm2, tie, tie2 = np.int64(NO_VERTEX), np.int64(NO_VERTEX), np.uint32(0), np.uint32(0)
    for slot in range(np.int64(indptr[v]), np.int64(indptr[v + 1])):
        a = np.int64(indices[slot])
        weight = abs(np.float64(values[slot])) * scale
        if a == v or a == m or weight + gain_of_mate <= removed:
            continue
        heaviest = max(heaviest, weight)
        mate_weight = mate_weights[a]
        if mate_weight > 0:
            most = max(most, weight - 0.5 * mate_weight)
        own = weight - mate_weight
        if own <= 0 or own < gain2:
            continue
        own_tie = edge_hash(v, a, tie_key)
        # Columns ascend: a later one is first only by gain or hash.
        if arm >= 0 and mate[arm] == a:  # the same matched edge as the best one
            if own > gain or (own == gain and own_tie < tie):
                gain, arm, tie = own, a, own_tie
        elif own > gain or (own == gain and own_tie < tie):
            gain2, arm2, tie2 = gain, arm, tie
            gain, arm, tie = own, a, own_tie
        elif own > gain2 or (own == gain2 and own_tie < tie2):
            gain2, arm2, tie2 = own, a, own_tie
    return gain, arm, gain2, arm2, heaviest, most


# Appends to the first `size` centres the active vertices that have an augmentation, and drops those that have
# none any more, or that are listed again; returns their number.
@kernel
def list_centres(active, gains, dirty, centres, size):
    count = 0
    for i in range(size):
        v = centres[i]
        if gains[v] > 0 and dirty[v] == 0:
            centres[count] = v
            count += 1
    for v in active:
        dirty[v] = 0
        if gains[v] > 0:
            centres[count] = v
            count += 1
    return count


# The vertices that the augmentation of a centre touches, NO_VERTEX where there is none.
@helper
def touched_by(v, mate, arms):
    a, b = np.int64(arms[0, v]), np.int64(arms[1, v])
    mate_a, mate_b = np.int64(NO_VERTEX), np.int64(NO_VERTEX)
    if a >= 0:
        mate_a = np.int64(mate[a])
    if b >= 0:
        mate_b = np.int64(mate[b])
    return v, np.int64(mate[v]), a, mate_a, b, mate_b


# The word by which equal gains are ordered; the largest wins.
@helper
def tie_word(v, m, tie_key):
    tie = np.uint64(edge_hash(v, v if m < 0 else m, tie_key))
    return ((LOW_HALF - tie) << SHIFT_32) | (LOW_HALF - (np.uint64(v) & LOW_HALF))


# The largest gain at each vertex, then the largest word among the augmentations of largest gain at all
# of their vertices. Both arrays are 0 before.
@kernel
def claim(centres, mate, gains, arms, tie_key, claims, ties):
    for v in centres:
        for x in touched_by(np.int64(v), mate, arms):
            if x >= 0:
                claims[x] = max(claims[x], gains[v])
    for v in centres:
        if is_best(np.int64(v), mate, arms, claims, gains[v]):
            word = tie_word(np.int64(v), np.int64(mate[v]), tie_key)
            for x in touched_by(np.int64(v), mate, arms):
                if x >= 0:
                    ties[x] = max(ties[x], word)


@helper
def is_best(v, mate, arms, claims, mark):
    for x in touched_by(v, mate, arms):
        if x >= 0 and claims[x] != mark:
            return False
    return True


# Applies the best augmentations. Returns the vertices that are dirty; claims and ties are 0 again.
@kernel
def apply_best(
    indptr, indices, values, scale, tie_key, mate, mate_weights, centres, gains, arms, claims, ties, dirty
):  # fmt: skip
    winners = np.empty(centres.size, np.int64)
    count = 0
    for centre in centres:
        v = np.int64(centre)
        if is_best(v, mate, arms, claims, gains[v]):
            word = tie_word(v, np.int64(mate[v]), tie_key)
            if is_best(v, mate, arms, ties, word):
                winners[count] = v
                count += 1
    for centre in centres:
        for x in touched_by(np.int64(centre), mate, arms):
            if x >= 0:
                claims[x], ties[x] = 0.0, np.uint64(0)
    touched = np.empty(6 * count, np.int64)
    size = 0
    for v in winners[:count]:
        for x in touched_by(v, mate, arms):
            if x >= 0:
                touched[size] = x
                size += 1
        m, a, b = np.int64(mate[v]), np.int64(arms[0, v]), np.int64(arms[1, v])
        for x in (a, b):  # their edges first: of a cycle, it is one
            if x >= 0 and mate[x] >= 0:
                unmatch(mate, mate_weights, np.int64(mate[x]))
                unmatch(mate, mate_weights, x)
        unmatch(mate, mate_weights, v)
        join(indptr, indices, values, scale, mate, mate_weights, v, a)
        if m >= 0:
            unmatch(mate, mate_weights, m)
            join(indptr, indices, values, scale, mate, mate_weights, m, b)
    near = 0
    for x in touched[:size]:
        gains[x] = 0.0
        near += 2 * (1 + np.int64(indptr[x + 1]) - np.int64(indptr[x]))
    active = np.empty(min(near + 2 * centres.size, mate.size), mate.dtype)
    near = 0
    for x in touched[:size]:
        near = mark(x, dirty, active, near)
        dirty[x] = TOUCHED
    for v in centres:  # those that had an arm to a touched vertex
        a, b = np.int64(arms[0, v]), np.int64(arms[1, v])
        if gains[v] > 0 and ((a >= 0 and dirty[a] == TOUCHED) or (b >= 0 and dirty[b] == TOUCHED)):
            near = mark(v, dirty, active, near)
    for x in touched[:size]:
        for slot in range(np.int64(indptr[x]), np.int64(indptr[x + 1])):
            u = np.int64(indices[slot])
            if abs(np.float64(values[slot])) * scale > mate_weights[x]:
                near = mark(u, dirty, active, near)
                if mate[u] >= 0:
                    near = mark(np.int64(mate[u]), dirty, active, near)
    return active[:near]


@helper
def mark(v, dirty, active, count):
    if dirty[v]:
        return count
    dirty[v] = DIRTY
    active[count] = v
    return count + 1


@helper
def unmatch(mate, mate_weights, v):
    mate[v], mate_weights[v] = NO_VERTEX, 0.0


@helper
def join(indptr, indices, values, scale, mate, mate_weights, v, w):
    if w < 0:
        return
    mate[v], mate[w] = w, v
    weight = abs(np.float64(values[find_slot(indptr, indices, v, w)])) * scale
    mate_weights[v] = mate_weights[w] = weight
