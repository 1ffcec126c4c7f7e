"""Matrices of constant stencils on rectangular grids, written once for NumPy and CuPy.

Vertices are numbered in C order: on a grid of shape (ny, nx) the vertex at (y, x) is ``y * nx + x``.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

VALUE_DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
INDEX_DTYPES = (np.int32, np.int64)
LARGEST_INT32 = 2**31 - 1

# Rows are y - 1, y, y + 1 and columns x - 1, x, x + 1: the paper prints y + 1 on top.
ANISO1 = ((-0.2, -0.1, -0.2), (-1.0, 3.0, -1.0), (-0.2, -0.1, -0.2))
ANISO2 = ((-1.0, -0.2, -0.1), (-0.2, 3.0, -0.2), (-0.1, -0.2, -1.0))


def stencil(shape, weights, *, dtype=np.float64, device=None, index_dtype=None):
    """
    The matrix that applies one stencil at every vertex of a grid.

    Parameters
    ----------
    shape : int or tuple of int
        Vertices along each axis, at least one each. Vertices are numbered in C order.
    weights : array_like
        One weight per offset, as many axes as the grid, an odd number of entries along each:
        ``weights[centre + offset]`` couples a vertex to the vertex at that offset. Zero weights are not
        stored, and offsets that leave the grid are dropped (no wraparound).
    dtype : dtype, optional
        float32, float64 (default), complex64 or complex128.
    device : {None, "cpu", "cuda"}, optional
        Where the matrix is built; None means the CPU.
    index_dtype : dtype, optional
        int32 or int64. None takes int32 whenever it is wide enough.

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
    shape = _grid_shape(shape)
    dtype = _value_dtype(dtype)
    weights = _stencil_weights(weights, len(shape), dtype)
    return _assemble(shape, _couplings(weights), dtype, device, index_dtype)


def poisson(shape, *, dtype=np.float64, device=None, index_dtype=None):
    """
    The finite-difference Laplacian of a grid: 2d on the diagonal, -1 to each of the 2d neighbours.

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
    shape = _grid_shape(shape)
    weights = np.zeros((3,) * len(shape))
    centre = (1,) * len(shape)
    weights[centre] = 2 * len(shape)
    for axis in range(len(shape)):
        for side in (0, 2):
            weights[(*centre[:axis], side, *centre[axis + 1 :])] = -1
    return stencil(shape, weights, dtype=dtype, device=device, index_dtype=index_dtype)


def aniso(kind, n, *, dtype=np.float64, device=None, index_dtype=None):
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
    kind = _integer(kind, "kind")
    if kind not in (1, 2, 3):
        raise ValueError(f"kind must be 1, 2 or 3, got {kind}")
    (n,) = _grid_shape(_integer(n, "n"), name="n")
    dtype = _value_dtype(dtype)
    couplings = _couplings(np.array(ANISO1 if kind == 1 else ANISO2, dtype=dtype))
    if kind < 3:
        return _assemble((n, n), couplings, dtype, device, index_dtype)
    # Vertices are ordered by (x - y, x): offsets taken in that order meet their columns in ascending order.
    couplings.sort(key=lambda coupling: (coupling[0][1] - coupling[0][0], coupling[0][1]))
    return _assemble((n, n), couplings, dtype, device, index_dtype, number=_number_along_diagonals)


def _assemble(shape, couplings, dtype, device, index_dtype, number=None):
    """
    Fill the CSR arrays coupling by coupling, each over the box of vertices whose neighbour lies in the grid.

    ``couplings`` holds (offset, weight) pairs in ascending order of the neighbour's number, so every row
    comes out sorted; ``number(xp, shape, index dtype)`` numbers the vertices of the grid, None in C order.
    """
    xp, sparse = _array_modules(device)
    size = math.prod(shape)
    nnz = sum(_box_size(shape, offset) for offset, _ in couplings)
    index_dtype = _index_dtype(index_dtype, max(size, nnz))

    vertex = (number or _number_in_c_order)(xp, shape, index_dtype)
    degree = xp.zeros(shape, dtype=index_dtype)
    for offset, _ in couplings:
        degree[_box(shape, offset)] += 1
    row_length = xp.empty(size, dtype=index_dtype)
    row_length[vertex] = degree
    indptr = xp.zeros(size + 1, dtype=index_dtype)
    indptr[1:] = xp.cumsum(row_length, dtype=index_dtype)

    # The next free slot of each vertex's row; it takes over the degrees' memory.
    slot = degree
    slot[...] = indptr[vertex]
    indices = xp.empty(nnz, dtype=index_dtype)
    data = xp.empty(nnz, dtype=dtype)
    for offset, weight in couplings:
        here = _box(shape, offset)
        there = _box(shape, tuple(-step for step in offset))
        slots = slot[here]
        indices[slots] = vertex[there]
        data[slots] = weight
        slot[here] += 1
    return _csr(sparse, data, indices, indptr, size)


def _csr(sparse, data, indices, indptr, size):
    csr_type = getattr(sparse, "csr_array", None) or sparse.csr_matrix
    A = csr_type((data, indices, indptr), shape=(size, size))
    # Constructors may narrow int64 indices that fit int32; the caller's choice stands.
    A.indices, A.indptr = indices, indptr
    A.has_sorted_indices = True
    A.has_canonical_format = True
    return A


def _couplings(weights):
    """(offset, weight) of every nonzero weight, offsets in C order, hence columns in ascending order."""
    centre = [length // 2 for length in weights.shape]
    return [
        (tuple(int(i) - c for i, c in zip(position, centre, strict=True)), weights[tuple(position)].item())
        for position in np.argwhere(weights != 0)
    ]


def _box(shape, offset):
    """The vertices whose neighbour at this offset lies in the grid."""
    pairs = zip(shape, offset, strict=True)
    return tuple(slice(max(0, -step), max(0, length - max(0, step))) for length, step in pairs)


def _box_size(shape, offset):
    return math.prod(max(0, length - abs(step)) for length, step in zip(shape, offset, strict=True))


def _number_in_c_order(xp, shape, index_dtype):
    return xp.arange(math.prod(shape), dtype=index_dtype).reshape(shape)


def _number_along_diagonals(xp, shape, index_dtype):
    """Numbers by x - y, then x: the length of all earlier diagonals plus the place on one's own."""
    n = shape[0]
    diagonal = xp.arange(1 - n, n)
    end = xp.cumsum(n - xp.abs(diagonal))
    # On diagonal d the smallest x is max(d, 0), so vertex x has (start of d) - max(d, 0) + x.
    base = (end - (n - xp.abs(diagonal)) - xp.maximum(diagonal, 0)).astype(index_dtype)
    x = xp.arange(n, dtype=index_dtype)
    return base[x[None, :] - x[:, None] + (n - 1)] + x[None, :]


