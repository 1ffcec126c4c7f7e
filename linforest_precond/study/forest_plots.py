"""Pictures of linear forests and of matrices before and after they are laid out along one."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.gate import as_csr
from linforest_precond.solvers.history import _new_axes

# Hues a golden section apart: neighbours in the order of paths never look alike.
GOLDEN = 0.6180339887
PALE = "#d9d9d9"
CELLS = 512


def draw_forest(forest: Any, coordinates: Any, ax: Any = None, *, A: Any = None) -> Any:
    """
    Draw the paths of a forest, each in its own colour; lone vertices are grey dots.

    Parameters
    ----------
    forest : Forest
        As `linforest_precond.linear_forest` gives it; on the GPU too.
    coordinates : (N, 2) array
        Where the vertices lie.
    ax : matplotlib axes, optional
        Where to draw; None makes a new figure.
    A : sparse matrix, optional
        The matrix of the forest: all its edges are drawn below the paths, pale.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> from linforest_precond.study.forest_plots import draw_forest
    >>> forest = lf.linear_forest(lf.matrices.aniso(1, 5))
    >>> coordinates = np.argwhere(np.ones((5, 5)))[:, ::-1]  # x, y of the vertex y * 5 + x
    >>> ax = draw_forest(forest, coordinates)  # doctest: +SKIP
    """
    neighbors, path_id = _host(forest.neighbors), _host(forest.path_id)
    coordinates = np.asarray(_host(coordinates), dtype=float)
    if coordinates.shape != (path_id.size, 2):
        raise ValueError(
            f"coordinates must have the shape ({path_id.size}, 2), one x and y for each vertex, "
            f"got {coordinates.shape}"
        )
    ax = _new_axes() if ax is None else ax
    if A is not None:
        ax.add_collection(_lines(_matrix_edges(A), coordinates, colors=PALE, linewidths=0.6, zorder=1))
    edges = _forest_edges(neighbors)
    colours = path_colours(path_id)[edges[:, 0]]
    ax.add_collection(_lines(edges, coordinates, colors=colours, linewidths=1.8, capstyle="round", zorder=2))
    lone = coordinates[(neighbors < 0).all(axis=1)]
    ax.plot(lone[:, 0], lone[:, 1], ".", color="#777777", markersize=3, zorder=3)
    ax.update_datalim(coordinates)
    ax.autoscale_view()
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def spy(A: Any, order: Any = None, ax: Any = None) -> Any:
    """
    Draw where a matrix has its weight: blue on the three bands around the diagonal, orange elsewhere.

    Larger entries are darker; of large matrices, sums over cells are shown.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    order : array, optional
        ``order[new] = old``: draw ``A[order][:, order]``, for `order` of a forest. None: A as it is.
    ax : matplotlib axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.study.forest_plots import spy
    >>> A = lf.matrices.aniso(2, 10)
    >>> ax = spy(A, lf.linear_forest(A).order)  # doctest: +SKIP
    """
    bands, rest = cell_weights(A, order)
    ax = _new_axes() if ax is None else ax
    n = _rows(A)
    # The square root, and a scale that begins below 0, keep small entries visible beside large ones.
    most = np.sqrt(max(bands.max(initial=0.0), rest.max(initial=0.0)))
    look = {"vmin": -0.25 * most, "vmax": most, "interpolation": "nearest", "extent": (0, n, n, 0)}
    for weights, colours in ((rest, "Oranges"), (bands, "Blues")):
        ax.imshow(np.ma.masked_equal(np.sqrt(weights), 0.0), cmap=colours, **look)
    ax.set_xticks([0, n])
    ax.set_yticks([0, n])
    return ax


def cell_weights(A: Any, order: Any = None, cells: int = CELLS) -> tuple[np.ndarray, np.ndarray]:
    """
    Sums of magnitudes over the cells of a coarse matrix, of the rows and columns in the given order.

    Returns
    -------
    bands, rest : square arrays
        Of the entries on the three bands around the diagonal, and of all others.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.study.forest_plots import cell_weights
    >>> bands, rest = cell_weights(np.array([[1.0, 5, -2], [0, 3, 0], [0, 0, 4]]), order=[2, 0, 1])
    >>> bands
    array([[4., 0., 0.],
           [2., 1., 5.],
           [0., 0., 3.]])
    >>> float(rest.sum())
    0.0
    """
    rows, columns, values = _triplets(A)
    n = _rows(A)
    rank = np.arange(n)
    if order is not None:
        rank[_checked_order(order, n)] = np.arange(n)
    rows, columns = rank[rows], rank[columns]
    near = abs(rows - columns) <= 1
    side = min(n, cells)
    places = rows * side // max(n, 1) * side + columns * side // max(n, 1)
    return tuple(_sums(places[part], abs(values[part]), side) for part in (near, ~near))


def _sums(places: np.ndarray, weights: np.ndarray, side: int) -> np.ndarray:
    sums = np.bincount(places, weights=weights, minlength=side * side)
    return sums.reshape(side, side).astype(float)  # integers where there is nothing to sum


def path_colours(path_id: np.ndarray) -> np.ndarray:
    """A colour (red, green, blue, opacity) for each vertex, one for each path."""
    from matplotlib import colormaps

    number = np.unique(path_id, return_inverse=True)[1]
    return colormaps["turbo"](0.05 + 0.9 * (number * GOLDEN % 1.0))


def _forest_edges(neighbors: np.ndarray) -> np.ndarray:
    """(lower vertex, higher vertex) of every edge."""
    here = np.repeat(np.arange(neighbors.shape[0]), neighbors.shape[1])
    there = neighbors.reshape(-1)
    once = there > here
    return np.column_stack([here[once], there[once]])


def _matrix_edges(A: Any) -> np.ndarray:
    rows, columns, _ = _triplets(A)
    pairs = np.sort(np.column_stack([rows, columns]), axis=1)
    return np.unique(pairs[rows != columns], axis=0)


def _lines(edges: np.ndarray, coordinates: np.ndarray, **look: Any) -> Any:
    from matplotlib.collections import LineCollection

    return LineCollection(coordinates[edges], **look)


def _triplets(A: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    csr = as_csr(A)
    indptr, indices, data = (_host(array) for array in (csr.indptr, csr.indices, csr.data))
    return np.repeat(np.arange(csr.n), np.diff(indptr)), indices, data


def _checked_order(order: Any, n: int) -> np.ndarray:
    order = np.asarray(_host(order))
    if order.shape != (n,) or not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError(f"order must be a permutation of 0 to {n - 1}, got an array of shape {order.shape}")
    return order


def _rows(A: Any) -> int:
    return np.shape(A)[0] if isinstance(A, list) else A.shape[0]


def _host(array: Any) -> Any:
    return array.get() if hasattr(array, "get") else array
