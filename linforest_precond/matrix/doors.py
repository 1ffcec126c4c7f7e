"""Checks for functions that read only the pattern of a matrix, or values of any type."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, MatrixLike
from linforest_precond.backends.array_libraries import refuse_masked_or_ragged
from linforest_precond.backends.flags import any_set
from linforest_precond.backends.returns import PatternScan
from linforest_precond.matrix.checked import (
    CheckedMatrix,
    checked,
    checked_as_given,
    checked_csr,
    described,
    from_scan,
)
from linforest_precond.matrix.checks import (
    as_numbers,
    check_device,
    check_entries,
    check_indices,
    check_lengths,
    value_dtype,
)
from linforest_precond.matrix.conversion import (
    LARGEST_INT32_COUNT,
    MAJORS,
    as_square_matrix,
    canonical_csr,
    compressed_pattern,
    index_arrays,
    is_csr,
    pattern_arrays,
    pattern_triplets,
    stored_entries,
)
from linforest_precond.matrix.graphs import Graph, Pattern, pattern_from_scan, symmetrized_pattern, unit_graph
from linforest_precond.matrix.value_range import is_nonzero


def as_csgraph(A: MatrixLike | CheckedMatrix, name: str = "A") -> CheckedMatrix:
    """Give a weighted graph as SciPy's csgraph reads it: stored entries are edges, weights keep their sign.

    Takes what `checked` takes, with real values. Explicit zeros are edges of weight 0. Of a dense array, the
    entries that are neither zero nor NaN nor infinite are edges.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.matrix.doors import as_csgraph
    >>> as_csgraph(np.array([[0.0, -1.0], [np.inf, 0.0]])).data.tolist()
    [-1.0]
    """
    if isinstance(A, CheckedMatrix):
        dtype, matrix = A.data.dtype, A
    else:
        matrix, backend = as_square_matrix(A, name)
        xp, dtype = backend.xp, matrix.dtype
        if isinstance(matrix, xp.ndarray) and dtype.kind == "f":
            matrix = xp.where(xp.isfinite(matrix), matrix, dtype.type(0))
    if dtype.kind == "c":
        raise TypeError(
            f"{name} must have real weights, got {dtype}; pass abs({name}), {name}.real or {name}.imag"
        )
    return A if isinstance(A, CheckedMatrix) else checked_as_given(matrix, name)


def as_weighted_graph(A: MatrixLike | CheckedMatrix, weights: str | npt.ArrayLike = "magnitude") -> Graph:
    """Give the undirected graph of a matrix with magnitudes, ones or given numbers as weights.

    "magnitude" is as in `CheckedMatrix.graph`; numbers replace the values of A's stored entries, in stored
    order (row by row for a dense array): A's own values are then not read.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.matrix.doors import as_weighted_graph
    >>> A = np.array([[0.0, -1.0], [-3.0, 0.0]])
    >>> as_weighted_graph(A, "pattern").values.tolist(), as_weighted_graph(A, [2.0, 5.0]).values.tolist()
    ([1.0, 1.0], [7.0, 7.0])
    """
    if not isinstance(weights, str):
        return _with_weights(A, weights).graph
    if weights not in ("magnitude", "pattern"):
        raise ValueError(f'weights must be "magnitude", "pattern" or an array, got {weights!r}')
    graph = checked(A).graph
    return graph if weights == "magnitude" else unit_graph(graph)


def as_mapped_graph(A: MatrixLike) -> Graph:
    """Give the graph of a matrix without copies of its entries where it is symmetric CSR on the host.

    For kernels that check every column they follow: the arrays may be memory-mapped, and change. Otherwise
    the graph of `checked(A)`.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from linforest_precond.matrix.doors import as_mapped_graph
    >>> A = sp.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))
    >>> graph = as_mapped_graph(A)
    >>> np.shares_memory(graph.indices, A.indices), np.shares_memory(graph.values, A.data)
    (True, True)
    """
    matrix, backend = as_square_matrix(A)
    if not backend.maps_files or not is_csr(matrix):
        return checked(A).graph
    check_lengths(matrix, "A")
    # Plain views of the mapped arrays, which are of the class memmap; the row pointers are copied.
    indptr, indices, data = np.array(matrix.indptr), np.asarray(matrix.indices), np.asarray(matrix.data)
    if not _is_mappable(indptr, indices, data):
        return checked(A).graph
    scan = backend.matrix.entries.scan(indptr, indices, data)
    check_entries(scan, indptr, indices, data, backend, "A")
    if not scan.sorted:
        return checked(A).graph
    if not scan.symmetric:  # kernels will follow the columns unchecked
        indices = np.array(indices)
        check_indices(backend.matrix.entries.scan_indices(indptr, indices), indptr, indices, backend)
    return from_scan(indptr, indices, data, scan, backend).graph


def _is_mappable(indptr: Array, indices: Array, data: Array) -> bool:
    """Whether kernels can read the arrays as they are."""
    alike = indptr.dtype == indices.dtype and indices.dtype in (np.int32, np.int64)
    return bool(
        alike
        and data.dtype in (np.float32, np.float64)
        and data.flags.c_contiguous
        and indices.flags.c_contiguous
    )


def as_pattern(
    A: MatrixLike | CheckedMatrix, *, symmetric_mode: bool = False, directed: bool = False
) -> Pattern:
    """Give the edges of a matrix: its stored entries, explicit zeros too, as in SciPy's csgraph.

    Values of a sparse matrix are not read: they may be of any type, and NaN. Of a dense array, the entries
    that are neither zero nor NaN nor infinite are edges, again as in csgraph.

    In `symmetric_mode` the pattern must be symmetric. Otherwise the pattern of ``A + A.T`` is used, or a
    nonsymmetric one is left as it is (`directed`).

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.matrix.doors import as_pattern
    >>> pattern = as_pattern(np.array([[2, 1, 0], [0, 2, 1], [0, 0, 2]]))
    >>> pattern.degrees.tolist(), pattern.indices.tolist()
    ([1, 2, 1], [0, 1, 0, 1, 2, 1, 2])
    """
    pattern = A.directed_pattern if isinstance(A, CheckedMatrix) else _checked_pattern(A)
    if not pattern.symmetric and symmetric_mode:
        raise ValueError(
            "A must have a symmetric pattern in symmetric_mode, and some entry's mirror image is not stored; "
            "pass symmetric_mode=False to work on the pattern of A + A.T"
        )
    if directed:
        return pattern
    return A.pattern if isinstance(A, CheckedMatrix) else symmetrized_pattern(pattern)


def as_stored(A: MatrixLike) -> Any:
    """Give a square matrix with values of any type: dense, or rows, columns and values of its stored entries.

    Indices are checked copies. Duplicates of CSR and CSC are kept, those of other formats are summed.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.matrix.doors import as_stored
    >>> as_stored([[1, 2], [3, 4]]).dtype.kind
    'i'
    """
    matrix, backend = as_square_matrix(A)
    if isinstance(matrix, backend.xp.ndarray):
        return matrix
    if matrix.format not in MAJORS:
        rows, cols, values = stored_entries(matrix, backend.xp)
        values = as_numbers(values)
        summed = backend.sparse.coo_matrix((values, (rows, cols)), shape=matrix.shape).tocsr()
        return backend.matrix.entries.rows_of(summed.indptr, summed.indices.size), summed.indices, summed.data
    indptr, indices = compressed_pattern(matrix, backend)
    majors = backend.matrix.entries.rows_of(indptr, indices.size)
    values = as_numbers(matrix.data)
    return (majors, indices, values) if is_csr(matrix) else (indices, majors, values)


def _checked_pattern(A: MatrixLike) -> Pattern:
    """The directed pattern of a user's matrix, whatever its values are: sorted, without duplicates."""
    matrix, backend = as_square_matrix(A)
    if matrix.shape[0] > LARGEST_INT32_COUNT:
        raise ValueError(f"A must have at most {LARGEST_INT32_COUNT} rows, got {matrix.shape[0]}")
    return pattern_from_scan(*_sorted_pattern(*pattern_arrays(matrix, backend), backend))


