"""The one door for matrices: a user's A becomes a `CheckedMatrix`, or an exception is raised.

Every public function begins with ``A = checked(A)``, which returns a checked matrix as it is; nothing below
checks a matrix again. Functions that read no values, or values of any type, begin with `as_pattern`,
`as_csgraph`, `as_weighted_graph`, `as_mapped_graph` or `as_stored`. The user's matrix is never modified.
`conversion` gives CSR arrays of any format, `checks` words the exceptions.

Matrices that the package computes itself (Galerkin products, transposes, graphs of computed weights) have
index arrays that are valid and sorted by construction: `described` gives their record.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend, OnBackend, backend_of, is_on
from linforest_precond.backends.annotations import Array, DType, MatrixLike
from linforest_precond.backends.returns import EntryScan, PatternScan, RowFacts
from linforest_precond.matrix.checks import (
    as_numbers,
    check_entries,
    check_indices,
    check_lengths,
    value_dtype,
)
from linforest_precond.matrix.conversion import (
    LARGEST_INT32_COUNT,
    as_square_matrix,
    canonical_csr,
    csr_arrays,
    index_arrays,
    index_dtype,
    is_csr,
    pattern_arrays,
    pattern_triplets,
    stored_entries,
)
from linforest_precond.matrix.graphs import (
    Graph,
    Pattern,
    pattern_from_scan,
    symmetrized_pattern,
    unit_graph,
)
from linforest_precond.matrix.value_range import NO_EXPONENT, exponent_of, is_nonzero

# A sum of any number of magnitudes, each scaled by this factor, does not overflow in float64.
OVERFLOW_SCALE = 2.0**-128
# A row sums to zero if its sum is at most this multiple of the sum of its magnitudes' rounding error.
ZERO_SUM = 16


@dataclass(frozen=True, eq=False)
class CheckedMatrix(OnBackend):
    """A checked square matrix: finite, columns strictly increasing in each row.

    Attributes
    ----------
    indptr, indices, data
        The three CSR arrays. `data` are the user's own where they are sorted; `indices` may be on the GPU,
        where the kernels that follow them check them.
    symmetric
        Whether the magnitudes ``|A|`` are symmetric.
    total_weight
        The sum of the off-diagonal magnitudes, times `scale`.
    adjacent_weight
        The part of `total_weight` on the sub- and superdiagonal.
    diagonal
        The diagonal, 0 where nothing is stored.
    longest_row
        Stored entries of the longest row.
    scale
        A power of two: 1, or less where the sum would overflow.
    exponent
        The binary exponent e of the largest magnitude m, ``2**(e - 1) <= m < 2**e``; None where that is
        subnormal or 0, and for matrices from files.
    given
        The user's own matrix, as it was given; None for matrices that the package computed.
    to_rounding
        Whether the user's matrix is Hermitian to rounding, and not exactly. `data` are then a copy, in which
        each entry below the diagonal is the conjugate of its mirror image.
    """

    indptr: Array
    indices: Array
    data: Array
    symmetric: bool
    total_weight: float
    adjacent_weight: float
    diagonal: Array
    longest_row: int
    scale: float = 1.0
    exponent: int | None = field(default=None, metadata={"packed": False})
    given: Any = field(default=None, repr=False, metadata={"packed": False})
    to_rounding: bool = field(default=False, metadata={"packed": False})

    @property
    def n(self) -> int:
        return self.indptr.size - 1

    @property
    def nnz(self) -> int:
        return self.indices.size

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n

    @property
    def dtype(self) -> DType:
        return self.data.dtype

    @property
    def format(self) -> str:
        return "csr"

    def tocsr(self) -> Any:
        """The user's own matrix in CSR."""
        return self.given.tocsr()

    def tocoo(self) -> Any:
        """The user's own matrix in coordinate format."""
        return self.given.tocoo()

    def __matmul__(self, x: Any) -> Any:
        """The product of the user's own matrix."""
        return self.given @ x

    def detached(self) -> CheckedMatrix:
        """The arrays alone, for objects that outlive a setup: no reference to the user's matrix, no graph."""
        return replace(self, given=None)

    @cached_property
    def graph(self) -> Graph:
        """The undirected graph: magnitudes without the diagonal, made symmetric.

        The magnitudes of a symmetric real matrix are not stored: the graph refers to the matrix's own values.
        """
        entries = self.backend.matrix.entries
        real = self.data.dtype.kind != "c"
        values = self.data if real else entries.magnitudes(self.data)
        if self.symmetric:
            return Graph(
                self.indptr, self.indices, values, self.total_weight, self.scale, self.longest_row, True, real
            )
        indptr, indices, values, same_pattern = entries.symmetrized(self.indptr, self.indices, values)
        # stall: one number, where the pattern was not symmetric
        longest = self.longest_row if same_pattern else int((indptr[1:] - indptr[:-1]).max())
        return Graph(
            indptr, indices, values, 2.0 * self.total_weight, self.scale, longest, same_pattern, False
        )

    @cached_property
    def directed_pattern(self) -> Pattern:
        """The stored entries as directed edges."""
        scan = self.backend.matrix.pattern_scan.scan_pattern(self.indptr, self.indices)
        return pattern_from_scan(self.indptr, self.indices, scan)

    @cached_property
    def pattern(self) -> Pattern:
        """The pattern of A + A^T."""
        return symmetrized_pattern(self.directed_pattern)

    @cached_property
    def facts(self) -> RowFacts:
        """What the rows show; rows that sum to zero do so up to rounding."""
        limits = np.finfo(self.data.dtype)
        strength = self.backend.multigrid.strength
        return strength.row_facts(self, ZERO_SUM * float(limits.eps), float(limits.tiny))

    @property
    def hermitian(self) -> bool:
        """Whether A is Hermitian; `to_rounding` where it is not so exactly."""
        return self.facts.hermitian

    @property
    def rounding_in_words(self) -> str:
        """For print: that A is Hermitian to rounding; empty where it is exactly, or not at all."""
        return rounding_in_words(self.data.dtype) if self.to_rounding else ""

    @property
    def definite(self) -> bool:
        """Whether A may be positive definite: Hermitian with a positive diagonal."""
        return self.hermitian and self.n > 0 and self.facts.positive

    @property
    def centered(self) -> bool:
        """Whether A is Hermitian and maps constants to 0, up to rounding."""
        return self.hermitian and self.n > 1 and self.facts.centered

    @cached_property
    def largest_exponent(self) -> int:
        """`exponent`, also where the largest magnitude is subnormal; `NO_EXPONENT` for zeros."""
        return exponent_of(self.data) if self.exponent is None else self.exponent

    def exponent_outside(self, low: int, high: int) -> int | None:
        """The exponent of the largest entry where it is below `low` or above `high`, None elsewhere."""
        found = self.largest_exponent
        return None if low <= found <= high or found == NO_EXPONENT else found