def _array_modules(device) -> tuple[Any, Any]:
    """The array module and the sparse module of a device."""
    if device is None or device == "cpu":
        import scipy.sparse

        return np, scipy.sparse
    if device != "cuda":
        raise ValueError(f'device must be None, "cpu" or "cuda", got {device!r}')
    _require_gpu()
    import cupy
    import cupyx.scipy.sparse

    return cupy, cupyx.scipy.sparse


def _require_gpu():
    from linforest_precond.backends import cuda_status

    usable, reason = cuda_status()
    if not usable:
        raise ValueError(f'device="cuda" needs a usable GPU: {reason}; device="cpu" works everywhere')


def _integer(value, name):
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None


def _grid_shape(shape, name="shape"):
    lengths = shape if isinstance(shape, (tuple, list, np.ndarray)) else (shape,)
    lengths = tuple(_integer(length, name) for length in lengths)
    if not lengths:
        raise ValueError(f"{name} must name at least one axis, got {shape!r}")
    if min(lengths) < 1:
        raise ValueError(f"{name} must be at least 1 along every axis, got {shape!r}")
    return lengths


def _value_dtype(dtype):
    dtype = np.dtype(dtype)
    if dtype not in VALUE_DTYPES:
        raise TypeError(f"dtype must be float32, float64, complex64 or complex128, got {dtype}")
    return dtype


def _index_dtype(index_dtype, largest):
    if index_dtype is None:
        return np.dtype(np.int32 if largest <= LARGEST_INT32 else np.int64)
    index_dtype = np.dtype(index_dtype)
    if index_dtype not in INDEX_DTYPES:
        raise TypeError(f"index_dtype must be int32 or int64, got {index_dtype}")
    if largest > np.iinfo(index_dtype).max:
        raise ValueError(f"index_dtype int32 is too narrow for {largest} entries; int64 or None works")
    return index_dtype


def _stencil_weights(weights, axes, dtype):
    weights = np.asarray(weights)
    if weights.dtype.kind not in "biufc":
        raise TypeError(f"weights must be numbers, got an array of {weights.dtype}")
    if weights.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"weights are complex, got dtype={dtype}; dtype=complex64 or complex128 holds them")
    if weights.ndim != axes:
        raise ValueError(f"weights must have as many axes as shape, got {weights.ndim} and {axes}")
    if any(length % 2 == 0 for length in weights.shape):
        raise ValueError(f"weights must have an odd length along every axis, got shape {weights.shape}")
    with np.errstate(over="ignore"):
        weights = weights.astype(dtype)
    if not np.isfinite(weights).all():
        raise ValueError(f"weights must be finite in {dtype}, got NaN or infinity")
    return weights
