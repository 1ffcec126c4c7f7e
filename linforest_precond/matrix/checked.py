"""The gate: a user's matrix becomes a checked `CSR`, `Graph` or `Pattern`, or an exception is raised.

Every public function that takes a matrix first calls one of the functions here; nothing below checks a matrix
again. The user's matrix is never modified. `formats` converts, `matrix_checks` words the exceptions, and
`own_matrix` describes the matrices that the package computes itself, which do not come through here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.annotations import Array, DType, MatrixLike
from linforest_precond.backends import Backend, backend_of
from linforest_precond.backends.returns import PatternScan
from linforest_precond.formats import (
    as_square_matrix,
    canonical_csr,
    csr_arrays,
    index_arrays,
    is_csr,
    pattern_arrays,
    pattern_triplets,
)
from linforest_precond.matrices.arrays import array_modules
from linforest_precond.matrix_checks import check_entries, check_indices, check_lengths
from linforest_precond.own_matrix import LARGEST_INT32_COUNT, csr_from_scan, described_csr, index_dtype
from linforest_precond.records import CSR, Graph, Pattern
from linforest_precond.stored_entries import stored_entries
from linforest_precond.subnormals import is_nonzero

VALUE_DTYPES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))


def as_csr(A: MatrixLike | CSR, name: str = "A", *, shared: bool = False) -> CSR:
    """Check a sparse or dense square matrix and give it as CSR on its own device.

    Parameters
    ----------
    A : sparse matrix or array of SciPy or CuPy in any format, or dense 2-D array
        Integer and boolean values become float64. Unsorted indices and duplicates (summed left to
        right as stored) are handled in a copy.
    name : str
        The argument that A was given as, for the exceptions.
    shared : bool
        Whether all kernels that will follow the indices check them; the indices may then be A's own.

    Returns
    -------
    CSR
        The user's own values where A is valid CSR, fresh arrays otherwise: index arrays are copies, since the
        user's may change while they are followed. 32-bit indices become 64-bit ones where A and its
        transpose together may have too many entries for them.

    Raises
    ------
    TypeError
        For what is not a matrix of numbers, values of another kind than float32, float64, complex64
        or complex128 can hold, and CuPy matrices without a usable GPU.
    ValueError
        For matrices that are not square and 2-D, NaN or infinite entries, and invalid index arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.gate import as_csr
    >>> csr = as_csr(np.array([[2, -1], [-1, 2]]))
    >>> csr.n, csr.nnz, csr.symmetric, csr.data.dtype.name
    (2, 4, True, 'float64')
    """
    if isinstance(A, CSR):
        return A
    backend = backend_of(A)
    matrix = as_square_matrix(A, backend, name)
    dtype = value_dtype(name, matrix.dtype)
    return checked_csr(*csr_arrays(matrix, dtype, backend, name, shared), name)


def as_graph(A: MatrixLike | CSR, *, shared: bool = False) -> Graph:
    """Give the undirected weighted graph of a matrix: magnitudes without the diagonal, made symmetric.

    Takes what `as_csr` takes, `shared` too. The magnitudes of a symmetric real matrix are not stored: the
    graph refers to the matrix's own values.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.gate import as_graph
    >>> as_graph(np.array([[0.0, -1.0], [-3.0, 0.0]])).values.tolist()
    [4.0, 4.0]
    """
    csr = as_csr(A, shared=shared)
    entries = backend_of(csr.data).matrix.entries
    real = csr.data.dtype.kind != "c"
    values = csr.data if real else entries.magnitudes(csr.data)
    if csr.symmetric:
        return Graph(
            csr.indptr, csr.indices, values, csr.total_weight, csr.scale, csr.longest_row, True, real
        )
    indptr, indices, values, same_pattern = entries.symmetrized(csr.indptr, csr.indices, values)
    # stall: one number, where the pattern was not symmetric
    longest = csr.longest_row if same_pattern else int((indptr[1:] - indptr[:-1]).max())
    return Graph(indptr, indices, values, 2.0 * csr.total_weight, csr.scale, longest, same_pattern, False)


def as_csgraph(A: MatrixLike | CSR, name: str = "A") -> CSR:
    """Give a weighted graph as SciPy's csgraph reads it: stored entries are edges, weights keep their sign.

    Takes what `as_csr` takes, with real values. Explicit zeros are edges of weight 0. Of a dense array, the
    entries that are neither zero nor NaN nor infinite are edges.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.gate import as_csgraph
    >>> as_csgraph(np.array([[0.0, -1.0], [np.inf, 0.0]])).data.tolist()
    [-1.0]
    """
    if isinstance(A, CSR):
        dtype, matrix = A.data.dtype, A
    else:
        backend = backend_of(A)
        xp, matrix = backend.xp, as_square_matrix(A, backend, name)
        dtype = matrix.dtype
        if isinstance(matrix, xp.ndarray) and dtype.kind == "f":
            matrix = xp.where(xp.isfinite(matrix), matrix, dtype.type(0))
    if dtype.kind == "c":
        raise TypeError(
            f"{name} must have real weights, got {dtype}; pass abs({name}), {name}.real or {name}.imag"
        )
    return as_csr(matrix, name)


def as_weighted_graph(A: MatrixLike | CSR, weights: str | npt.ArrayLike = "magnitude") -> Graph:
    """Give the undirected graph of a matrix with magnitudes, ones or given numbers as weights.

    Parameters
    ----------
    A : sparse matrix, array or dense 2-D array
        Square, of SciPy, NumPy or CuPy.
    weights : {"magnitude", "pattern"} or 1-D array
        Magnitudes, as in `as_graph`; 1 for every edge; or numbers that replace the values of A's stored
        entries, in stored order (row by row for a dense array). A's own values are then not read.

    Raises
    ------
    TypeError, ValueError
        As `as_csr`, and for weights of another length, negative, infinite or NaN ones, and those on another
        device than A.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.gate import as_weighted_graph
    >>> A = np.array([[0.0, -1.0], [-3.0, 0.0]])
    >>> as_weighted_graph(A, "pattern").values.tolist(), as_weighted_graph(A, [2.0, 5.0]).values.tolist()
    ([1.0, 1.0], [7.0, 7.0])
    """
    if not isinstance(weights, str):
        return as_graph(_with_weights(A, weights))
    if weights not in ("magnitude", "pattern"):
        raise ValueError(f'weights must be "magnitude", "pattern" or an array, got {weights!r}')
    graph = as_graph(A)
    return graph if weights == "magnitude" else _unit_graph(graph)


def as_mapped_graph(A: MatrixLike) -> Graph:
    """Give the graph of a matrix without copies of its entries where it is symmetric CSR on the host.

    For kernels that check every column they follow: the arrays may be memory-mapped, and change. Otherwise
    the graph of `as_graph`.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from linforest_precond.gate import as_mapped_graph
    >>> A = sp.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))
    >>> graph = as_mapped_graph(A)
    >>> np.shares_memory(graph.indices, A.indices), np.shares_memory(graph.values, A.data)
    (True, True)
    """
    backend = backend_of(A)
    if backend.name != "cpu" or not is_csr(A):
        return as_graph(A)
    matrix = as_square_matrix(A, backend)
    check_lengths(matrix, "A")
    # Views: arrays of a mapped file are of a class of their own. The row pointers are a copy.
    indptr, indices, data = np.array(matrix.indptr), np.asarray(matrix.indices), np.asarray(matrix.data)
    if not _is_mappable(indptr, indices, data):
        return as_graph(A)
    scan = backend.matrix.entries.scan(indptr, indices, data)
    check_entries(scan, indptr, indices, data, backend, "A")
    csr = csr_from_scan(indptr, indices, data, scan)
    return as_graph(csr if scan.sorted and csr.symmetric else A)


def _is_mappable(indptr: Array, indices: Array, data: Array) -> bool:
    """Whether kernels can read the arrays as they are."""
    alike = indptr.dtype == indices.dtype and indices.dtype in (np.int32, np.int64)
    return bool(
        alike
        and data.dtype in (np.float32, np.float64)
        and data.flags.c_contiguous
        and indices.flags.c_contiguous
    )


def as_pattern(A: MatrixLike | CSR, *, symmetric_mode: bool = False, directed: bool = False) -> Pattern:
    """Give the edges of a matrix: its stored entries, explicit zeros too, as in SciPy's csgraph.

    Values of a sparse matrix are not read: they may be of any type, and NaN. Of a dense array, the entries
    that are neither zero nor NaN nor infinite are edges, again as in csgraph.

    Parameters
    ----------
    A : sparse matrix, array or dense 2-D array
        Square, of SciPy, NumPy or CuPy.
    symmetric_mode : bool
        Whether A's pattern must be symmetric. If not, the pattern of ``A + A.T`` is used.
    directed : bool
        Leave a nonsymmetric pattern as it is.

    Raises
    ------
    TypeError, ValueError
        As `as_csr`, and for a pattern that is not symmetric in `symmetric_mode`.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.gate import as_pattern
    >>> pattern = as_pattern(np.array([[2, 1, 0], [0, 2, 1], [0, 0, 2]]))
    >>> pattern.degrees.tolist(), pattern.indices.tolist()
    ([1, 2, 1], [0, 1, 0, 1, 2, 1, 2])
    """
    if isinstance(A, CSR):
        backend, (indptr, indices) = backend_of(A.data), (A.indptr, A.indices)
    else:
        backend = backend_of(A)
        matrix = as_square_matrix(A, backend)
        if matrix.shape[0] > LARGEST_INT32_COUNT:
            raise ValueError(f"A must have at most {LARGEST_INT32_COUNT} rows, got {matrix.shape[0]}")
        indptr, indices = pattern_arrays(matrix, backend)
    indptr, indices, scan = _checked_pattern(indptr, indices, backend)
    symmetric, longest, degrees = scan.symmetric, scan.longest_row, scan.degrees
    if not symmetric and symmetric_mode:
        raise ValueError(
            "A must have a symmetric pattern in symmetric_mode, and some entry's mirror image is not stored; "
            "pass symmetric_mode=False to work on the pattern of A + A.T"
        )
    if not symmetric and not directed:
        index = index_dtype(2 * indices.size, indices.dtype)
        indptr, indices = indptr.astype(index, copy=False), indices.astype(index, copy=False)
        ones = backend.xp.ones(indices.size, np.float32)
        before = indptr
        indptr, indices, _, _ = backend.matrix.entries.symmetrized(indptr, indices, ones)
        added = indptr - before
        degrees = degrees + (added[1:] - added[:-1]).astype(np.int32)
        # stall: one number, where the pattern was not symmetric
        symmetric, longest = True, int((indptr[1:] - indptr[:-1]).max())
    return Pattern(indptr, indices.astype(np.int32, copy=False), degrees, symmetric, longest)


def as_stored(A: MatrixLike) -> Any:
    """Give a square matrix with values of any type: dense, or rows, columns and values of its stored entries.

    Indices are checked copies. Duplicates of CSR and CSC are kept, those of other formats are summed.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.gate import as_stored
    >>> as_stored([[1, 2], [3, 4]]).dtype.kind
    'i'
    """
    backend = backend_of(A)
    matrix = as_square_matrix(A, backend)
    if isinstance(matrix, backend.xp.ndarray):
        return matrix
    major = {"csr": "row", "csc": "column"}.get(matrix.format)
    if major is None:
        rows, cols, values = stored_entries(matrix, backend.xp)
        values = _as_numbers(values)
        summed = array_modules(backend.name)[1].coo_matrix((values, (rows, cols)), shape=matrix.shape).tocsr()
        return backend.matrix.entries.rows_of(summed.indptr, summed.indices.size), summed.indices, summed.data
    indptr, indices = index_arrays(matrix, backend)
    scan = backend.matrix.pattern_scan.scan_pattern(indptr, indices)
    check_indices(scan, indptr, indices, backend, major=major)
    majors = backend.matrix.entries.rows_of(indptr, indices.size)
    values = _as_numbers(matrix.data)
    return (majors, indices, values) if major == "row" else (indices, majors, values)


def checked_csr(indptr: Array, indices: Array, data: Array, name: str = "A") -> CSR:
    """Check CSR arrays of a user, of one index type and a supported value type; sort them if needed."""
    backend = backend_of(data)
    scan = backend.matrix.entries.scan(indptr, indices, data)
    check_entries(scan, indptr, indices, data, backend, name)
    if scan.sorted:
        return csr_from_scan(indptr, indices, data, scan)
    rows = backend.matrix.entries.rows_of(indptr, indices.size)
    # Checked again: the sum of duplicates may overflow.
    return checked_csr(*canonical_csr(rows, indices, data, indptr.size - 1, indices.dtype, backend), name)


def value_dtype(name: str, dtype: npt.DTypeLike) -> DType:
    """The type that an argument's values are converted to: its own, or float64 for integers and booleans."""
    dtype = np.dtype(dtype).newbyteorder("=")
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    if dtype not in VALUE_DTYPES:
        raise TypeError(
            f"{name} must hold float32, float64, complex64 or complex128 values (integers and booleans "
            f"become float64), got {dtype}; convert it with {name}.astype(...)"
        )
    return dtype


