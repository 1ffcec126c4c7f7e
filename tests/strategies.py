"""Test graphs: a Hypothesis strategy for small ones, seeded generators, special shapes."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

from linforest_precond.matrices import rmat

DTYPES = (np.float64, np.float32, np.complex128, np.complex64)
INDEX_DTYPES = (np.int32, np.int64)
# All combinations; the first four meet every value type and both index types.
TYPES = [
    *((np.float64, np.int32), (np.float32, np.int64), (np.complex128, np.int32), (np.complex64, np.int64)),
    *((np.float64, np.int64), (np.float32, np.int32), (np.complex128, np.int64), (np.complex64, np.int32)),
]
FEW_WEIGHTS = (1.0, 2.0, 0.5, -1.0)


def slow(*values):
    """Values for a parametrized test that runs with the slow ones."""
    return pytest.param(*values, marks=pytest.mark.slow)


def quick(values, first=1):
    """Values for a parametrized test: the first ones run in a quick run, all of them with the slow tests.

    Numba compiles every kernel for every combination of types, about a second each.
    """
    values = list(values)
    return values[:first] + [
        slow(*value) if isinstance(value, tuple) else slow(value) for value in values[first:]
    ]


def crossed(names, types):
    """Every name with every type; in a quick run with the first."""
    return [(name, types[0]) for name in names] + [slow(name, each) for name in names for each in types[1:]]


# Whether Hypothesis draws all types; conftest.py turns this off in a quick run.
draw_all_types = True


@st.composite
def types(draw, among):
    """One of the types; in a quick run always the first."""
    return draw(st.sampled_from(among if draw_all_types else among[:1]))


@st.composite
def matrices(draw, max_size=40, dtypes=DTYPES):
    """Square csr_array: ties or none, symmetric or not, with explicit zeros and isolated vertices."""
    size = draw(st.integers(0, max_size))
    dtype = np.dtype(draw(types(dtypes)))
    index_dtype = draw(types(INDEX_DTYPES))
    places = st.tuples(st.integers(0, max(size - 1, 0)), st.integers(0, max(size - 1, 0)))
    kind = draw(st.sampled_from(("symmetric", "nonsymmetric", "diagonal")))
    weights = draw(st.sampled_from((_few_weights(dtype), _many_weights(dtype))))
    found = draw(st.dictionaries(places, weights, max_size=min(4 * size, 120))) if size else {}
    if kind == "symmetric":
        upper = {tuple(sorted(place)): value for place, value in found.items()}
        sign = draw(st.sampled_from((1, -1)))
        found = {(column, row): sign * value for (row, column), value in upper.items()} | upper
    if kind == "diagonal":
        found = {(i, i): value for (i, _), value in found.items()}
    return _from_dict(found, size, dtype, index_dtype)


def _few_weights(dtype):
    numbers = [dtype.type(weight) for weight in (*FEW_WEIGHTS, 0.0)]
    if dtype.kind == "c":
        numbers += [dtype.type(value) for value in (1j, 3 + 4j, 4 - 3j, 5)]
    return st.sampled_from(numbers)


def _many_weights(dtype):
    width = 32 if dtype in (np.float32, np.complex64) else 64
    floats = st.floats(-1e6, 1e6, width=width, allow_subnormal=True)
    if dtype.kind != "c":
        return floats.map(dtype.type)
    return st.builds(lambda re, im: dtype.type(complex(re, im)), floats, floats)


def _from_dict(found, size, dtype, index_dtype):
    """A canonical csr_array that keeps explicit zeros and the index type asked for."""
    places = sorted(found)
    indptr = np.zeros(size + 1, dtype=index_dtype)
    for row, _ in places:
        indptr[row + 1] += 1
    indptr = np.cumsum(indptr, dtype=index_dtype)
    indices = np.array([column for _, column in places], dtype=index_dtype)
    data = np.array([found[place] for place in places], dtype=dtype)
    return make_csr(data, indices, indptr, size)


def make_csr(data, indices, indptr, size):
    A = sp.csr_array((data, indices, indptr), shape=(size, size))
    # Constructors may narrow the index type.
    A.indices, A.indptr = indices, indptr
    return A


def with_types(A, dtype=None, index_dtype=None):
    """The same matrix with other value and index types."""
    A = sp.csr_array(A)
    dtype = A.dtype if dtype is None else dtype
    index_dtype = A.indices.dtype if index_dtype is None else index_dtype
    data = A.data.astype(dtype)
    return make_csr(data, A.indices.astype(index_dtype), A.indptr.astype(index_dtype), A.shape[0])


def in_disorder(A):
    """The same matrix, every row backwards and every entry stored twice with half of its value."""
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    backwards = A.indptr[rows] + A.indptr[rows + 1] - 1 - np.arange(A.nnz)
    data, indices = np.repeat(A.data[backwards] / 2, 2), np.repeat(A.indices[backwards], 2)
    return make_csr(data, indices, 2 * A.indptr, A.shape[0])


def from_edges(size, lo, hi, weights, diagonal=0.0, dtype=np.float64):
    """The symmetric matrix of an edge list without repeats; the diagonal is stored where it is nonzero."""
    lo, hi = np.asarray(lo, dtype=np.int64), np.asarray(hi, dtype=np.int64)
    weights = np.broadcast_to(np.asarray(weights, dtype=dtype), lo.shape)
    rows, columns, values = [lo, hi], [hi, lo], [weights, weights]
    if diagonal:
        rows.append(np.arange(size))
        columns.append(np.arange(size))
        values.append(np.full(size, diagonal, dtype))
    places = np.concatenate(rows), np.concatenate(columns)
    A = sp.coo_array((np.concatenate(values), places), shape=(size, size))
    return with_types(A, index_dtype=np.int32)


def shuffled(A, seed=0):
    """A with its vertices renumbered at random."""
    new = np.random.default_rng(seed).permutation(A.shape[0])
    coo = A.tocoo()
    B = sp.coo_array((coo.data, (new[coo.row], new[coo.col])), shape=A.shape)
    return with_types(B, index_dtype=np.int32)


def weights_of(kind, count, rng):
    """``kind``: "ties" (four values), "unit", or "unique"."""
    if kind == "unit":
        return np.ones(count)
    if kind == "ties":
        return rng.choice(np.array([0.5, 1.0, 2.0, 3.0]), size=count)
    return 1.0 + rng.permutation(count) / max(count, 1)


def path_graph(size, weights=1.0):
    return from_edges(size, np.arange(size - 1), np.arange(1, size), weights, diagonal=2.0)


def cycle_graph(size, weights=1.0):
    start = np.arange(size)
    return from_edges(size, start, (start + 1) % size, weights, diagonal=2.0)


def union_of_cycles(lengths, kind="unique", seed=0):
    """Cycles of the given lengths side by side, vertices renumbered at random."""
    rng = np.random.default_rng(seed)
    lengths = np.asarray(lengths)
    size = int(lengths.sum())
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    here = np.arange(size)
    there = first + (here - first + 1) % np.repeat(lengths, lengths)
    return shuffled(from_edges(size, here, there, weights_of(kind, size, rng), diagonal=1.0), seed)


def star_graph(leaves, weights=1.0):
    """A star with vertex 0 as its center."""
    return from_edges(leaves + 1, np.zeros(leaves), np.arange(1, leaves + 1), weights, diagonal=1.0)


def two_cliques_joined(size, bridge=1.0, weights=1.0):
    """Two cliques of ``size`` vertices and one edge between vertices size - 1 and size."""
    lo, hi = np.triu_indices(size, 1)
    lo, hi = np.concatenate([lo, lo + size, [size - 1]]), np.concatenate([hi, hi + size, [size]])
    values = np.concatenate([np.broadcast_to(weights, (lo.size - 1,)), [bridge]])
    return from_edges(2 * size, lo, hi, values, diagonal=1.0)


def rounded(A, seed=0):
    """A with entries below the diagonal changed in the last bit, at random: symmetric to rounding alone."""
    lower = sp.tril(A, -1, format="csr")
    factors = 1 + np.finfo(A.dtype).eps * np.random.default_rng(seed).integers(0, 2, lower.nnz)
    changed = sp.csr_array((lower.data * factors, lower.indices, lower.indptr), A.shape)
    return sp.csr_array(A - lower + changed)


def random_graph(size, kind="ties", seed=0, *, mean_degree=6, symmetric=True, dtype=float, index_dtype=None):
    """Edges at random, self loops and repeats dropped; about one vertex in twenty stays isolated."""
    rng = np.random.default_rng(seed)
    count = int(size * mean_degree / 2)
    lo, hi = _unique_edges(size, rng.integers(0, max(size, 1), count), rng.integers(0, max(size, 1), count))
    lonely = rng.random(size) < 0.05
    keep = ~(lonely[lo] | lonely[hi])
    lo, hi = lo[keep], hi[keep]
    weights = weights_of(kind, lo.size, rng) * rng.choice([-1.0, 1.0], lo.size)
    A = from_edges(size, lo, hi, weights, diagonal=4.0)
    if not symmetric:
        # About a fifth of the entries vanish and the rest change on one side only.
        A.data *= rng.choice(np.array([1.0, 1.0, 2.0, 0.5, 0.0]), A.nnz)
        A.eliminate_zeros()
    if np.dtype(dtype).kind == "c":
        A = A.astype(dtype)
        A.data *= rng.choice(np.array([1, 1j, -1j, 0.6 + 0.8j]), A.nnz).astype(dtype)
    return with_types(A, dtype, index_dtype)


def directed_graph(size, density, seed=0):
    """Every entry with the same probability, the diagonal ones too."""
    return sp.csr_array(np.random.default_rng(seed).random((size, size)) < density, dtype=np.float32)


def rmat_graph(scale, edge_factor=8, kind="ties", seed=0):
    """An R-MAT graph of 2**scale vertices, with the Graph500 probabilities .57 .19 .19 .05."""
    rng = np.random.default_rng(seed)
    size, count = 2**scale, edge_factor * 2**scale
    rows, columns = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for _ in range(scale):
        quadrant = np.searchsorted([0.57, 0.76, 0.95], rng.random(count), side="right")
        rows, columns = 2 * rows + quadrant // 2, 2 * columns + quadrant % 2
    lo, hi = _unique_edges(size, rows, columns)
    return from_edges(size, lo, hi, weights_of(kind, lo.size, rng), diagonal=1.0)


def _unique_edges(size, rows, columns):
    lo, hi = np.minimum(rows, columns), np.maximum(rows, columns)
    keys = np.unique(lo[lo != hi] * size + hi[lo != hi])
    return keys // max(size, 1), keys % max(size, 1)


@functools.cache
def large_rmat(symmetric=True):
    """2**20 vertices with 16 edges each, drawn once for all slow tests."""
    return rmat(20, 16, symmetric=symmetric)


def packed_small_graphs(count, seed=0, largest=9):
    """Thousands of small tied graphs as one block-diagonal matrix."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest + 1, count)
    starts = np.cumsum(sizes) - sizes
    lows, highs = [], []
    for size, start in zip(sizes.tolist(), starts.tolist(), strict=True):
        lo, hi = np.triu_indices(size, 1)
        keep = rng.random(lo.size) < rng.random()
        lows.append(lo[keep] + start)
        highs.append(hi[keep] + start)
    lo, hi = np.concatenate(lows), np.concatenate(highs)
    weights = rng.choice(np.array([1.0, 1.0, 2.0, 0.25, 3.0]), lo.size)
    return shuffled(from_edges(int(sizes.sum()), lo, hi, weights, diagonal=1.0), seed)


