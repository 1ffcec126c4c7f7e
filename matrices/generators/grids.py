"""Constant stencils on rectangular grids, for NumPy and CuPy.

Vertices are numbered in C order: on a grid of shape (ny, nx) the vertex at (y, x) is ``y * nx + x``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.user_warnings import named_arguments, renamed_arguments
from linforest_precond.matrix.conversion import csr

from ..arrays import CsrArray, Device, array_modules, grid_shape, index_type, value_type

# A box of grid vertices.
Box: TypeAlias = tuple[slice, ...]
# Vertices, their neighbours, and the weight of the coupling: a number or an array.
Coupling: TypeAlias = tuple[Box, Box, Any]

# Rows are y - 1, y, y + 1, columns x - 1, x, x + 1; the paper prints y + 1 on top.
ANISO1 = ((-0.2, -0.1, -0.2), (-1.0, 3.0, -1.0), (-0.2, -0.1, -0.2))
ANISO2 = ((-1.0, -0.2, -0.1), (-0.2, 3.0, -0.2), (-0.1, -0.2, -1.0))


@renamed_arguments(weights="coefficients")
def stencil(
    shape: int | Sequence[int],
    coefficients: npt.ArrayLike,
    *,
    dtype: npt.DTypeLike = np.float64,
    device: Device = None,
    index_dtype: npt.DTypeLike | None = None,
) -> CsrArray:
    """The matrix of a constant stencil on a grid.

    Parameters
    ----------
    shape : int or tuple of int
        Vertices along each axis, at least one each. Vertices are numbered in C order.
    coefficients : array_like
        One number per offset, as many axes as the grid, an odd number of entries along each:
        ``coefficients[centre + offset]`` couples a vertex to the vertex at that offset. Zeros are not stored,
        and offsets that leave the grid are dropped (no wraparound).
    dtype : dtype, optional
        float32, float64 (default), complex64 or complex128.
    device : {None, "cpu", "cuda"}, optional
        Where to create the matrix; None means the CPU.
    index_dtype : dtype, optional
        int32 or int64. None means int32 if it is wide enough.

    Returns
    -------
    csr_array
        SciPy's, or cupyx's for ``device="cuda"`` (its ``csr_matrix`` where it has no ``csr_array``), with
        sorted indices and no duplicates.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> A = matrices.stencil(4, [-1, 2, -3])
    >>> A.toarray()
    array([[ 2., -3.,  0.,  0.],
           [-1.,  2., -3.,  0.],
           [ 0., -1.,  2., -3.],
           [ 0.,  0., -1.,  2.]])
    """
    shape = grid_shape(shape)
    dtype = value_type(dtype)
    checked = _stencil_coefficients(coefficients, len(shape), dtype)
    return assemble(shape, _couplings(shape, checked), dtype, device, index_dtype)


@named_arguments
def poisson(
    shape: int | Sequence[int],
    *,
    dtype: npt.DTypeLike = np.float64,
    device: Device = None,
    index_dtype: npt.DTypeLike | None = None,
) -> CsrArray:
    """The finite-difference Laplacian of a grid: 2d on the diagonal, -1 to each of the 2d neighbours.

    Parameters
    ----------
    shape : int or tuple of int
        Vertices along each of the d axes.
    dtype, device, index_dtype
        As for `stencil`.

    Returns
    -------
    csr_array

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> matrices.poisson((2, 2)).toarray()
    array([[ 4., -1., -1.,  0.],
           [-1.,  4.,  0., -1.],
           [-1.,  0.,  4., -1.],
           [ 0., -1., -1.,  4.]])
    """
    shape = grid_shape(shape)
    weights = np.zeros((3,) * len(shape))
    centre = (1,) * len(shape)
    weights[centre] = 2 * len(shape)
    for axis in range(len(shape)):
        for side in (0, 2):
            weights[(*centre[:axis], side, *centre[axis + 1 :])] = -1
    return stencil(shape, weights, dtype=dtype, device=device, index_dtype=index_dtype)


@named_arguments
def aniso(
    kind: int,
    n: int,
    *,
    dtype: npt.DTypeLike = np.float64,
    device: Device = None,
    index_dtype: npt.DTypeLike | None = None,
) -> CsrArray:
    """
    The anisotropic test problems ANISO1, ANISO2 and ANISO3 of Klein & Strzodka (section 5) on an n x n grid.

    ANISO1 couples strongly (-1.0) along x, ANISO2 along the diagonal: (x, y) with (x + 1, y + 1), the top row
    of the stencil printed in the paper being y + 1. ANISO3 is ANISO2 with its vertices ordered along those
    diagonals, by x - y and then by x, so that the strong couplings lie on the sub- and superdiagonal.

    Parameters
    ----------
    kind : {1, 2, 3}
        Which problem.
    n : int
        Vertices along each side; the paper has n = 2500.
    dtype, device, index_dtype
        As for `stencil`.

    Returns
    -------
    csr_array

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> A = matrices.aniso(2, 100)
    >>> A.shape, A.nnz
    ((10000, 10000), 88804)
    >>> float(A[0, 101])
    -1.0
    >>> float(matrices.aniso(3, 100)[5000, 5001])
    -1.0
    """
    kind = as_integer("kind", kind)
    if kind not in (1, 2, 3):
        raise ValueError(f"kind must be 1, 2 or 3, got {kind}")
    (n,) = grid_shape(as_integer("n", n), name="n")
    shape, dtype = grid_shape((n, n)), value_type(dtype)
    weights = np.array(ANISO1 if kind == 1 else ANISO2, dtype=dtype)
    if kind < 3:
        return assemble(shape, _couplings(shape, weights), dtype, device, index_dtype)
    # Vertices are ordered by (x - y, x): with offsets in the same order, the columns of a row ascend.
    couplings = _couplings(shape, weights, key=lambda offset: (offset[1] - offset[0], offset[1]))
    return assemble(shape, couplings, dtype, device, index_dtype, number=_number_along_diagonals)


def assemble(
    shape: Sequence[int],
    couplings: Sequence[Coupling],
    dtype: npt.DTypeLike,
    device: Device,
    index_dtype: npt.DTypeLike | None,
    number: Callable[[Any, Sequence[int], DType], Array] | None = None,
) -> CsrArray:
    """Fill the CSR arrays coupling by coupling, vectorized over all vertices that have it.

    A coupling is (box, neighbours, weight): a box of vertices and the equally shaped box of their neighbours,
    both as slices, see `boxes`, and a number or an array of that shape. Couplings are given in ascending
    order of the neighbour's number, so that the columns of every row are sorted. ``number(xp, shape, index
    dtype)`` numbers the vertices of the grid; None means C order.
    """
    xp, sparse = array_modules(device)
    size = math.prod(shape)
    nnz = sum(_box_size(box) for box, _, _ in couplings)
    index_dtype = index_type(index_dtype, max(size, nnz))

    vertex = (number or _number_in_c_order)(xp, shape, index_dtype)
    degree = xp.zeros(shape, dtype=index_dtype)
    for box, _, _ in couplings:
        degree[box] += 1
    row_length = xp.empty(size, dtype=index_dtype)
    row_length[vertex] = degree
    indptr = xp.zeros(size + 1, dtype=index_dtype)
    indptr[1:] = xp.cumsum(row_length, dtype=index_dtype)

    # The next free slot of each vertex's row; reuses the memory of the degrees.
    slot = degree
    slot[...] = indptr[vertex]
    indices = xp.empty(nnz, dtype=index_dtype)
    data = xp.empty(nnz, dtype=dtype)
    for box, neighbours, weight in couplings:
        slots = slot[box]
        indices[slots] = vertex[neighbours]
        data[slots] = weight if np.isscalar(weight) else xp.asarray(weight)
        slot[box] += 1
    return csr(sparse, data, indices, indptr, size)


def boxes(shape: Sequence[int], offset: Sequence[int]) -> tuple[Box, Box]:
    """The box of vertices whose neighbour at an offset lies in the grid, and the box of these neighbours."""
    pairs = list(zip(shape, offset, strict=True))
    box = tuple(slice(max(0, -step), max(0, length - max(0, step))) for length, step in pairs)
    neighbours = tuple(slice(max(0, step), max(0, length - max(0, -step))) for length, step in pairs)
    return box, neighbours


def _couplings(
    shape: Sequence[int], weights: Array, key: Callable[[tuple[int, ...]], Any] | None = None
) -> list[Coupling]:
    """Every nonzero weight with its boxes, offsets in C order or sorted by a key."""
    centre = [length // 2 for length in weights.shape]
    positions = [tuple(map(int, position)) for position in np.argwhere(weights != 0)]
    offsets = {
        position: tuple(i - c for i, c in zip(position, centre, strict=True)) for position in positions
    }
    if key is not None:
        positions.sort(key=lambda position: key(offsets[position]))
    return [(*boxes(shape, offsets[position]), weights[position].item()) for position in positions]


def _box_size(box: Box) -> int:
    return math.prod(max(0, side.stop - side.start) for side in box)


def _number_in_c_order(xp: Any, shape: Sequence[int], index_dtype: DType) -> Any:
    return xp.arange(math.prod(shape), dtype=index_dtype).reshape(shape)


def _number_along_diagonals(xp: Any, shape: Sequence[int], index_dtype: DType) -> Any:
    """Numbers by x - y, then x: the lengths of all earlier diagonals plus the position on the diagonal."""
    n = shape[0]
    diagonal = xp.arange(1 - n, n)
    end = xp.cumsum(n - xp.abs(diagonal))
    # On diagonal d the smallest x is max(d, 0), so vertex x has (start of d) - max(d, 0) + x.
    base = (end - (n - xp.abs(diagonal)) - xp.maximum(diagonal, 0)).astype(index_dtype)
    x = xp.arange(n, dtype=index_dtype)
    return base[x[None, :] - x[:, None] + (n - 1)] + x[None, :]


def _stencil_coefficients(given: npt.ArrayLike, axes: int, dtype: DType) -> Array:
    coefficients = np.asarray(given)
    if coefficients.dtype.kind not in "biufc":
        raise TypeError(f"coefficients must be numbers, got an array of {coefficients.dtype}")
    if coefficients.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(
            f"coefficients are complex, got dtype={dtype}; dtype=complex64 or complex128 holds them"
        )
    if coefficients.ndim != axes:
        raise ValueError(f"coefficients must have as many axes as shape, got {coefficients.ndim} and {axes}")
    if any(length % 2 == 0 for length in coefficients.shape):
        raise ValueError(
            f"coefficients must have an odd length along every axis, got shape {coefficients.shape}"
        )
    with np.errstate(over="ignore"):
        coefficients = coefficients.astype(dtype)
    if not np.isfinite(coefficients).all():
        raise ValueError(f"coefficients must be finite in {dtype}, got NaN or infinity")
    return coefficients
