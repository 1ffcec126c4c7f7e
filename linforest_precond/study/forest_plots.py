"""Pictures of linear forests, and of matrices before and after the permutation along one."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends import backend_named
from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.user_warnings import named_arguments, renamed_arguments
from linforest_precond.graph.reordering.permute import checked_order
from linforest_precond.matrix.checked import checked
from linforest_precond.records.forest import Forest
from linforest_precond.solvers.history import _new_axes

# Hues advance by the golden ratio, so that consecutive paths have clearly different colours.
GOLDEN = 0.6180339887
PALE = "#d9d9d9"
CELLS = 512


@named_arguments
def draw_forest(forest: Forest, coordinates: Array, ax: Any = None, *, A: MatrixLike | None = None) -> Any:
    """Draw the paths of a forest, each in its own colour; lone vertices are grey dots.

    Parameters
    ----------
    forest : Forest
        The result of `linforest_precond.linear_forest`, on either device.
    coordinates : (N, 2) array
        x and y of the vertices.
    ax : matplotlib axes, optional
        Where to draw; None makes a new figure.
    A : sparse matrix, optional
        The matrix of the forest: all its edges are drawn in grey below the paths.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> forest = lf.linear_forest(lf.matrices.aniso(1, 5))
    >>> coordinates = np.argwhere(np.ones((5, 5)))[:, ::-1]  # x, y of the vertex y * 5 + x
    >>> ax = lf.plots.draw_forest(forest, coordinates)  # doctest: +SKIP
    """
    if not isinstance(forest, Forest):
        raise TypeError(f"forest must be a Forest, got a {type(forest).__name__}: pass lf.linear_forest(A)")
    neighbors, path_id = on_host(forest.neighbors), on_host(forest.path_id)
    coordinates = np.asarray(on_host(coordinates), dtype=float)
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


@renamed_arguments(order="ordering")
def spy(A: MatrixLike, ordering: Array | None = None, ax: Any = None) -> Any:
    """Draw the magnitudes of a matrix: blue in the tridiagonal part, orange elsewhere.

    Larger entries are darker; large matrices are drawn as sums over square cells.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    ordering : permutation, optional
        ``ordering[new] = old``: draw ``A[ordering][:, ordering]``, e.g. a forest's `order`. None draws A.
    ax : matplotlib axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.matrices.aniso(2, 10)
    >>> ax = lf.plots.spy(A, lf.linear_forest(A).order)  # doctest: +SKIP
    """
    bands, rest = cell_weights(A, ordering)
    ax = _new_axes() if ax is None else ax
    n = _rows(A)
    # The square root, and a colour scale that starts below 0, keep small entries visible.
    most = np.sqrt(max(bands.max(initial=0.0), rest.max(initial=0.0)))
    look = {"vmin": -0.25 * most, "vmax": most, "interpolation": "nearest", "extent": (0, n, n, 0)}
    for weights, colours in ((rest, "Oranges"), (bands, "Blues")):
        ax.imshow(np.ma.masked_equal(np.sqrt(weights), 0.0), cmap=colours, **look)
    ax.set_xticks([0, n])
    ax.set_yticks([0, n])
    return ax


def cell_weights(A: MatrixLike, order: Array | None = None, cells: int = CELLS) -> tuple[Array, Array]:
    """Sums of magnitudes over square cells in the given order: of the tridiagonal part, and of the rest."""
    rows, columns, values = _triplets(A)
    n = _rows(A)
    rank = np.arange(n)
    if order is not None:
        rank = checked_order(on_host(order), n, backend_named("cpu"), dtype=np.int64).rank
    rows, columns = rank[rows], rank[columns]
    tridiagonal = abs(rows - columns) <= 1
    side = min(n, cells)
    cell = rows * side // max(n, 1) * side + columns * side // max(n, 1)
    bands, rest = (_sums(cell[part], abs(values[part]), side) for part in (tridiagonal, ~tridiagonal))
    return bands, rest


def _sums(cell: Array, weights: Array, side: int) -> Array:
    sums = np.bincount(cell, weights=weights, minlength=side * side)
    return sums.reshape(side, side).astype(float)  # bincount gives integers for empty input


@named_arguments
def path_colours(path_id: Array) -> Array:
    """The colour (red, green, blue, opacity) of each vertex's path."""
    from matplotlib import colormaps

    number = np.unique(path_id, return_inverse=True)[1]
    return np.asarray(colormaps["turbo"](0.05 + 0.9 * (number * GOLDEN % 1.0)))


def _forest_edges(neighbors: Array) -> Array:
    """(lower vertex, higher vertex) of every edge."""
    vertices = np.repeat(np.arange(neighbors.shape[0]), neighbors.shape[1])
    others = neighbors.reshape(-1)
    once = others > vertices
    return np.column_stack([vertices[once], others[once]])


def _matrix_edges(A: MatrixLike) -> Array:
    rows, columns, _ = _triplets(A)
    pairs = np.sort(np.column_stack([rows, columns]), axis=1)
    return np.unique(pairs[rows != columns], axis=0)


def _lines(edges: Array, coordinates: Array, **look: Any) -> Any:
    from matplotlib.collections import LineCollection

    return LineCollection(list(coordinates[edges]), **look)


def _triplets(A: MatrixLike) -> tuple[Array, Array, Array]:
    csr = checked(A)
    indptr, indices, data = (on_host(array) for array in (csr.indptr, csr.indices, csr.data))
    return np.repeat(np.arange(csr.n), np.diff(indptr)), indices, data


def _rows(A: MatrixLike) -> int:
    shape: tuple[int, ...] = A.shape if hasattr(A, "shape") else np.shape(A)
    return shape[0]
