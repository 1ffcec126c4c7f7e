"""The Cuthill-McKee order, its reverse, and the pseudo-peripheral vertices that they start from."""

from __future__ import annotations

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.arguments import as_choice
from linforest_precond.backends.batch_options import BatchOptions
from linforest_precond.backends.user_warnings import renamed_arguments
from linforest_precond.graph.csgraph.breadth_first import checked_vertex
from linforest_precond.matrix.doors import as_pattern
from linforest_precond.matrix.graphs import Pattern


@renamed_arguments(start="i_start")
def reverse_cuthill_mckee(
    A: MatrixLike,
    symmetric_mode: bool = False,
    *,
    i_start: int | None = None,
    method: str = "auto",
    batch: BatchOptions | None = None,
) -> Array:
    """Order a matrix so that its entries lie close to the diagonal: the reverse of `cuthill_mckee`.

    A drop-in for `scipy.sparse.csgraph.reverse_cuthill_mckee` that starts from pseudo-peripheral vertices,
    and gives the same order on every backend and for any number of threads.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy. Stored entries are edges, as in csgraph: values do not matter.
    symmetric_mode : bool
        Whether A's pattern is known to be symmetric. Otherwise it is checked, and the pattern of A + A.T is
        ordered if A's is not symmetric.
    i_start : int, optional
        The vertex to start from in its component. In all others, and by default, it is the component's
        `pseudo_peripheral_node`.
    method : {"auto", "serial", "leveled", "batch", "unordered"}
        The algorithm; the order is the same for all. "serial" has one queue, on the CPU only. "leveled"
        processes one breadth-first frontier after the other. "batch" is the algorithm of Mlakar et al.:
        workers discover the children of batches of vertices ahead of their turn, and check them later.
        "unordered" (Karantasis et al.) is a breadth-first search, and then a pipeline with a worker on each
        level. "auto" takes one by measurements, see the notes.
    batch : BatchOptions, optional
        The parts of the batch method that are switched on; by default early signals alone.

    Returns
    -------
    array of int32
        ``order[new] = old``, on A's device.

    See Also
    --------
    linforest_precond.permute : put a matrix into this order.

    Notes
    -----
    The choice of "auto" rests on measurements; ``linforest study rcm`` repeats them, and its summary says how
    far "auto" is behind. On the GPU it is always "leveled": on an H200, "batch" took 1.08 to 14.6 times as
    long and "unordered" 0.933 to 12.9 times on 12 of 13 graphs, and 0.710 and 0.675 times on a Mycielski
    graph, whose search ends early. On the CPU it is "batch" if there are at least 4 threads, 2¹⁹ vertices,
    and 512 vertices in the first frontiers, "serial" otherwise. With 16 threads "batch" took 0.378 to 1.49
    times as long as "serial" on five graphs of a million vertices, and 1.47 to 13.9 times as long on seven of
    up to 152,460.

    References
    ----------
    D. Mlakar, M. Winter, M. Parger, M. Steinberger, "Speculative Parallel Reverse Cuthill-McKee Reordering on
    Multi- and Many-core Architectures", IPDPS 2021

    K. I. Karantasis, A. Lenharth, D. Nguyen, M. J. Garzarán, K. Pingali, "Parallelization of reordering
    algorithms for bandwidth and wavefront reduction", SC 2014

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((10, 100))
    >>> order = lf.graph.reverse_cuthill_mckee(A)
    >>> lf.graph.bandwidth(A), lf.graph.bandwidth(A, order)
    (100, 10)
    """
    return cuthill_mckee(A, symmetric_mode, i_start=i_start, method=method, batch=batch)[::-1].copy()


@renamed_arguments(start="i_start")
def cuthill_mckee(
    A: MatrixLike,
    symmetric_mode: bool = False,
    *,
    i_start: int | None = None,
    method: str = "auto",
    batch: BatchOptions | None = None,
) -> Array:
    """Number the vertices breadth first, the unnumbered neighbours of each by ascending degree.

    A vertex's degree is the number of its neighbours, itself not counted; ties go to the lower index.
    Components follow one another in the order of their lowest vertices.

    Parameters
    ----------
    A, symmetric_mode, i_start, method, batch
        As in `reverse_cuthill_mckee`.

    Returns
    -------
    array of int32
        ``order[new] = old``, on A's device.

    References
    ----------
    E. Cuthill, J. McKee, "Reducing the bandwidth of sparse symmetric matrices", ACM National Conference 1969,
    https://doi.org/10.1145/800195.805928

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> star_with_tail = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    >>> lf.graph.cuthill_mckee(star_with_tail, i_start=2).tolist()
    [2, 0, 1, 3]
    """
    return order_pattern(as_pattern(A, symmetric_mode=symmetric_mode), i_start, method, batch)


