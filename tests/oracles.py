"""Oracles: textbook algorithms in plain, slow Python; and assertions of the invariants of every result.

NumPy is used only as a container (apart from the checks of large forests), and nothing here imports the
library's algorithms.
"""

import hashlib
import math
import struct
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
VERTEX = 0xD1342543DE82EF95
MASK_32 = 2**32 - 1
LOW, HIGH = 0x9E3779B1, 0x85EBCA77


def magnitude(value):
    """|value| by the written-out formula: IEEE operations only, complex128 scaled by a power of two."""
    value = np.asarray(value)[()]
    if value.dtype.kind != "c":
        return abs(value)
    re, im = float(value.real), float(value.imag)
    if value.dtype == np.complex64:
        root = math.sqrt(re * re + im * im)
        return np.float32(min(root, float(np.finfo(np.float32).max)))
    largest = max(abs(re), abs(im))
    if largest == 0.0:
        return np.float64(0.0)
    exponent = math.frexp(largest)[1]
    re, im = math.ldexp(re, -exponent), math.ldexp(im, -exponent)
    try:
        return np.float64(math.ldexp(math.sqrt(re * re + im * im), exponent))
    except OverflowError:
        return np.finfo(np.float64).max


def entries(A):
    """{(row, column): value}, duplicates summed left to right as stored."""
    A = A.tocoo()
    found = {}
    for row, column, value in zip(A.row.tolist(), A.col.tolist(), A.data, strict=True):
        found[row, column] = found[row, column] + value if (row, column) in found else value
    return found


def directed_weights(A):
    """{(row, column): magnitude} of the off-diagonal nonzero entries."""
    weights = {place: magnitude(value) for place, value in entries(A).items() if place[0] != place[1]}
    return {place: weight for place, weight in weights.items() if weight > 0}


def graph_edges(A):
    """{(lo, hi): weight} of the graph: |A| off the diagonal, plus the transpose where not symmetric."""
    directed = directed_weights(A)
    if all(directed.get((j, i)) == weight for (i, j), weight in directed.items()):
        return {(i, j): weight for (i, j), weight in directed.items() if i < j}
    edges = {}
    for i, j in directed:
        lo, hi = min(i, j), max(i, j)
        both = [directed[place] for place in ((lo, hi), (hi, lo)) if place in directed]
        with np.errstate(over="ignore"):
            edges[lo, hi] = min(sum(both[1:], both[0]), np.finfo(both[0].dtype).max)
    return edges


def adjacency(edges, size):
    """For each vertex its {neighbor: weight}."""
    around = [{} for _ in range(size)]
    for (lo, hi), weight in edges.items():
        around[lo][hi] = weight
        around[hi][lo] = weight
    return around


def greedy_factor(A, n, ties="index", seed=0):
    """Algorithm 1: edges by decreasing weight, ties by (min, max) or (hash, min, max); neighbor sets."""
    edges = graph_edges(A)
    neighbors = [set() for _ in range(A.shape[0])]
    for lo, hi in sorted(edges, key=lambda edge: (-edges[edge], tie(*edge, ties, False, 0, seed), edge)):
        if len(neighbors[lo]) < n and len(neighbors[hi]) < n:
            neighbors[lo].add(hi)
            neighbors[hi].add(lo)
    return neighbors