def rounding_in_words(dtype: DType) -> str:
    """For print: that a matrix of this type is Hermitian to rounding."""
    return f"{'Hermitian' if dtype.kind == 'c' else 'symmetric'} to rounding"


def checked(A: MatrixLike | CheckedMatrix, name: str = "A", *, shared: bool = False) -> CheckedMatrix:
    """Check a sparse or dense square matrix; a checked one is returned as it is.

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
        transpose together may have too many entries for them. Where A is Hermitian to rounding, the values
        are a copy that is exactly Hermitian; see `CheckedMatrix.to_rounding`.

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
    >>> from linforest_precond.matrix.checked import checked
    >>> csr = checked(np.array([[2, -1], [-1, 2]]))
    >>> csr.n, csr.nnz, csr.symmetric, csr.data.dtype.name
    (2, 4, True, 'float64')
    """
    return A if isinstance(A, CheckedMatrix) else _without_rounding(_as_given(A, name, shared))


def _as_given(A: MatrixLike, name: str, shared: bool = False) -> CheckedMatrix:
    """A checked, with the user's values as they are."""
    matrix, backend = as_square_matrix(A, name)
    dtype = value_dtype(name, matrix.dtype)
    return _checked_csr(*csr_arrays(matrix, dtype, backend, name, shared), backend, name, matrix)


