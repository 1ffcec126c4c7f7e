"""`checked` turns a user's matrix into a `CheckedMatrix`, or raises an exception.

Every public function begins with ``A = checked(A)``, which returns a checked matrix as it is; nothing below
checks a matrix again. `doors` has those for functions that read no values, or values of any type. The user's
matrix is never modified. `conversion` gives CSR arrays of any format, `checks` words the exceptions.

Matrices that the package computes itself (Galerkin products, transposes, graphs of computed weights) have
index arrays that are valid and sorted by construction: `described` gives their record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend, OnBackend, backend_named, backend_of
from linforest_precond.backends.annotations import Array, DType, MatrixLike
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.flags import all_set
from linforest_precond.backends.returns import EntryScan, RowFacts
from linforest_precond.matrix.checks import check_entries, value_dtype
from linforest_precond.matrix.conversion import as_square_matrix, canonical_csr, csr_arrays, index_dtype
from linforest_precond.matrix.graphs import (
    Begun,
    Graph,
    Pattern,
    expected_graph,
    pattern_from_scan,
    symmetrized_pattern,
)
from linforest_precond.matrix.pattern_digest import PatternDigest, pattern_digest
from linforest_precond.matrix.value_range import NO_EXPONENT, exponent_of, nonzero_entries

# A sum of any number of magnitudes, each scaled by this factor, does not overflow in float64.
OVERFLOW_SCALE = 2.0**-128
# A row sums to zero if its sum is at most this multiple of the unit roundoff of its sum of magnitudes.
ZERO_SUM = 16

# Launches work on the expected graph before the check is read. The second argument is the device's report.
Begin: TypeAlias = Callable[[Graph, Any], Begun]


@dataclass(frozen=True, eq=False)
class CheckedMatrix(OnBackend):
    """A checked square matrix: finite, columns strictly increasing in each row.

    `total_weight` is the sum of the off-diagonal magnitudes, and `adjacent_weight` its part on the sub- and
    superdiagonal; both times `scale`, a power of two that is 1, or less where the sum would overflow.
    `given_data` are the user's own values where `to_rounding`: residuals are of the user's matrix.
    """

    indptr: Array
    indices: Array  # on the GPU maybe A's own, unchecked until kernels read them
    data: Array  # the user's own where they are sorted; Hermitian copies where `to_rounding`
    symmetric: bool  # whether |A| is
    total_weight: float
    adjacent_weight: float
    diagonal: Array  # 0 where nothing is stored
    longest_row: int  # stored entries of the longest row
    scale: float = 1.0
    exponent: int | None = field(default=None, metadata={"packed": False})
    given: Any = field(default=None, repr=False, metadata={"packed": False})
    to_rounding: bool = field(default=False, metadata={"packed": False})
    given_data: Array | None = field(default=None, repr=False, metadata={"packed": False})
    begun: Begun | None = field(default=None, repr=False, metadata={"packed": False})

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
        """The product by A's library. The user's own matrix may have a type that it cannot multiply."""
        return self.backend.sparse.csr_matrix((self.data, self.indices, self.indptr), shape=self.shape) @ x

    def operand(self, data: Array | None = None) -> Any:
        """The matrix, by default with its own values, as the backend's vector operations take it."""
        values = self.data if data is None else data
        return self.backend.multigrid.vector_ops.Matrix(self.indptr, self.indices, values, self.longest_row)

    def detached(self) -> CheckedMatrix:
        """The arrays alone, for objects that outlive a setup: no reference to the user's matrix, no graph."""
        return replace(self, given=None, given_data=None, begun=None)

    @cached_property
    def graph(self) -> Graph:
        """The undirected graph: magnitudes without the diagonal, made symmetric.

        The magnitudes of a symmetric real matrix are not stored: the graph refers to the matrix's own values.
        """
        entries = self.backend.matrix.entries
        real = self.data.dtype.kind != "c"
        values = self.data if real else entries.magnitudes(self.data)
        if self.symmetric:
            numbers = self.total_weight, self.scale, self.longest_row
            return Graph(self.indptr, self.indices, values, *numbers, True, real, self.begun)
        indptr, indices, values, same_pattern = entries.symmetrized(self.indptr, self.indices, values)
        # stall: one number, where the pattern was not symmetric
        longest = self.longest_row if same_pattern else int((indptr[1:] - indptr[:-1]).max())
        return Graph(
            indptr, indices, values, 2.0 * self.total_weight, self.scale, longest, same_pattern, False
        )

    @cached_property
    def directed_pattern(self) -> Pattern:
        """The stored entries as directed edges."""
        scan = self.backend.matrix.patterns.scan_pattern(self.indptr, self.indices)
        return pattern_from_scan(self.indptr, self.indices, scan)

    @cached_property
    def pattern(self) -> Pattern:
        """The pattern of A + A^T."""
        return symmetrized_pattern(self.directed_pattern)

    @cached_property
    def digest(self) -> PatternDigest:
        """The pattern of the user's own matrix, by which `update` recognizes another one."""
        return pattern_digest(self.given)

    @cached_property
    def facts(self) -> RowFacts:
        """Facts of the rows: symmetry, signs, dominance; rows sum to zero up to rounding."""
        limits = np.finfo(self.data.dtype)
        strength = self.backend.multigrid.strength
        return strength.row_facts(self, ZERO_SUM * float(limits.eps), float(limits.tiny))

    @property
    def hermitian(self) -> bool:
        """Whether A is Hermitian; `to_rounding` where it is not so exactly."""
        return self.facts.hermitian

    @property
    def rounding_in_words(self) -> str:
        """The words "Hermitian to rounding" for print; empty where A is exactly Hermitian, or not at all."""
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

    @cached_property
    def matched_columns(self) -> npt.NDArray[np.int64]:
        """On the host, a column for each row, in a largest matching of rows and columns with entries that are
        not 0; -1 for rows that are left over."""
        matching = backend_named("cpu").matching.maximum_matching
        # stall: matched on the host
        indptr, indices, nonzero = (on_host(array) for array in (self.indptr, self.indices, self.data != 0))
        columns: npt.NDArray[np.int64] = matching.matched_columns(indptr, indices, nonzero)
        return columns

    @cached_property
    def log_maxima(self) -> tuple[Array, Array, Array]:
        """Fixed-point logarithms of the largest entries of rows and columns, and of the diagonal, 64-bit."""
        logs, magnitudes = self.backend.matrix.log_scaling, self.backend.matrix.entries.magnitudes
        weights = logs.fixed_logarithms(magnitudes(self.data))
        diagonal = logs.fixed_logarithms(magnitudes(self.diagonal)).astype(np.int64)
        rows, columns = logs.maxima(self.indptr, self.indices, weights)
        return rows, columns, diagonal - 4 * (2**31) * (diagonal == logs.NO_WEIGHT)

    @cached_property
    def zero_rows(self) -> Array:
        """The rows whose entries are all 0, or that have none; entries are read where diagonal ones are 0."""
        xp = self.backend.xp
        if all_set(self.diagonal != 0):  # stall: one flag, which CuPy also clears for subnormal numbers
            return xp.empty(0, np.int64)
        before = xp.zeros(self.nnz + 1, np.int64)
        before[1:] = xp.cumsum(nonzero_entries(self.data))
        return xp.flatnonzero(before[self.indptr[1:]] == before[self.indptr[:-1]])

    def exponent_outside(self, low: int, high: int) -> int | None:
        """The exponent of the largest entry where it is below `low` or above `high`, None elsewhere."""
        found = self.largest_exponent
        return None if low <= found <= high or found == NO_EXPONENT else found