def mix64(z):
    """The finalizer of splitmix64."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def mix32(z):
    """The finalizer of MurmurHash3."""
    z = ((z ^ (z >> 16)) * 0x85EBCA6B) & MASK_32
    z = ((z ^ (z >> 13)) * 0xC2B2AE35) & MASK_32
    return z ^ (z >> 16)


def charge(v, k, seed, p, by="splitmix64"):
    if by == "md5":
        digest = hashlib.md5(struct.pack("<QQQ", v, k, seed & MASK), usedforsecurity=False).digest()
        number = int.from_bytes(digest[:8], "little")
    else:
        key = mix64((seed + GOLDEN * (2 * k + 1)) & MASK)
        number = mix64((key + v * VERTEX) & MASK)
    return (number >> 11) < math.floor(p * 2**53)


def edge_hash(v, w, k, seed):
    key = mix64((seed + GOLDEN * (2 * k + 2)) & MASK)
    return mix32((key + min(v, w) * LOW + max(v, w) * HIGH) & MASK_32)


def tie(v, w, ties, charged, k, seed):
    """The hash that orders equal weights in iteration k, 0 where they are ordered by index."""
    if ties == "random":
        return edge_hash(v, w, -1, seed)
    return edge_hash(v, w, k, seed) if charged and ties == "auto" else 0


@dataclass
class ParallelFactor:
    neighbors: list
    iterations: int
    maximal: bool


def parallel_factor(A, n, iterations="auto", m=5, k_m=0, p=0.5, seed=0, charge_by="splitmix64", ties="auto"):
    """Algorithm 2, sequentially; ``iterations`` is a number, None or "auto"."""
    size = A.shape[0]
    around = adjacency(graph_edges(A), size)
    confirmed = [set() for _ in range(size)]
    k = 0
    while True:
        charged = k % m != k_m
        charges = [charged and charge(v, k, seed, p, charge_by) for v in range(size)]
        proposed = [
            _propose(v, around, confirmed, n, charges if charged else None, (ties, charged, k, seed))
            for v in range(size)
        ]
        if not charged and not any(proposed):
            return ParallelFactor(confirmed, k + 1, True)
        new = 0
        for v in range(size):
            for w in proposed[v]:
                if v < w and v in proposed[w]:
                    confirmed[v].add(w)
                    confirmed[w].add(v)
                    new += 1
        k += 1
        edges = sum(map(len, confirmed)) // 2
        if k == iterations or (iterations == "auto" and (k == 20 or (k >= 5 and 100 * new <= edges))):
            return ParallelFactor(confirmed, k, False)


def _propose(v, around, confirmed, n, charges, tie_rule):
    """The edges that v proposes: heaviest first, ties by hash and column."""
    if len(confirmed[v]) == n:
        return set()
    candidates = [w for w in around[v] if w not in confirmed[v] and len(confirmed[w]) < n]
    if charges is not None:
        candidates = [w for w in candidates if charges[w] != charges[v]]
    candidates.sort(key=lambda w: (-around[v][w], tie(v, w, *tie_rule), w))
    return set(candidates[: n - len(confirmed[v])])


def as_sets(neighbors):
    """An (N, n) array of neighbors, -1 where empty, as a list of sets."""
    return [{w for w in row if w >= 0} for row in np.asarray(neighbors).tolist()]


def as_rows(neighbors, n, dtype=np.int64):
    """A list of neighbor sets as the canonical (N, n) array: ascending, -1 last."""
    rows = np.full((len(neighbors), n), -1, dtype=dtype)
    for v, around in enumerate(neighbors):
        rows[v, : len(around)] = sorted(around)
    return rows


@dataclass
class LinearForest:
    neighbors: list
    path_id: list
    position: list
    n_paths: int
    longest_path: int
    n_cycles_broken: int


def linear_forest(neighbors, weight):
    """
    A sequential walk along every path; a cycle first loses its least edge by (weight, min, max).

    ``neighbors`` is a list of sets of at most two; ``weight(lo, hi)`` gives an edge's weight.
    """
    neighbors = [set(around) for around in neighbors]
    cycles = _cycles(neighbors)
    for cycle in cycles:
        lo, hi = min(cycle, key=lambda edge: (weight(*edge), edge))
        neighbors[lo].remove(hi)
        neighbors[hi].remove(lo)

    path_id = [-1] * len(neighbors)
    position = [0] * len(neighbors)
    lengths = []
    # Ascending starts: the smaller end of each path comes first.
    for start in range(len(neighbors)):
        if path_id[start] >= 0 or len(neighbors[start]) == 2:
            continue
        path = _walk(start, neighbors)
        for place, v in enumerate(path, start=1):
            path_id[v], position[v] = start, place
        lengths.append(len(path))
    return LinearForest(neighbors, path_id, position, len(lengths), max(lengths, default=0), len(cycles))


def _walk(start, neighbors):
    path, before = [start], None
    while True:
        onward = neighbors[path[-1]] - {before}
        if not onward or onward == {start}:
            return path
        before = path[-1]
        path.append(min(onward))


def _cycles(neighbors):
    """The edges of each cycle."""
    seen = set()
    for end in range(len(neighbors)):
        if len(neighbors[end]) < 2:
            seen.update(_walk(end, neighbors))
    cycles = []
    for start in range(len(neighbors)):
        if start not in seen:
            path = _walk(start, neighbors)
            seen.update(path)
            cycles.append([(min(pair), max(pair)) for pair in zip(path, path[1:] + path[:1], strict=True)])
    return cycles


def order(path_id, position):
    """order[new] = old: vertices sorted by (path id, position)."""
    return sorted(range(len(path_id)), key=lambda v: (path_id[v], position[v]))


def bands(A, new_order, neighbors):
    """lower, diagonal, upper of A in the new order along the forest's edges: copies of A's entries."""
    found = entries(A)
    size = len(new_order)
    zero = A.dtype.type(0)
    lower, diagonal, upper = (np.zeros(size, dtype=A.dtype) for _ in range(3))
    for i, v in enumerate(new_order):
        diagonal[i] = found.get((v, v), zero)
        if i > 0 and new_order[i - 1] in neighbors[v]:
            lower[i] = found.get((v, new_order[i - 1]), zero)
        if i + 1 < size and new_order[i + 1] in neighbors[v]:
            upper[i] = found.get((v, new_order[i + 1]), zero)
    return lower, diagonal, upper


def tree_sum(values):
    """The fixed-shape tree sum: chunks of 2048 in 256 lanes, reduced by halves; again over the chunk sums."""
    values = [float(value) for value in values]
    if not values:
        return 0.0
    while True:
        values += [0.0] * (-len(values) % 2048)
        values = [_chunk_sum(values[start : start + 2048]) for start in range(0, len(values), 2048)]
        if len(values) == 1:
            return values[0]


def _chunk_sum(chunk):
    lanes = chunk[:256]
    for i in range(256, 2048):
        lanes[i % 256] += chunk[i]
    half = 128
    while half:
        for t in range(half):
            lanes[t] += lanes[t + half]
        half //= 2
    return lanes[0]


def _share(A, counts):
    directed = directed_weights(A)
    total = math.fsum(float(weight) for weight in directed.values())
    if total == 0.0:
        return 1.0
    return math.fsum(float(weight) for place, weight in directed.items() if counts(*place)) / total


def coverage(A, neighbors):
    """Eq. 4: the share of A's off-diagonal weight on the factor's edges, both directions."""
    return _share(A, lambda i, j: j in neighbors[i])


def identity_coverage(A):
    """Eq. 5: the share of A's off-diagonal weight next to the diagonal."""
    return _share(A, lambda i, j: abs(i - j) == 1)