def _as_numbers(values: Array) -> Array:
    """Values of any type that sparse matrices can hold."""
    if values.dtype.kind not in "biufc" or values.dtype == np.float16:
        raise TypeError(f"A must hold numbers of a type that sparse matrices support, got {values.dtype}")
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _checked_pattern(indptr: Array, indices: Array, backend: Backend) -> tuple[Array, Array, PatternScan]:
    """A pattern with sorted columns and no duplicates, and what a scan found in it."""
    scan = backend.matrix.pattern_scan.scan_pattern(indptr, indices)
    check_indices(scan, indptr, indices, backend)
    if scan.sorted:
        return indptr, indices, scan
    rows = backend.matrix.entries.rows_of(indptr, indices.size)
    ones = backend.xp.ones(indices.size, np.float32)
    indptr, indices, _ = canonical_csr(rows, indices, ones, indptr.size - 1, indices.dtype, backend)
    return _checked_pattern(indptr, indices, backend)


def _unit_graph(graph: Graph) -> Graph:
    """The same edges, each of weight 1."""
    ones = is_nonzero(graph.values).astype(graph.values.dtype)
    total = backend_of(ones).matrix.entries.scan(graph.indptr, graph.indices, ones).total
    return replace(graph, values=ones, total_weight=total, scale=1.0, values_are_matrix=False)


