"""Random graphs as symmetric weight matrices: R-MAT, Delaunay triangulations, geometric ones, dense rows.

All are generated on the CPU from a seed, so that every device gets the same graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_integer, as_number
from linforest_precond.backends.host_numbers import sorted_distinct
from linforest_precond.backends.user_warnings import named_arguments

from ..arrays import CsrArray, Device, from_host, grid_shape

Edges: TypeAlias = tuple[Array, Array]

# Probabilities of the four quadrants in the Graph500 benchmark.
GRAPH500 = (0.57, 0.19, 0.19, 0.05)
# Edges that a thread draws at once.
AT_ONCE = 2**20


@named_arguments
def rmat(
    scale: int,
    edges_per_vertex: int = 16,
    *,
    probabilities: Sequence[float] = GRAPH500,
    symmetric: bool = True,
    weights: str = "random",
    seed: int = 0,
    dtype: npt.DTypeLike = np.float64,
    device: Device = None,
    index_dtype: npt.DTypeLike | None = None,
) -> CsrArray:
    """An R-MAT graph of 2**scale vertices with a skewed degree distribution, as in Graph500.

    Every edge is drawn recursively: a quadrant of the adjacency matrix, a quadrant of that, and so on,
    `scale` times. Self loops and repeated edges are dropped, and vertices are permuted at random.

    Parameters
    ----------
    scale : int
        Logarithm of the number of vertices, 1 to 30.
    edges_per_vertex : int
        Edges drawn for each vertex.
    probabilities : four floats
        Of the upper left, upper right, lower left and lower right quadrant; their sum is one.
    symmetric : bool
        Whether each edge is stored in both directions, with one weight.
    weights : {"random", "ones"}
        Uniform in (0, 1], or all one.
    seed : int
    dtype, device, index_dtype
        As for `stencil`.

    Returns
    -------
    csr_array
        Positive weights, no diagonal.

    References
    ----------
    D. Chakrabarti, Y. Zhan, C. Faloutsos, "R-MAT: A Recursive Model for Graph Mining" (2004).

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> A = matrices.rmat(10)
    >>> A.shape, bool((A != A.T).nnz == 0)
    ((1024, 1024), True)
    """
    scale = as_integer("scale", scale, 1, 30)
    (edges_per_vertex,) = grid_shape(
        as_integer("edges_per_vertex", edges_per_vertex), name="edges_per_vertex"
    )
    rng = np.random.default_rng(as_integer("seed", seed, 0))
    source, target = _draw_edges(rng, scale, edges_per_vertex << scale, _probabilities(probabilities))
    number = rng.permutation(1 << scale)
    edges = _simple_edges(number[source], number[target], 1 << scale, symmetric)
    values = _weights(weights, rng, len(edges[0]))
    return _matrix(edges, values, 1 << scale, symmetric, dtype, device, index_dtype)


@named_arguments
def delaunay(
    n: int,
    *,
    weights: str = "random",
    seed: int = 0,
    dtype: npt.DTypeLike = np.float64,
    device: Device = None,
    index_dtype: npt.DTypeLike | None = None,
) -> CsrArray:
    """The edges of the Delaunay triangulation of n random points of the unit square.

    Parameters
    ----------
    n : int
        Points; three at least.
    weights : {"random", "ones", "inverse"}
        Uniform in (0, 1], all one, or one over the length of the edge.
    seed : int
    dtype, device, index_dtype
        As for `stencil`.

    Returns
    -------
    csr_array
        Symmetric, positive weights, no diagonal; fewer than six entries per row on average.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> A = matrices.delaunay(1000)
    >>> A.shape, 5.8 < A.nnz / 1000 < 6
    ((1000, 1000), True)
    """
    n = as_integer("n", n, 3)
    rng = np.random.default_rng(as_integer("seed", seed, 0))
    points = rng.random((n, 2))
    corners = triangles(points)
    first, second = corners[:, (0, 1, 2)].ravel(), corners[:, (1, 2, 0)].ravel()
    edges = _simple_edges(first, second, n, symmetric=True)
    values = _weights(weights, rng, len(edges[0]), _lengths(points, edges))
    return _matrix(edges, values, n, True, dtype, device, index_dtype)


@named_arguments
def random_geometric(
    n: int,
    radius: float | None = None,
    *,
    weights: str = "random",
    seed: int = 0,
    dtype: npt.DTypeLike = np.float64,
    device: Device = None,
    index_dtype: npt.DTypeLike | None = None,
) -> CsrArray:
    """Random geometric graph: n random points of the unit square, adjacent within a radius.

    Parameters
    ----------
    n : int
        Points.
    radius : float, optional
        None means 0.55 sqrt(log(n) / n): the graph is then almost always connected.
    weights : {"random", "ones", "inverse"}
        Uniform in (0, 1], all one, or one over the length of the edge.
    seed : int
    dtype, device, index_dtype
        As for `stencil`.

    Returns
    -------
    csr_array
        Symmetric, positive weights, no diagonal.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> A = matrices.random_geometric(1000, radius=0.05, weights="ones")
    >>> A.shape, bool((A != A.T).nnz == 0), 5 < A.nnz / 1000 < 8
    ((1000, 1000), True, True)
    """
    from scipy.spatial import cKDTree

    (n,) = grid_shape(as_integer("n", n), name="n")
    radius = _radius(radius, n)
    rng = np.random.default_rng(as_integer("seed", seed, 0))
    points = rng.random((n, 2))
    pairs = cKDTree(points).query_pairs(radius, output_type="ndarray")
    edges = _simple_edges(pairs[:, 0], pairs[:, 1], n, symmetric=True)
    values = _weights(weights, rng, len(edges[0]), _lengths(points, edges))
    return _matrix(edges, values, n, True, dtype, device, index_dtype)


@named_arguments
def dense_rows(
    n: int,
    rows: int = 300,
    *,
    density: float = 0.87,
    band: int = 4,
    weights: str = "random",
    seed: int = 0,
    dtype: npt.DTypeLike = np.float64,
    device: Device = None,
    index_dtype: npt.DTypeLike | None = None,
) -> CsrArray:
    """A banded graph in which a few random vertices are adjacent to most others.

    For n = 16,783, the defaults give about as many rows and entries, and as long a longest row, as those of
    Gupta/gupta3, the normal equations of a linear program.

    Parameters
    ----------
    n : int
        Vertices.
    rows : int
        The number of dense rows; all of them where n is less.
    density : float
        The probability of each entry of a dense row, 0 to 1.
    band : int
        Each vertex is adjacent to those whose index differs by at most this number.
    weights : {"random", "ones"}
        Uniform in (0, 1], or all one.
    seed : int
    dtype, device, index_dtype
        As for `stencil`.

    Returns
    -------
    csr_array
        Symmetric, positive weights, no diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond import matrices
    >>> A = matrices.dense_rows(2000, 3, density=0.5)
    >>> A.shape, int(np.sum(np.diff(A.indptr) > 900))
    ((2000, 2000), 3)
    """
    n = as_integer("n", n, 1)
    rows, band = min(as_integer("rows", rows, 0), n), as_integer("band", band, 0)
    density = as_number("density", density)
    if not 0 <= density <= 1:
        raise ValueError(f"density must be from 0 to 1, got {density}")
    rng = np.random.default_rng(as_integer("seed", seed, 0))
    source, target = [], []
    for v in rng.choice(n, rows, replace=False):
        target.append(np.flatnonzero(rng.random(n) < density))
        source.append(np.full(target[-1].size, v))
    for distance in range(1, min(band, n - 1) + 1):
        source.append(np.arange(n - distance))
        target.append(np.arange(distance, n))
    ends = [np.concatenate([np.empty(0, np.int64), *each]) for each in (source, target)]
    edges = _simple_edges(ends[0], ends[1], n, symmetric=True)
    values = _weights(weights, rng, len(edges[0]))
    return _matrix(edges, values, n, True, dtype, device, index_dtype)


def triangles(points: Array) -> Any:
    """The corners of the Delaunay triangles of points in the plane, one triangle per row."""
    from scipy.spatial import Delaunay

    return Delaunay(points).simplices


def _draw_edges(rng: np.random.Generator, scale: int, count: int, probabilities: Array) -> Edges:
    """Both ends of `count` edges: each bit pair is a random quadrant.

    Edge k takes the numbers k, count + k, 2 count + k ... of the generator's sequence. Threads draw ranges of
    edges, with copies of the generator that are advanced to their numbers.
    """
    bounds = np.cumsum(probabilities[:3])
    source, target = np.zeros((2, count), dtype=np.int64)
    generator = cast(np.random.PCG64, rng.bit_generator)
    state: Any = generator.state

    def draw(first: int) -> None:
        u, v = source[first : first + AT_ONCE], target[first : first + AT_ONCE]
        for level in range(scale):
            own = np.random.PCG64()
            own.state = state
            numbers = np.random.Generator(own.advance(level * count + first)).random(u.size)
            is_lower = numbers >= bounds[1]
            is_right = (numbers >= bounds[0]) & ~is_lower | (numbers >= bounds[2])
            for ends, bit in ((u, is_lower), (v, is_right)):
                ends *= 2
                ends += bit

    with ThreadPoolExecutor() as pool:
        list(pool.map(draw, range(0, count, AT_ONCE)))
    generator.advance(scale * count)
    return source, target


def _simple_edges(source: Array, target: Array, n: int, symmetric: bool) -> Edges:
    """Edges without self loops and repetitions, sorted; of a symmetric graph the smaller vertex first."""
    source, target = source.astype(np.int64), target.astype(np.int64)
    if symmetric:
        source, target = np.minimum(source, target), np.maximum(source, target)
    keys = sorted_distinct((source * n + target)[source != target])
    return keys // n, keys % n


def _weights(weights: str, rng: np.random.Generator, count: int, lengths: Array | None = None) -> Array:
    choices: dict[str, Callable[[], Array]] = {
        "random": lambda: 1.0 - rng.random(count),
        "ones": lambda: np.ones(count),
        "inverse": lambda: 1.0 / np.maximum(cast(Array, lengths), np.finfo(np.float64).tiny),
    }
    known = [name for name in choices if name != "inverse" or lengths is not None]
    if weights not in known:
        raise ValueError(f"weights must be one of {', '.join(map(repr, known))}, got {weights!r}")
    return choices[weights]()


def _matrix(
    edges: Edges,
    values: Array,
    n: int,
    symmetric: bool,
    dtype: npt.DTypeLike,
    device: Device,
    index_dtype: npt.DTypeLike | None,
) -> CsrArray:
    import scipy.sparse as sp

    source, target = edges
    if symmetric:  # the lower triangle first: the columns of each row then come sorted
        source, target = np.concatenate([target, source]), np.concatenate([source, target])
        values = np.concatenate([values, values])
    return from_host(sp.coo_array((values, (source, target)), shape=(n, n)), dtype, device, index_dtype)


def _lengths(points: Array, edges: Edges) -> Any:
    return np.linalg.norm(points[edges[0]] - points[edges[1]], axis=1)


def _probabilities(probabilities: Sequence[float]) -> Array:
    try:
        values = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (4,) or not (values >= 0).all() or not math.isclose(values.sum(), 1.0):
        raise ValueError(f"probabilities must be four nonnegative numbers of sum 1, got {probabilities!r}")
    return values


def _radius(radius: float | None, n: int) -> float:
    if radius is None:
        return 0.55 * math.sqrt(math.log(max(n, 2)) / n)
    radius = as_number("radius", radius)
    if not 0 <= radius < math.inf:
        raise ValueError(f"radius must not be negative, got {radius}")
    return radius
