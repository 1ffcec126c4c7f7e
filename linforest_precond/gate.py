"""The one door: whatever the user hands over becomes a checked `CSR`, `Graph` or `Pattern`, or an exception.

Nothing below this file checks a matrix again, and the user's matrix is never modified.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from linforest_precond.backends import backend_of
from linforest_precond.records import CSR, Graph, Pattern

VALUE_DTYPES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))
# Sums of magnitudes up to the largest double stay finite under this factor, for any number of entries.
OVERFLOW_SCALE = 2.0**-128
# The most entries, or vertices, that 32-bit indices can number.
LARGEST_INT32_COUNT = 2**31 - 1


def as_csr(A: Any) -> CSR:
    """Check a sparse or dense square matrix and give it as CSR on its own device.

    Parameters
    ----------
    A : sparse matrix or array of SciPy or CuPy in any format, or dense 2-D array
        Integer and boolean values become float64. Unsorted indices and duplicates (summed left to
        right as stored) are handled in a copy.

    Returns
    -------
    CSR
        The user's own arrays where they were in order, fresh ones otherwise. 32-bit indices become 64-bit
        ones where A and its transpose together may have too many entries for them.

    Raises
    ------
    TypeError
        For what is not a matrix of numbers, values of another kind than float32, float64, complex64
        or complex128 can hold, and CuPy matrices without a usable GPU.
    ValueError
        For matrices that are not square and 2-D, NaN or infinite entries, and broken index arrays.

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
    A = _as_matrix(A, backend.xp)
    _check_shape(A, backend)
    dtype = value_dtype("A", A.dtype)
    if getattr(A, "format", None) != "csr":
        indptr, indices, data = _from_triplets(A, dtype, backend)
    else:
        indptr, indices, data = _own_arrays(A, dtype, backend.xp)
    return checked_csr(indptr, indices, data)


def as_graph(A: Any) -> Graph:
    """Give the undirected weighted graph of a matrix: magnitudes without the diagonal, made symmetric.

    Takes what `as_csr` takes. The magnitudes of a symmetric real matrix are not stored: the graph
    refers to the matrix's own values.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.gate import as_graph
    >>> as_graph(np.array([[0.0, -1.0], [-3.0, 0.0]])).values.tolist()
    [4.0, 4.0]
    """
    csr = as_csr(A)
    entries = backend_of(csr.data).matrix.entries
    real = csr.data.dtype.kind != "c"
    values = csr.data if real else entries.magnitudes(csr.data)
    if csr.symmetric:
        return Graph(
            csr.indptr, csr.indices, values, csr.total_weight, csr.scale, csr.longest_row, True, real
        )
    indptr, indices, values, same_pattern = entries.symmetrized(csr.indptr, csr.indices, values)
    # stall: one number, of graphs whose pattern had to be completed
    longest = csr.longest_row if same_pattern else int((indptr[1:] - indptr[:-1]).max())
    return Graph(indptr, indices, values, 2.0 * csr.total_weight, csr.scale, longest, same_pattern, False)


def as_csgraph(A: Any) -> CSR:
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
        values = A.data
    else:
        xp = backend_of(A).xp
        values = A = _as_matrix(A, xp)
        if isinstance(A, xp.ndarray) and A.dtype.kind == "f":
            A = xp.where(xp.isfinite(A), A, A.dtype.type(0))
    if values.dtype.kind == "c":
        raise TypeError(f"A must have real weights, got {values.dtype}; pass abs(A), A.real or A.imag")
    return as_csr(A)