def rounding_in_words(dtype: DType) -> str:
    """The words for print about a matrix of this type that is Hermitian to rounding."""
    return f"{'Hermitian' if dtype.kind == 'c' else 'symmetric'} to rounding"


def checked(
    A: MatrixLike | CheckedMatrix, name: str = "A", *, shared: bool = False, begin: Begin | None = None
) -> CheckedMatrix:
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
    begin : callable, optional
        Launches work on A's graph that the device does while the host waits for the check; what it returns is
        in `Graph.begun` where A is as expected: real, valid, sorted, symmetric, without long rows.

    Returns
    -------
    CheckedMatrix
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
    return A if isinstance(A, CheckedMatrix) else _without_rounding(checked_as_given(A, name, shared, begin))


def checked_as_given(
    A: MatrixLike, name: str, shared: bool = False, begin: Begin | None = None
) -> CheckedMatrix:
    """A checked, with the user's values as they are."""
    matrix, backend = as_square_matrix(A, name)
    dtype = value_dtype(name, matrix.dtype)
    return checked_csr(*csr_arrays(matrix, dtype, backend, name, shared), backend, name, matrix, begin)


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
    return replace(csr, data=data, diagonal=diagonal, symmetric=True, to_rounding=True, given_data=csr.data)


def described(indptr: Array, indices: Array, data: Array) -> CheckedMatrix:
    """The record of CSR arrays whose columns strictly increase in each row.

    Index arrays are not checked. ValueError where an entry overflowed while it was computed.

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
    return from_scan(indptr, indices, data, scan, backend)


def checked_csr(
    indptr: Array,
    indices: Array,
    data: Array,
    backend: Backend,
    name: str = "A",
    given: Any = None,
    begin: Begin | None = None,
) -> CheckedMatrix:
    """Check CSR arrays of a user, of one index type and a supported value type; sort them if needed."""
    meanwhile = None
    if begin is not None and data.dtype.kind != "c":
        meanwhile = partial(begin, expected_graph(indptr, indices, data))
    scan = backend.matrix.entries.scan(indptr, indices, data, meanwhile=meanwhile)
    check_entries(scan, indptr, indices, data, backend, name)
    if scan.sorted:
        return from_scan(indptr, indices, data, scan, backend, given)
    # The scan has ended before the entries, which are now read in order: the sum of duplicates may overflow.
    rows = backend.matrix.entries.rows_of(indptr, indices.size)
    arrays = canonical_csr(rows, indices, data, indptr.size - 1, indices.dtype, backend)
    return checked_csr(*arrays, backend, name, given)


def from_scan(
    indptr: Array,
    indices: Array,
    data: Array,
    scan: EntryScan,
    backend: Backend,
    given: Any = None,
) -> CheckedMatrix:
    """The record of sorted, finite CSR arrays with the properties that a scan of them found."""
    if not scan.symmetric:  # the graph of a nonsymmetric matrix also has the entries of its transpose
        index = index_dtype(2 * indices.size, indices.dtype)
        indptr, indices = indptr.astype(index, copy=False), indices.astype(index, copy=False)
    begun, scale = scan.begun, 1.0
    if begun is not None and not (scan.symmetric and scan.longest_row <= begun.longest_row):
        begun = None
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
        begun=begun,
    )
