"""Reference sets, colourings, communities and ranks in plain Python, independent of the library."""

from collections import Counter

import numpy as np
from component_oracles import numbered

MASK_32, MASK_64 = 2**32 - 1, 2**64 - 1


def mix64(z):
    """The finalizer of splitmix64."""
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK_64
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK_64
    return z ^ z >> 31


def mix32(z):
    """The finalizer of MurmurHash3."""
    z = ((z ^ z >> 16) * 0x85EBCA6B) & MASK_32
    z = ((z ^ z >> 13) * 0xC2B2AE35) & MASK_32
    return z ^ z >> 16


def key(seed, number):
    return mix64((seed + 0x9E3779B97F4A7C15 * number) & MASK_64)


def vertex_hash(v, seed):
    return mix32((key(seed, 2) + v * 0x9E3779B1) & MASK_32) >> 5


def has_turn(v, number, seed):
    """Whether a vertex is updated in a round: about half of them are."""
    return mix64((key(seed, 2 * number + 1) + v * 0xD1342543DE82EF95) & MASK_64) < 2**63


def ball(around, center, steps):
    """All vertices within a number of steps."""
    found = front = {center}
    for _ in range(steps):
        front = {u for v in front for u in around[v]} - found
        found = found | front
    return found


def independent_set(around, k, seed):
    """The greedy set in the order of (bit length of the degree, hash, index)."""
    order = sorted(range(len(around)), key=lambda v: (len(around[v]).bit_length(), vertex_hash(v, seed), v))
    members = set()
    for v in order:
        if not members & ball(around, v, k):
            members.add(v)
    return [int(v in members) for v in range(len(around))]


def luby_set(around, seed, fewest, patience):
    """Rounds of random selections; from `fewest` or `patience` on, all undecided vertices are selected."""
    rank = [(len(row), v) for v, row in enumerate(around)]
    members = {v for v, row in enumerate(around) if not row}
    undecided, number, failures, everything = set(range(len(around))) - members, 0, 0, False
    while undecided:
        number += 1
        selected = {v for v in undecided if is_selected(v, len(around[v]), number, seed)}
        failures = 0 if selected else failures + 1
        everything = everything or len(undecided) < fewest or failures == patience
        selected = undecided if everything else selected
        kept = {v for v in selected if all(rank[u] < rank[v] for u in selected & around[v])}
        members |= kept
        undecided = undecided - kept - {u for v in kept for u in around[v]}
    return [int(v in members) for v in range(len(around))]


def is_selected(v, degree, number, seed):
    """With probability 1 / (2 degree)."""
    word = mix64((key(seed, 2 * number - 1) + v * 0xD1342543DE82EF95) & MASK_64) >> 32
    return word * 2 * degree < 2**32


def lexicographic_set(around):
    """The greedy set by descending (degree, index)."""
    members = set()
    for v in sorted(range(len(around)), key=lambda v: (-len(around[v]), -v)):
        if not members & around[v]:
            members.add(v)
    return [int(v in members) for v in range(len(around))]


def is_independent_set(around, marks, k):
    members = {v for v, mark in enumerate(marks) if mark}
    near = [len(members & ball(around, v, k)) for v in range(len(around))]
    return all(near[v] == 1 if v in members else near[v] > 0 for v in range(len(around)))


def coloring(around, seed, largest_first):
    """First fit: in order, the lowest colour that no neighbour has."""
    lengths = [len(row).bit_length() if largest_first else 0 for row in around]
    colors = {}
    for v in sorted(range(len(around)), key=lambda v: (-lengths[v], vertex_hash(v, seed), v)):
        taken = {colors.get(u) for u in around[v]}
        colors[v] = next(color for color in range(len(around)) if color not in taken)
    return [colors[v] for v in range(len(around))]


def modal_labels(around, labels, v):
    """The most frequent labels of a vertex's neighbours; its own where it has none."""
    counts = Counter(labels[u] for u in around[v])
    most = max(counts.values(), default=0)
    return {label for label, count in counts.items() if count == most} or {labels[v]}


def label_propagation(around, max_iter, seed):
    """Synchronous updates: a vertex keeps its label if it is modal, else takes the lowest modal one."""
    labels = list(range(len(around)))
    for number in range(max_iter):
        chosen = list(labels)
        for v in range(len(around)):
            modal = modal_labels(around, labels, v)
            if has_turn(v, number, seed) and labels[v] not in modal:
                chosen[v] = min(modal)
        labels = chosen
    return numbered(labels)


def pagerank(A, alpha=0.85, personalization=None, max_iter=100, tol=1e-6, nstart=None, dangling=None):
    """Power iteration as in networkx; None if it does not converge."""
    size = A.shape[0]
    uniform = np.full(size, 1.0 / size)
    p, x = (uniform if given is None else given / given.sum() for given in (personalization, nstart))
    d = p if dangling is None else dangling / dangling.sum()
    sums = A.sum(axis=1)
    shares = np.divide(1.0, sums, out=np.zeros(size), where=sums != 0)
    for _ in range(max_iter):
        last, leak = x, x[sums == 0].sum()
        x = alpha * (A.T @ (shares * last) + leak * d) + (1 - alpha) * p
        if abs(x - last).sum() < size * tol:
            return x
    return None