def as_weighted_graph(A: Any, weights: Any = "magnitude") -> Graph:
    """Give the undirected graph of a matrix with the weights that are asked for.

    Parameters
    ----------
    A : sparse matrix, array or dense 2-D array
        Square, of SciPy, NumPy or CuPy.
    weights : {"magnitude", "pattern"} or 1-D array
        Magnitudes, as in `as_graph`; 1 for every edge; or numbers that take the place of A's stored entries,
        in the order these are stored in (row by row for a dense array). A's own values are then not looked
        at.

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


def _unit_graph(graph: Graph) -> Graph:
    """The same edges, each of weight 1."""
    ones = is_nonzero(graph.values).astype(graph.values.dtype)
    total = backend_of(ones).matrix.entries.scan(graph.indptr, graph.indices, ones).total
    return replace(graph, values=ones, total_weight=total, scale=1.0, values_are_matrix=False)


def is_nonzero(values: Any) -> Any:
    """Where real numbers are not 0, by their bits: a GPU may compare subnormal numbers as zeros."""
    bits = np.dtype(f"u{values.dtype.itemsize}")
    return (values.view(bits) & bits.type(np.iinfo(bits).max >> 1)) != 0


def _with_weights(A: Any, weights: Any) -> CSR:
    """A with other numbers in the place of its stored entries."""
    own = isinstance(A, CSR)
    backend = backend_of(A.data if own else A)
    if not own:
        A = _as_matrix(A, backend.xp)
        _check_shape(A, backend)
    if own or getattr(A, "format", None) == "csr":
        indptr, indices = (A.indptr, A.indices) if own else _index_arrays(A, backend.xp)
        return checked_csr(indptr, indices, _checked_weights(weights, indices.size, backend))
    rows, cols, index = _pattern_triplets(A, backend)
    weights = _checked_weights(weights, rows.size, backend)
    return checked_csr(*backend.matrix.entries.canonical(rows, cols, weights, A.shape[0], index))


def _checked_weights(weights: Any, count: int, backend: Any) -> Any:
    """So many nonnegative finite numbers on the backend's device."""
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
    weights = xp.ascontiguousarray(xp.asarray(weights), dtype=dtype)
    wrong = ~xp.isfinite(weights) | (xp.signbit(weights) & is_nonzero(weights))
    if wrong.any():  # stall: before anything is made of them
        place = int(wrong.argmax())
        raise ValueError(f"weights must be finite and not negative, got {weights[place]} at {place}")
    return weights