def _without_rounding(csr: CheckedMatrix) -> CheckedMatrix:
    """A user's matrix; where it is Hermitian to rounding, and not exactly, with values that are Hermitian.

    `hermitian` of the CPU backend states the rule. A real matrix is compared with its transpose only where
    the magnitudes differ, a complex one always; integers have no rounding errors.
    """
    is_complex = csr.data.dtype.kind == "c"
    if csr.given.dtype.kind not in "fc" or (csr.symmetric and not is_complex):
        return csr
    room = csr.backend.matrix.hermitian
    data = room.values_without_rounding(csr.indptr, csr.indices, csr.data, csr.diagonal)
    if data is None:
        return csr
    diagonal = csr.diagonal.real.astype(data.dtype) if is_complex else csr.diagonal
    return replace(csr, data=data, diagonal=diagonal, symmetric=True, to_rounding=True)


def described(indptr: Array, indices: Array, data: Array) -> CheckedMatrix:
    """The record of CSR arrays whose columns strictly increase in each row.

    Index arrays are not checked.

    Parameters
    ----------
    indptr, indices, data
        CSR arrays of a square matrix on one device, with one index type and one of the four value types.

    Raises
    ------
    ValueError
        If an entry overflowed while it was computed: the entries of A are finite, sums of them need not be.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.matrix.checked import described
    >>> csr = described(np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([2.0, -1.0, -1.0]))
    >>> csr.symmetric, csr.total_weight, csr.diagonal.tolist(), csr.longest_row
    (True, 2.0, [2.0, 0.0], 2)
    """
    backend = backend_of(data)
    scan = backend.matrix.entries.scan(indptr, indices, data)
    if scan.first_nonfinite >= 0:
        raise ValueError(
            "A's entries differ too much in size, scale its rows and columns: a matrix computed from it "
            f"overflowed, got {data[scan.first_nonfinite]}"
        )
    return _from_scan(indptr, indices, data, scan, backend)


def as_csgraph(A: MatrixLike | CheckedMatrix, name: str = "A") -> CheckedMatrix:
    """Give a weighted graph as SciPy's csgraph reads it: stored entries are edges, weights keep their sign.

    Takes what `checked` takes, with real values. Explicit zeros are edges of weight 0. Of a dense array, the
    entries that are neither zero nor NaN nor infinite are edges.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.matrix.checked import as_csgraph
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
    return A if isinstance(A, CheckedMatrix) else _as_given(matrix, name)


def as_weighted_graph(A: MatrixLike | CheckedMatrix, weights: str | npt.ArrayLike = "magnitude") -> Graph:
    """Give the undirected graph of a matrix with magnitudes, ones or given numbers as weights.

    Parameters
    ----------
    A : sparse matrix, array or dense 2-D array
        Square, of SciPy, NumPy or CuPy.
    weights : {"magnitude", "pattern"} or 1-D array
        Magnitudes, as in `CheckedMatrix.graph`; 1 for every edge; or numbers that replace the values of A's
        stored entries, in stored order (row by row for a dense array). A's own values are then not read.

    Raises
    ------
    TypeError, ValueError
        As `checked`, and for weights of another length, negative, infinite or NaN ones, and those on another
        device than A.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.matrix.checked import as_weighted_graph
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
    >>> from linforest_precond.matrix.checked import as_mapped_graph
    >>> A = sp.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))
    >>> graph = as_mapped_graph(A)
    >>> np.shares_memory(graph.indices, A.indices), np.shares_memory(graph.values, A.data)
    (True, True)
    """
    matrix, backend = as_square_matrix(A)
    if not backend.maps_files or not is_csr(matrix):
        return checked(A).graph
    check_lengths(matrix, "A")
    # Views: arrays of a mapped file are of a class of their own. The row pointers are a copy.
    indptr, indices, data = np.array(matrix.indptr), np.asarray(matrix.indices), np.asarray(matrix.data)
    if not _is_mappable(indptr, indices, data):
        return checked(A).graph
    scan = backend.matrix.entries.scan(indptr, indices, data)
    check_entries(scan, indptr, indices, data, backend, "A")
    csr = _from_scan(indptr, indices, data, scan, backend)
    return (csr if scan.sorted and csr.symmetric else checked(A)).graph


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
        As `checked`, and for a pattern that is not symmetric in `symmetric_mode`.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.matrix.checked import as_pattern
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
    >>> from linforest_precond.matrix.checked import as_stored
    >>> as_stored([[1, 2], [3, 4]]).dtype.kind
    'i'
    """
    matrix, backend = as_square_matrix(A)
    if isinstance(matrix, backend.xp.ndarray):
        return matrix
    major = {"csr": "row", "csc": "column"}.get(matrix.format)
    if major is None:
        rows, cols, values = stored_entries(matrix, backend.xp)
        values = as_numbers(values)
        summed = backend.sparse.coo_matrix((values, (rows, cols)), shape=matrix.shape).tocsr()
        return backend.matrix.entries.rows_of(summed.indptr, summed.indices.size), summed.indices, summed.data
    indptr, indices = index_arrays(matrix, backend)
    scan = backend.matrix.pattern_scan.scan_pattern(indptr, indices)
    check_indices(scan, indptr, indices, backend, major=major)
    majors = backend.matrix.entries.rows_of(indptr, indices.size)
    values = as_numbers(matrix.data)
    return (majors, indices, values) if major == "row" else (indices, majors, values)


