"""Random graphs as symmetric weight matrices: R-MAT, Delaunay triangulations, random geometric graphs.

All are drawn on the CPU from a seeded generator, so that every device gets the same graph.
"""

from __future__ import annotations

import math

import numpy as np

from .arrays import from_host, grid_shape, integer

GRAPH500 = (0.57, 0.19, 0.19, 0.05)


def rmat(
    scale,
    edges_per_vertex=16,
    *,
    probabilities=GRAPH500,
    symmetric=True,
    weights="random",
    seed=0,
    dtype=np.float64,
    device=None,
    index_dtype=None,
):
    """
    A graph of 2**scale vertices with few heavy ones and many light ones, as Graph500 draws it.

    Every edge falls into a quarter of the matrix, of that quarter, and so on, `scale` times. Self loops and
    repeated edges are dropped, and vertices are numbered at random.

    Parameters
    ----------
    scale : int
        Logarithm of the number of vertices, 1 to 30.
    edges_per_vertex : int
        Edges drawn for each vertex.
    probabilities : four floats
        Of the upper left, upper right, lower left and lower right quarter; their sum is one.
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
        Positive weights, nothing on the diagonal.

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
    scale = integer(scale, "scale")
    if not 1 <= scale <= 30:
        raise ValueError(f"scale must lie in [1, 30], got {scale}")
    (edges_per_vertex,) = grid_shape(integer(edges_per_vertex, "edges_per_vertex"), name="edges_per_vertex")
    rng = np.random.default_rng(seed)
    source, target = _draw_quarters(rng, scale, edges_per_vertex << scale, _probabilities(probabilities))
    number = rng.permutation(1 << scale)
    edges = _simple_edges(number[source], number[target], 1 << scale, symmetric)
    values = _weights(weights, rng, len(edges[0]))
    return _matrix(edges, values, 1 << scale, symmetric, dtype, device, index_dtype)


def delaunay(n, *, weights="random", seed=0, dtype=np.float64, device=None, index_dtype=None):
    """
    The edges of the Delaunay triangulation of n random points of the unit square.

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
        Symmetric, positive weights, nothing on the diagonal; less than six entries a row on average.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> A = matrices.delaunay(1000)
    >>> A.shape, 5.8 < A.nnz / 1000 < 6
    ((1000, 1000), True)
    """
    n = integer(n, "n")
    if n < 3:
        raise ValueError(f"n must be at least 3, got {n}")
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    edges = triangulation_edges(triangles(points), n)
    values = _weights(weights, rng, len(edges[0]), _lengths(points, edges))
    return _matrix(edges, values, n, True, dtype, device, index_dtype)


def random_geometric(
    n, radius=None, *, weights="random", seed=0, dtype=np.float64, device=None, index_dtype=None
):
    """
    n random points of the unit square, joined where they are nearer than a radius.

    Parameters
    ----------
    n : int
        Points.
    radius : float, optional
        None takes 0.55 sqrt(log(n) / n), which nearly always gives one connected graph.
    weights : {"random", "ones", "inverse"}
        Uniform in (0, 1], all one, or one over the length of the edge.
    seed : int
    dtype, device, index_dtype
        As for `stencil`.

    Returns
    -------
    csr_array
        Symmetric, positive weights, nothing on the diagonal.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> A = matrices.random_geometric(1000, radius=0.05, weights="ones")
    >>> A.shape, bool((A != A.T).nnz == 0), 5 < A.nnz / 1000 < 8
    ((1000, 1000), True, True)
    """
    from scipy.spatial import cKDTree

    (n,) = grid_shape(integer(n, "n"), name="n")
    radius = _radius(radius, n)
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    pairs = cKDTree(points).query_pairs(radius, output_type="ndarray")
    edges = _simple_edges(pairs[:, 0], pairs[:, 1], n, symmetric=True)
    values = _weights(weights, rng, len(edges[0]), _lengths(points, edges))
    return _matrix(edges, values, n, True, dtype, device, index_dtype)


def triangles(points):
    """The corners of the Delaunay triangles of points in the plane, three to a row."""
    from scipy.spatial import Delaunay

    return Delaunay(points).simplices


def triangulation_edges(corners, n):
    """Every edge of a triangulation once, the smaller end first, sorted."""
    first = corners[:, (0, 1, 2)].ravel()
    second = corners[:, (1, 2, 0)].ravel()
    return _simple_edges(first, second, n, symmetric=True)


def _draw_quarters(rng, scale, count, probabilities):
    """Ends of `count` edges, one bit of each at a time from the quarter that was drawn."""
    bounds = np.cumsum(probabilities[:3])
    source, target = np.zeros((2, count), dtype=np.int64)
    for _ in range(scale):
        quarter = np.searchsorted(bounds, rng.random(count), side="right")
        source = 2 * source + quarter // 2
        target = 2 * target + quarter % 2
    return source, target


def _simple_edges(source, target, n, symmetric):
    """Without self loops and repetitions, sorted; a symmetric graph keeps the smaller end first."""
    source, target = source.astype(np.int64), target.astype(np.int64)
    if symmetric:
        source, target = np.minimum(source, target), np.maximum(source, target)
    keys = np.unique((source * n + target)[source != target])
    return keys // n, keys % n


def _weights(weights, rng, count, lengths=None):
    choices = {
        "random": lambda: 1.0 - rng.random(count),
        "ones": lambda: np.ones(count),
        "inverse": lambda: 1.0 / np.maximum(lengths, np.finfo(np.float64).tiny),
    }
    known = [name for name in choices if name != "inverse" or lengths is not None]
    if weights not in known:
        raise ValueError(f"weights must be one of {', '.join(map(repr, known))}, got {weights!r}")
    return choices[weights]()


def _matrix(edges, values, n, symmetric, dtype, device, index_dtype):
    import scipy.sparse as sp

    source, target = edges
    if symmetric:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
        values = np.concatenate([values, values])
    return from_host(sp.coo_array((values, (source, target)), shape=(n, n)), dtype, device, index_dtype)


def _lengths(points, edges):
    return np.linalg.norm(points[edges[0]] - points[edges[1]], axis=1)


def _probabilities(probabilities):
    values = np.asarray(probabilities, dtype=np.float64)
    if values.shape != (4,) or not (values >= 0).all() or not math.isclose(values.sum(), 1.0):
        raise ValueError(f"probabilities must be four, none negative, of sum 1, got {probabilities!r}")
    return values


def _radius(radius, n):
    if radius is None:
        return 0.55 * math.sqrt(math.log(max(n, 2)) / n)
    radius = float(radius)
    if not 0 <= radius < math.inf:
        raise ValueError(f"radius must not be negative, got {radius}")
    return radius