def as_pattern(A: Any, *, symmetric_mode: bool = False, directed: bool = False) -> Pattern:
    """Give the edges of a matrix: its stored entries, explicit zeros too, as SciPy's csgraph has it.

    Values are never looked at: they may be of any type, and NaN. Of a dense array, the entries that are
    neither zero nor NaN nor infinite are edges, again as in csgraph.

    Parameters
    ----------
    A : sparse matrix, array or dense 2-D array
        Square, of SciPy, NumPy or CuPy.
    symmetric_mode : bool
        Whether A's pattern must be symmetric. If not, the transpose's entries are added where they miss.
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
        indptr, indices = _pattern_arrays(A, backend)
    indptr, indices, scan = _checked_pattern(indptr, indices, backend)
    symmetric, longest, degrees = scan.symmetric, scan.longest_row, scan.degrees
    if not symmetric and symmetric_mode:
        raise ValueError(
            "A must have a symmetric pattern in symmetric_mode, and some entry's mirror image is not stored; "
            "pass symmetric_mode=False to work on the pattern of A + A.T"
        )
    if not symmetric and not directed:
        index = _index_dtype(2 * indices.size, indices.dtype)
        indptr, indices = indptr.astype(index, copy=False), indices.astype(index, copy=False)
        ones = backend.xp.ones(indices.size, np.float32)
        before = indptr
        indptr, indices, _, _ = backend.matrix.entries.symmetrized(indptr, indices, ones)
        added = indptr - before
        degrees = degrees + (added[1:] - added[:-1]).astype(np.int32)
        # stall: one number, of patterns that had to be completed
        symmetric, longest = True, int((indptr[1:] - indptr[:-1]).max())
    return Pattern(indptr, indices.astype(np.int32, copy=False), degrees, symmetric, longest)


def as_stored(A: Any) -> Any:
    """Give a square matrix with values of any type: dense, or CSR of its own library, its indices checked.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.gate import as_stored
    >>> as_stored([[1, 2], [3, 4]]).dtype.kind
    'i'
    """
    backend = backend_of(A)
    A = _as_matrix(A, backend.xp)
    _check_shape(A, backend)
    if isinstance(A, backend.xp.ndarray):
        return A
    if A.format == "coo":
        _check_coordinates(A.row, A.col, A.data, A.shape[0])
    if A.format == "csc":
        _pattern_triplets(A, backend)
    csr = A if A.format == "csr" else A.tocsr()
    indptr, indices = _index_arrays(csr, backend.xp)
    _raise_for_places(backend.matrix.pattern_scan.scan_pattern(indptr, indices), indptr, indices, backend)
    return csr


def _pattern_arrays(A: Any, backend: Any) -> tuple[Any, Any]:
    """The row pointers and columns of any matrix, values left aside."""
    A = _as_matrix(A, backend.xp)
    _check_shape(A, backend)
    if A.shape[0] > LARGEST_INT32_COUNT:
        raise ValueError(f"A must have at most {LARGEST_INT32_COUNT} rows, got {A.shape[0]}")
    if getattr(A, "format", None) == "csr":
        return _index_arrays(A, backend.xp)
    rows, cols, index = _pattern_triplets(A, backend)
    ones = backend.xp.ones(rows.size, np.float32)
    return backend.matrix.entries.canonical(rows, cols, ones, A.shape[0], index)[:2]


def _pattern_triplets(A: Any, backend: Any) -> tuple[Any, Any, np.dtype]:
    """Rows and columns of the entries of any format but CSR, and the index type for them."""
    if isinstance(A, backend.xp.ndarray):
        rows, cols = backend.xp.nonzero((A != 0) & backend.xp.isfinite(A))
        return rows, cols, _index_dtype(rows.size)
    if A.format == "csc":
        indptr, rows = _index_arrays(A, backend.xp)
        ones = backend.xp.ones(rows.size, np.float32)
        rows, cols, _ = _csc_triplets(indptr, rows, ones, backend)
        return rows, cols, rows.dtype
    A = A.tocoo()
    _check_coordinates(A.row, A.col, A.data, A.shape[0])
    return A.row, A.col, _index_dtype(A.row.size, A.row.dtype, A.col.dtype)


def _checked_pattern(indptr: Any, indices: Any, backend: Any) -> tuple[Any, Any, Any]:
    """Sorted and free of duplicates, and what a scan says of it."""
    scan = backend.matrix.pattern_scan.scan_pattern(indptr, indices)
    _raise_for_places(scan, indptr, indices, backend)
    if scan.sorted:
        return indptr, indices, scan
    rows = backend.matrix.entries.rows_of(indptr, indices.size)
    ones = backend.xp.ones(indices.size, np.float32)
    n = indptr.size - 1
    indptr, indices, _ = backend.matrix.entries.canonical(rows, indices, ones, n, indices.dtype)
    return _checked_pattern(indptr, indices, backend)


def _as_matrix(A: Any, xp: Any) -> Any:
    """Sparse matrices as they are, anything array-like as an array."""
    if scipy.sparse.issparse(A) or hasattr(A, "tocoo"):
        return A
    array = xp.asarray(A) if isinstance(A, xp.ndarray) else np.asarray(A)
    if array.dtype.kind not in "biufc":
        raise TypeError(
            f"A must be a sparse matrix or a dense 2-D array of numbers, got {type(A).__name__}; "
            "pass a scipy.sparse or cupyx.scipy.sparse matrix, or an array"
        )
    return array


def _check_shape(A: Any, backend: Any) -> None:
    if len(A.shape) != 2:
        raise ValueError(f"A must be 2-D, got {len(A.shape)} dimension(s), shape {tuple(A.shape)}")
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be square, got shape {tuple(A.shape)}")
    if A.shape[0] > backend.max_rows:
        raise ValueError(f"A must have at most {backend.max_rows} rows on {backend.name}, got {A.shape[0]}")


def value_dtype(name: str, dtype: Any) -> np.dtype:
    """The type that the numbers of an argument are worked on in."""
    dtype = np.dtype(dtype).newbyteorder("=")
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    if dtype not in VALUE_DTYPES:
        raise TypeError(
            f"{name} must hold float32, float64, complex64 or complex128 values (integers and booleans "
            f"become float64), got {dtype}; convert it with {name}.astype(...)"
        )
    return dtype


def _from_triplets(A: Any, dtype: np.dtype, backend: Any) -> tuple[Any, Any, Any]:
    """Any format but CSR: sort its (row, column, value) triplets, stably, and sum duplicates."""
    if isinstance(A, backend.xp.ndarray):
        rows, cols = backend.xp.nonzero(A)
        values = A[rows, cols]
        index = _index_dtype(values.size)
    elif A.format == "csc":
        rows, cols, values = _csc_triplets(*_own_arrays(A, dtype, backend.xp), backend)
        index = rows.dtype
    else:
        A = A.tocoo()
        rows, cols, values = A.row, A.col, A.data
        _check_coordinates(rows, cols, values, A.shape[0])
        index = _index_dtype(values.size, rows.dtype, cols.dtype)
    return backend.matrix.entries.canonical(rows, cols, values.astype(dtype, copy=False), A.shape[0], index)


def _check_coordinates(rows: Any, cols: Any, values: Any, n: int) -> None:
    if not rows.size == cols.size == values.size:
        raise ValueError(
            "A.row, A.col and A.data must have one length, "
            f"got {rows.size}, {cols.size} and {values.size} entries"
        )
    for name, places in (("row", rows), ("col", cols)) if rows.size else ():
        least, largest = int(places.min()), int(places.max())  # stall: before they are used as addresses
        if least < 0 or largest >= n:
            raise ValueError(f"A.{name} must lie in [0, {n}), got {least} to {largest}")


def _csc_triplets(indptr: Any, rows: Any, values: Any, backend: Any) -> tuple[Any, Any, Any]:
    """A CSC matrix's entries in stored order (its own tocoo may reorder duplicates), indices checked."""
    scan = backend.matrix.entries.scan(indptr, rows, values)
    _raise_for(scan, indptr, rows, values, backend, major="column")
    return rows, backend.matrix.entries.rows_of(indptr, rows.size), values