def _with_weights(A: MatrixLike | CSR, weights: npt.ArrayLike) -> CSR:
    """A with given numbers as the values of its stored entries."""
    if isinstance(A, CSR):
        return described_csr(A.indptr, A.indices, _checked_weights(weights, A.nnz, backend_of(A.data)))
    backend = backend_of(A)
    matrix = as_square_matrix(A, backend)
    if is_csr(matrix):
        indptr, indices = index_arrays(matrix, backend)
        return checked_csr(indptr, indices, _checked_weights(weights, indices.size, backend))
    rows, cols, index = pattern_triplets(matrix, backend)
    weights = _checked_weights(weights, rows.size, backend)
    return checked_csr(*canonical_csr(rows, cols, weights, matrix.shape[0], index, backend))


def _checked_weights(weights: Any, count: int, backend: Backend) -> Array:
    """`count` nonnegative finite numbers on the backend's device."""
    xp = backend.xp
    if hasattr(weights, "dtype") and backend_of(weights) is not backend:
        raise TypeError(f"weights must be on A's device ({backend.name}), got a {type(weights).__name__}")
    if hasattr(weights, "tocoo"):
        raise TypeError(f"weights must be a 1-D array, got a {type(weights).__name__}; pass its data")
    weights = weights if hasattr(weights, "dtype") else np.asarray(weights)
    dtype = value_dtype("weights", weights.dtype)
    if dtype.kind == "c":
        raise TypeError(f"weights must be real, got {dtype}; pass their magnitudes")
    if weights.shape != (count,):
        raise ValueError(
            f"weights must have one number for each of A's {count} stored entries, got shape {weights.shape}"
        )
    values: Array = xp.ascontiguousarray(xp.asarray(weights), dtype=dtype)
    wrong = ~xp.isfinite(values) | (xp.signbit(values) & is_nonzero(values))
    if wrong.any():  # stall: before any work
        first = int(wrong.argmax())
        raise ValueError(f"weights must be finite and not negative, got {values[first]} at {first}")
    return values