def paper_graph():
    """
    A 10-vertex graph consistent with figures 1 and 2 of Klein & Strzodka (2022).

    Stated there: row 4 is (0.2, 3) (0.3, 5) (0.9, 6) (0.4, 7) (0.5, 9), charges at 3, 7 and 9 are positive
    and at 4, 5 and 6 negative (Table 1); 8 - 9 - 4 are neighbors in the factor (section 3.3); a cycle loses
    the edge {4, 7} (figure 1b); of ten vertices, four paths (figure 2). The other edges are chosen to fit.
    """
    edges = {
        (0, 1): 0.6,
        (1, 2): 0.3,
        (3, 4): 0.2,
        (3, 5): 0.7,
        (3, 7): 0.1,
        (4, 5): 0.3,
        (4, 6): 0.9,
        (4, 7): 0.4,
        (4, 9): 0.5,
        (5, 6): 0.1,
        (7, 8): 0.7,
        (8, 9): 0.8,
    }
    lo, hi = np.array(list(edges)).T
    return from_edges(10, lo, hi, list(edges.values()), diagonal=3.0)


PAPER_POSITIVE = (1, 3, 7, 9)


def grid_graph(*shape):
    """Neighbors along each axis of a grid, numbered in C order."""
    numbers = np.arange(np.prod(shape)).reshape(shape)
    along = range(len(shape))
    lo = [np.take(numbers, range(shape[axis] - 1), axis).ravel() for axis in along]
    hi = [np.take(numbers, range(1, shape[axis]), axis).ravel() for axis in along]
    return from_edges(numbers.size, np.concatenate(lo), np.concatenate(hi), 1.0, diagonal=1.0)