def _own_arrays(A: Any, dtype: np.dtype, xp: Any) -> tuple[Any, Any, Any]:
    """A compressed matrix's arrays, contiguous, with one index type."""
    return *_index_arrays(A, xp), xp.ascontiguousarray(A.data, dtype=dtype)


def _index_arrays(A: Any, xp: Any) -> tuple[Any, Any]:
    """The pointers and indices of a compressed matrix, contiguous, of one type."""
    if A.indptr.size != A.shape[0] + 1:
        raise ValueError(f"A.indptr must have {A.shape[0] + 1} entries, got {A.indptr.size}")
    if A.shape[0] == 0 and A.indices.size:
        raise ValueError(f"A.indices must be empty where A has no rows, got {A.indices.size} entries")
    if A.indices.size != A.data.size:
        raise ValueError(
            f"A.indices and A.data must have one length, got {A.indices.size} and {A.data.size} entries"
        )
    index = _index_dtype(A.indices.size, A.indptr.dtype, A.indices.dtype)
    return xp.ascontiguousarray(A.indptr, dtype=index), xp.ascontiguousarray(A.indices, dtype=index)


def _index_dtype(count: int, *dtypes: np.dtype) -> np.dtype:
    """The index type for so many entries, not narrower than the given ones."""
    wide = count > LARGEST_INT32_COUNT or any(np.dtype(dtype).itemsize > 4 for dtype in dtypes)
    return np.dtype(np.int64 if wide else np.int32)


def checked_csr(indptr: Any, indices: Any, data: Any) -> CSR:
    """Check CSR arrays that have one index type and a value type of ours, whoever made them."""
    backend = backend_of(data)
    scan = backend.matrix.entries.scan(indptr, indices, data)
    _raise_for(scan, indptr, indices, data, backend)
    if not scan.sorted:
        n = indptr.size - 1
        rows = backend.matrix.entries.rows_of(indptr, indices.size)
        indptr, indices, data = backend.matrix.entries.canonical(rows, indices, data, n, indices.dtype)
        return checked_csr(indptr, indices, data)
    if not scan.symmetric:  # its graph adds the transpose's entries
        index = _index_dtype(2 * indices.size, indices.dtype)
        indptr, indices = indptr.astype(index, copy=False), indices.astype(index, copy=False)
    scale = 1.0
    if not np.isfinite(2.0 * scan.total):  # twice: the graph of a nonsymmetric matrix adds its transpose
        scale = OVERFLOW_SCALE
        scan = backend.matrix.entries.scan(indptr, indices, data, scale)
    weights = scan.total, scan.adjacent
    return CSR(indptr, indices, data, scan.symmetric, *weights, scan.diagonal, scan.longest_row, scale)


def _raise_for(scan: Any, indptr: Any, indices: Any, data: Any, backend: Any, major: str = "row") -> None:
    """Turn what the scan found into an exception; `major` is what indptr runs over."""
    _raise_for_places(scan, indptr, indices, backend, major)
    if scan.first_nonfinite >= 0:
        slot = scan.first_nonfinite
        place = backend.matrix.entries.row_of(indptr, slot), int(indices[slot])
        row, column = place if major == "row" else reversed(place)
        raise ValueError(
            f"A must be finite, got {data[slot]} at (row, column) ({row}, {column}); "
            "replace or drop such entries first"
        )


def _raise_for_places(scan: Any, indptr: Any, indices: Any, backend: Any, major: str = "row") -> None:
    """The same for what is wrong with the index arrays."""
    if scan.first_bad_row >= 0:
        raise ValueError(
            f"A.indptr must rise from 0 to the number of stored entries ({indices.size}); "
            f"it does not at {major} {scan.first_bad_row}"
        )
    if scan.first_out_of_range >= 0:
        slot = scan.first_out_of_range
        raise ValueError(
            f"A.indices must lie in [0, {indptr.size - 1}), got {int(indices[slot])} "
            f"in {major} {backend.matrix.entries.row_of(indptr, slot)}"
        )
