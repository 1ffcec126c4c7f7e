"""Stacks of systems with one pattern, as one block diagonal matrix."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType, MatrixLike
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.interop.dlpack import native_array
from linforest_precond.matrix.checks import check_device, check_finite, value_dtype
from linforest_precond.matrix.conversion import MAJORS, as_square_matrix, compressed_pattern, index_dtype


@named_arguments
def block_diagonal(A: MatrixLike, values: npt.ArrayLike) -> Any:
    """Make one block diagonal matrix of many systems with one pattern.

    The vectors of the systems are one after the other: of an array R of shape (k, n), with one right-hand
    side in each row, ``R.ravel()`` is the right-hand side of the block diagonal system.

    Parameters
    ----------
    A : sparse matrix
        The pattern: square, in CSR or CSC, of SciPy or CuPy. Its values are not read.
    values : (k, nnz) array
        On A's device. Row i holds the values of system i in the order of ``A.data``: one for each stored
        entry, explicit zeros and duplicates included. Integers become float64.

    Returns
    -------
    sparse matrix
        Of k n rows, of A's library, kind and format. Indices are 64-bit where A's are, or where 32 bits are
        too few. Its ``data`` is `values` itself where that is contiguous.

    See Also
    --------
    linforest_precond.tridiagonal : it takes `values`, too.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson(3)
    >>> lf.matrices.block_diagonal(A, np.stack([A.data, 5 * A.data])).diagonal().tolist()
    [2.0, 2.0, 2.0, 10.0, 10.0, 10.0]
    """
    return stacked(A, values)[0]


def stacked(A: MatrixLike, values: npt.ArrayLike) -> tuple[Any, tuple[int, int]]:
    """The block diagonal matrix, and the number of systems with the rows of each."""
    matrix, backend = as_square_matrix(A)
    form = getattr(matrix, "format", "dense")
    if form not in MAJORS:
        raise TypeError(
            f"A must be in CSR or CSC where values are given, in the order of A.data, got the format {form}; "
            "convert it with A.tocsr()"
        )
    indptr, indices = compressed_pattern(matrix, backend)
    data = _checked_values(values, indices.size, backend)
    (systems, entries), n = data.shape, matrix.shape[0]
    rows, index = systems * n, index_dtype(max(systems, 1) * max(n, entries), indices.dtype)
    columns = _repeated(indices, systems, n, index)
    pointers = backend.xp.full(rows + 1, systems * entries, index)
    pointers[:-1] = _repeated(indptr[:-1], systems, entries, index)
    stack = type(matrix)((data.reshape(-1), columns, pointers), shape=(rows, rows))
    stack.indices, stack.indptr = columns, pointers  # the constructor may narrow them
    return stack, (systems, n)


def _repeated(indices: Array, systems: int, shift: int, index: DType) -> Array:
    """The indices of each system, which begin `shift` after those of the one before."""
    firsts = shift * xp_of(indices).arange(systems, dtype=index)
    return (firsts[:, None] + indices.astype(index)).reshape(-1)


def _checked_values(values: Any, entries: int, backend: Backend) -> Array:
    """Finite numbers, a row for each system, contiguous."""
    values = native_array("values", values)
    if hasattr(values, "tocoo"):
        raise TypeError(f"values must be a dense array, got a {type(values).__name__}; pass rows like A.data")
    check_device("values", values, backend)
    values = backend.xp.asarray(values)
    dtype = value_dtype("values", values.dtype)
    if values.ndim != 2 or values.shape[1] != entries:
        raise ValueError(
            f"values must have the shape (k, {entries}), a row of A's {entries} stored entries for each of k "
            f"systems, got {tuple(values.shape)}"
        )
    check_finite("values", values)
    return backend.xp.ascontiguousarray(values, dtype=dtype)