def assert_is_factor(A, neighbors, n):
    """Canonical rows, at most n neighbors, mutual, and only edges of the graph."""
    neighbors = np.asarray(neighbors)
    size = A.shape[0]
    assert neighbors.shape == (size, n)
    edges = graph_edges(A)
    rows = neighbors.tolist()
    for v, row in enumerate(rows):
        held = [w for w in row if w >= 0]
        assert row == sorted(set(held)) + [-1] * (n - len(held)), f"row {v} is not canonical: {row}"
        for w in held:
            assert (min(v, w), max(v, w)) in edges, f"({v}, {w}) is no edge of the graph"
            assert v in rows[w], f"{v} holds {w}, but {w} does not hold {v}"


def assert_is_maximal_factor(A, neighbors, n):
    """A factor to which no edge of the graph can be added."""
    assert_is_factor(A, neighbors, n)
    held = as_sets(neighbors)
    for v, w in graph_edges(A):
        free = len(held[v]) < n and len(held[w]) < n
        assert w in held[v] or not free, f"edge ({v}, {w}) could be added"


def assert_is_permutation(new_order, rank=None):
    new_order = np.asarray(new_order).tolist()
    assert sorted(new_order) == list(range(len(new_order)))
    if rank is not None:
        rank = np.asarray(rank).tolist()
        assert [rank[v] for v in new_order] == list(range(len(new_order)))
        assert len(rank) == len(new_order)


def assert_is_linear_forest(A, neighbors, path_id, position):
    """A [0,2]-factor without cycles; path ids are the smaller ends, where positions start."""
    assert_is_factor(A, neighbors, 2)
    held = as_sets(neighbors)
    path_id, position = np.asarray(path_id).tolist(), np.asarray(position).tolist()
    assert len(path_id) == len(position) == len(held)
    assert not _cycles(held)
    paths = {}
    for v, name in enumerate(path_id):
        paths.setdefault(name, []).append(v)
    for name, members in paths.items():
        members.sort(key=lambda v: position[v])
        assert [position[v] for v in members] == list(range(1, len(members) + 1)), f"path {name} has gaps"
        assert members[0] == name, f"path {name} starts at {members[0]}"
        assert members[0] <= members[-1], f"path {name} is named after its larger end"
        wanted = {v: set() for v in members}
        for v, w in pairwise(members):
            wanted[v].add(w)
            wanted[w].add(v)
        assert all(held[v] == wanted[v] for v in members), f"path {name} does not follow its edges"


def assert_is_tridiagonal_after_permutation(neighbors, rank):
    """Every edge joins neighbours of the new order."""
    rank = np.asarray(rank).tolist()
    for v, around in enumerate(as_sets(neighbors)):
        for w in around:
            distance = abs(rank[v] - rank[w])
            assert distance == 1, f"edge ({v}, {w}) lies {distance} from the diagonal"


def assert_is_large_linear_forest(neighbors, path_id, position, new_order, rank):
    """
    The forest's invariants for millions of vertices.

    Edges join only neighbours of the order, so there is no cycle. Along the order each path is contiguous,
    positions count from 1, and the path id is the smaller end, which comes first.
    """
    size = len(path_id)
    np.testing.assert_array_equal(rank[new_order], np.arange(size))
    assert np.unique(new_order).size == size
    held = neighbors >= 0
    ids, places = path_id[new_order], position[new_order]
    starts = np.ones(size, dtype=bool)
    starts[1:] = ids[1:] != ids[:-1]
    assert np.all(np.diff(ids)[starts[1:]] > 0)
    begin = np.flatnonzero(starts)
    lengths = np.diff(np.append(begin, size))
    np.testing.assert_array_equal(places, np.arange(size) - np.repeat(begin, lengths) + 1)
    np.testing.assert_array_equal(ids[begin], new_order[begin])
    assert np.all(new_order[begin] <= new_order[begin + lengths - 1])
    # Inside a path the neighbors of a vertex are exactly the vertices before and after it.
    wanted = np.full((size, 2), -1, dtype=np.int64)
    wanted[1:, 0] = np.where(starts[1:], -1, new_order[:-1])
    wanted[:-1, 1] = np.where(starts[1:], -1, new_order[1:])
    found = np.where(held, neighbors, -1)[new_order]
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(wanted, axis=1))