def order_pattern(
    pattern: Pattern, start: int | None = None, method: str = "auto", batch: BatchOptions | None = None
) -> Array:
    """The Cuthill-McKee order of a checked symmetric pattern."""
    backend = pattern.backend
    _check_method(method, batch, backend)
    if start is not None:
        start = checked_vertex("i_start", start, pattern.n)
    if pattern.n == 0:
        return backend.xp.empty(0, np.int32)
    return backend.reordering.cuthill_mckee.order(pattern, start, method, batch)


def _check_method(method: str, batch: BatchOptions | None, backend: Backend) -> None:
    methods = "auto", *backend.reordering.cuthill_mckee.METHODS
    as_choice(f"method on {backend.name}", method, methods)
    if batch is not None and not isinstance(batch, BatchOptions):
        raise TypeError(f"batch must be a lf.graph.BatchOptions, got {batch!r}")
    if batch is not None and method != "batch":
        raise ValueError(f'batch= is for method="batch", got method={method!r}')


@renamed_arguments(start="i_start")
def pseudo_peripheral_node(A: MatrixLike, i_start: int | None = None) -> tuple[int, Array, Array]:
    """Find a pseudo-peripheral vertex: one whose eccentricity is close to the diameter of its component.

    George-Liu search: breadth-first search is repeated from the vertex of lowest (degree, index) among the
    deepest ones until the depth does not grow.

    Parameters
    ----------
    A : sparse matrix or dense array
        As in `reverse_cuthill_mckee`; the pattern of A + A.T is searched.
    i_start : int, optional
        The source of the first search; by default the vertex of lowest degree among those with neighbours.

    Returns
    -------
    node : int
        The source of the last search.
    order : array of int32
        The vertices that it reached, by (level, index).
    level : array of int32
        The distance of each vertex from `node`; -1 for other components.

    References
    ----------
    A. George, J. W. H. Liu, "An Implementation of a Pseudoperipheral Node Finder", ACM TOMS 5 (1979),
    https://doi.org/10.1145/355841.355845

    Examples
    --------
    >>> import linforest_precond as lf
    >>> node, order, level = lf.graph.pseudo_peripheral_node(lf.matrices.poisson((5, 5)), i_start=12)
    >>> node, int(level.max())
    (24, 8)
    """
    pattern = as_pattern(A)
    if i_start is not None:
        i_start = checked_vertex("i_start", i_start, pattern.n)
    if pattern.n == 0:
        raise ValueError("A must have at least one row to search for a vertex, got shape (0, 0)")
    backend = pattern.backend
    if i_start is None:
        i_start = _first_minimum(backend.xp.where(pattern.degrees > 0, pattern.degrees, pattern.n))
    node, depths = _george_liu_search(pattern, i_start, backend)
    reached = backend.xp.flatnonzero(depths >= 0)
    order = reached[backend.xp.argsort(depths[reached], kind="stable")]
    return node, order.astype(np.int32), depths


def _george_liu_search(pattern: Pattern, node: int, backend: Backend) -> tuple[int, Array]:
    depths = backend.csgraph.breadth_first.bfs_levels(pattern, node)
    depth = int(depths.max())  # stall: whether the search goes on
    while depth > 0:
        deepest = backend.xp.flatnonzero(depths == depth)
        node = int(deepest[_first_minimum(pattern.degrees[deepest])])
        depths = backend.csgraph.breadth_first.bfs_levels(pattern, node)
        before, depth = depth, int(depths.max())  # stall: whether the search goes on
        if depth <= before:
            break
    return node, depths


def _first_minimum(values: Array) -> int:
    return int(values.argmin())  # stall: a vertex to start from