def _checked_csr(
    indptr: Array, indices: Array, data: Array, backend: Backend, name: str = "A", given: Any = None
) -> CheckedMatrix:
    """Check CSR arrays of a user, of one index type and a supported value type; sort them if needed."""
    scan = backend.matrix.entries.scan(indptr, indices, data)
    check_entries(scan, indptr, indices, data, backend, name)
    if scan.sorted:
        return _from_scan(indptr, indices, data, scan, backend, given)
    rows = backend.matrix.entries.rows_of(indptr, indices.size)
    # Checked again: the sum of duplicates may overflow.
    arrays = canonical_csr(rows, indices, data, indptr.size - 1, indices.dtype, backend)
    return _checked_csr(*arrays, backend, name, given)


def _from_scan(
    indptr: Array, indices: Array, data: Array, scan: EntryScan, backend: Backend, given: Any = None
) -> CheckedMatrix:
    """The record of sorted, finite CSR arrays with the properties that a scan of them found."""
    if not scan.symmetric:  # the graph of a nonsymmetric matrix also has the entries of its transpose
        index = index_dtype(2 * indices.size, indices.dtype)
        indptr, indices = indptr.astype(index, copy=False), indices.astype(index, copy=False)
    scale = 1.0
    if not np.isfinite(2.0 * scan.total):  # twice: the weight of |A| + |A|^T
        scale = OVERFLOW_SCALE
        scan = backend.matrix.entries.scan(indptr, indices, data, scale)
    return CheckedMatrix(
        indptr,
        indices,
        data,
        symmetric=scan.symmetric,
        total_weight=scan.total,
        adjacent_weight=scan.adjacent,
        diagonal=scan.diagonal,
        longest_row=scan.longest_row,
        scale=scale,
        exponent=scan.biased_exponent + np.finfo(data.dtype).minexp if scan.biased_exponent else None,
        given=given,
    )


def _checked_pattern(A: MatrixLike) -> Pattern:
    """The directed pattern of a user's matrix, whatever its values are: sorted, without duplicates."""
    matrix, backend = as_square_matrix(A)
    if matrix.shape[0] > LARGEST_INT32_COUNT:
        raise ValueError(f"A must have at most {LARGEST_INT32_COUNT} rows, got {matrix.shape[0]}")
    return pattern_from_scan(*_sorted_pattern(*pattern_arrays(matrix, backend), backend))


def _sorted_pattern(indptr: Array, indices: Array, backend: Backend) -> tuple[Array, Array, PatternScan]:
    """A pattern with sorted columns and no duplicates, and what a scan found in it."""
    scan = backend.matrix.pattern_scan.scan_pattern(indptr, indices)
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
        return described(A.indptr, A.indices, _checked_weights(weights, A.nnz, A.backend))
    matrix, backend = as_square_matrix(A)
    if is_csr(matrix):
        indptr, indices = index_arrays(matrix, backend)
        return _checked_csr(indptr, indices, _checked_weights(weights, indices.size, backend), backend)
    rows, cols, index = pattern_triplets(matrix, backend)
    weights = _checked_weights(weights, rows.size, backend)
    return _checked_csr(*canonical_csr(rows, cols, weights, matrix.shape[0], index, backend), backend)


def _checked_weights(weights: Any, count: int, backend: Backend) -> Array:
    """`count` nonnegative finite numbers on the backend's device."""
    xp = backend.xp
    if hasattr(weights, "dtype") and not is_on(weights, backend):
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
