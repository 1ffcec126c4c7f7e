"""Reference matchings in plain Python, and the invariants of every matching.

Edges are a dictionary {(lo, hi): weight}; a list of mates has -1 for a single vertex.
"""

import functools
import math

import networkx
import numpy as np
import oracles


def edges_of(A, weights="magnitude"):
    """The weighted edges of A's graph; an array of weights replaces the data of a canonical CSR matrix."""
    if isinstance(weights, str) and weights == "magnitude":
        return oracles.graph_edges(A)
    if isinstance(weights, str):
        return {(min(place), max(place)): 1.0 for place in oracles.directed_weights(A)}
    B = A.copy()
    B.data = np.asarray(weights)
    return oracles.graph_edges(B)


def in_order(edges, seed=0, k=0):
    """The edges by (-weight, hash, lower end, higher end)."""
    return sorted(edges, key=lambda edge: (-edges[edge], oracles.edge_hash(*edge, k, seed), edge))


def take(edges, size):
    """The greedy matching: edges in this order, each matched if both of its ends are free."""
    mate = [-1] * size
    for lo, hi in edges:
        if mate[lo] < 0 and mate[hi] < 0:
            mate[lo], mate[hi] = hi, lo
    return mate


def greedy(edges, size, seed=0):
    return take(in_order(edges, seed), size)


def locally_dominant(edges, size, seed=0):
    """The mates, and the number of rounds: each matches all locally dominant edges."""
    mate, rounds = [-1] * size, 0
    left = in_order(edges, seed)
    while left:
        first = {}
        for edge in left:
            for v in edge:
                first.setdefault(v, edge)
        for lo, hi in left:
            if first[lo] == first[hi]:
                mate[lo], mate[hi] = hi, lo
        left = [(lo, hi) for lo, hi in left if mate[lo] < 0 and mate[hi] < 0]
        rounds += 1
    return mate, rounds


def order_hash(v, w, seed):
    """The sum of the random keys of v and w."""
    return vertex_key(v, seed) + vertex_key(w, seed)


@functools.lru_cache(10_000)
def vertex_key(v, seed):
    key = oracles.mix64((seed + oracles.GOLDEN * 2) & oracles.MASK)
    return oracles.mix32((key + v * oracles.LOW) & oracles.MASK_32) >> 1


MD5_ADDENDS = [math.floor(2**32 * abs(math.sin(i + 1))) for i in range(16)]


def is_blue_by_md5(v, r, p):
    """Algorithm 4 of Fagginger Auer & Bisseling, line by line."""
    h = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476]
    a = list(h)
    for i in range(16):
        a4 = (a[1] & a[2]) | (~a[1] & a[3] & oracles.MASK_32)
        a5, a[3], a[2] = a[3], a[2], a[1]
        total = (a[0] + a4 + MD5_ADDENDS[i] + v) & oracles.MASK_32
        shift = (7, 12, 17, 22)[i % 4]
        a[1] = (a[1] + (total << shift | total >> (32 - shift))) & oracles.MASK_32
        a[0] = a5
        h = [one + other for one, other in zip(h, a)]
        v = r * v & oracles.MASK_32
    return sum(h) % 2**32 < p * 2**32


def proposals(edges, size, weighted, p=0.53406, seed=0, max_rounds=None, colours="splitmix64"):
    """Algorithm 3 of Fagginger Auer & Bisseling: the mates, the rounds, and whether no vertex is left.

    With the paper's own colours, red vertices die as well as blue ones, as in the paper.
    """
    md5 = colours == "md5"
    around = oracles.adjacency(edges, size)
    mate, alive, k = [-1] * size, set(range(size)), 0

    def first(v, candidates):
        return min(
            candidates, key=lambda w: (-around[v][w] * weighted, order_hash(v, w, seed), w), default=None
        )

    while alive and k != max_rounds:
        r = oracles.mix64((seed + oracles.GOLDEN * (2 * k + 1)) & oracles.MASK) >> 32
        blue = {v for v in alive if (is_blue_by_md5(v, r, p) if md5 else oracles.charge(v, k, seed, p))}

        proposed = {v: first(v, alive & around[v].keys() - blue) for v in blue}
        dead = {v for v in (alive if md5 else blue) if not alive & around[v].keys()}
        for v in alive - blue:
            w = first(v, {w for w in around[v] if proposed.get(w) == v})
            if w is not None:
                mate[v], mate[w] = w, v
        alive = {v for v in alive - dead if mate[v] < 0}
        k += 1
    return mate, k, not alive


def paz_schwartzman(edges, size, epsilon=0.1):
    """Local ratio: push edges that outweigh the potentials of their ends on a stack, then unwind it."""
    potential, kept = [0.0] * size, []
    for lo, hi in sorted(edges):
        weight, covered = float(edges[lo, hi]), potential[lo] + potential[hi]
        if weight > (1 + epsilon / 2) * covered:
            potential[lo] += weight - covered
            potential[hi] += weight - covered
            kept.append((lo, hi))
    return take(reversed(kept), size)


def one_after_the_other(edges, order, weighted):
    """Algorithm 1: vertices in order match their first free neighbour in it, or along their heaviest edge."""
    around = oracles.adjacency(edges, len(order))
    place = {v: i for i, v in enumerate(order)}
    mate = [-1] * len(order)
    for v in order:
        free = [w for w in around[v] if mate[w] < 0]
        if mate[v] < 0 and free:
            w = min(free, key=lambda w: (-around[v][w] * weighted, place[w]))
            mate[v], mate[w] = w, v
    return mate


def weight_of(edges, mate):
    return sum(float(edges[v, w]) for v, w in enumerate(mate) if w > v)


def largest_weight(edges):
    """The weight of a maximum weight matching, by NetworkX."""
    graph = networkx.Graph()
    graph.add_weighted_edges_from((lo, hi, float(weight)) for (lo, hi), weight in edges.items())
    return sum(float(edges[min(pair), max(pair)]) for pair in networkx.max_weight_matching(graph))


def assert_is_matching(edges, mate):
    for v, w in enumerate(mate):
        assert w >= -1
        if w >= 0:
            assert mate[w] == v, f"{v} has {w}, which has {mate[w]}"
            assert (min(v, w), max(v, w)) in edges, f"({v}, {w}) is no edge"


def assert_is_maximal_matching(edges, mate):
    assert_is_matching(edges, mate)
    for lo, hi in edges:
        assert mate[lo] >= 0 or mate[hi] >= 0, f"edge ({lo}, {hi}) could be added"