def _sorted_pattern(indptr: Array, indices: Array, backend: Backend) -> tuple[Array, Array, PatternScan]:
    """A pattern with sorted columns and no duplicates, and its scan."""
    scan = backend.matrix.patterns.scan_pattern(indptr, indices)
    check_indices(scan, indptr, indices, backend)
    if scan.sorted:
        return indptr, indices, scan
    rows = backend.matrix.entries.rows_of(indptr, indices.size)
    ones = backend.xp.ones(indices.size, np.float32)
    indptr, indices, _ = canonical_csr(rows, indices, ones, indptr.size - 1, indices.dtype, backend)
    return _sorted_pattern(indptr, indices, backend)


def _with_weights(A: MatrixLike | CheckedMatrix, weights: npt.ArrayLike) -> CheckedMatrix:
    """A with given numbers as the values of its stored entries."""
    if isinstance(A, CheckedMatrix):
        return described(A.indptr, A.indices, checked_weights(weights, A.nnz, A.backend))
    matrix, backend = as_square_matrix(A)
    if is_csr(matrix):
        indptr, indices = index_arrays(matrix, backend)
        return checked_csr(indptr, indices, checked_weights(weights, indices.size, backend), backend)
    rows, cols, index = pattern_triplets(matrix, backend)
    weights = checked_weights(weights, rows.size, backend)
    return checked_csr(*canonical_csr(rows, cols, weights, matrix.shape[0], index, backend), backend)


def checked_weights(weights: Any, count: int, backend: Backend, of: str = "stored entries") -> Array:
    """`count` nonnegative finite numbers on the backend's device."""
    xp = backend.xp
    if hasattr(weights, "dtype"):
        check_device("weights", weights, backend)
    if hasattr(weights, "tocoo"):
        raise TypeError(f"weights must be a 1-D array, got a {type(weights).__name__}; pass its data")
    refuse_masked_or_ragged("weights", weights)
    weights = weights if hasattr(weights, "dtype") else np.asarray(weights)
    dtype = value_dtype("weights", weights.dtype)
    if dtype.kind == "c":
        raise TypeError(f"weights must be real, got {dtype}; pass their magnitudes")
    if weights.shape != (count,):
        raise ValueError(
            f"weights must have one number for each of A's {count} {of}, got shape {weights.shape}"
        )
    values: Array = xp.ascontiguousarray(xp.asarray(weights), dtype=dtype)
    wrong = ~xp.isfinite(values) | (xp.signbit(values) & is_nonzero(values))
    if any_set(wrong):  # stall: before any work
        first = int(wrong.argmax())
        raise ValueError(f"weights must be finite and not negative, got {values[first]} at {first}")
    return values
