"""Sparse approximate inverses as preconditioners."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend, backend_of
from linforest_precond.backends.annotations import Array, DType, InverseMethod, MatrixLike, ScalingName
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.user_warnings import warn_user, without_numpy_warnings
from linforest_precond.backends.workspaces import Workspaces
from linforest_precond.matrix.checked import CSR
from linforest_precond.precond.approximate_inverse.functionals import Functionals, kaporin, least_squares
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.number_types import held_bytes, stored_array
from linforest_precond.precond.operators import Preconditioner
from linforest_precond.precond.part import part_of_kind
from linforest_precond.precond.repairs import Repairs, happened, in_words
from linforest_precond.precond.scaling.matrix_scaling import MatrixScaling
from linforest_precond.precond.setup import Setup
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.records import columns_ascend

METHODS = "auto", "fsai", "spai"
# Of a row, with the diagonal: the systems of rows are in shared memory on the GPU.
MOST_ENTRIES = 64
ENTRIES = 20
# Of entries with small gains, the later ones of SPAI pay more: orsirr_2 18 iterations instead of 80.
TOLERANCES = {"fsai": 1e-3, "spai": 1e-6}


@without_numpy_warnings
def approximate_inverse(
    A: MatrixLike,
    entries: int = ENTRIES,
    *,
    method: InverseMethod = "auto",
    tolerance: float | None = None,
    dtype: npt.DTypeLike | None = None,
    scaling: ScalingName | MatrixScaling | None = None,
) -> Preconditioner:
    """Approximate the inverse of A by a sparse matrix, or by a product of two: FSAI or SPAI.

    Nothing is solved when it is applied: one or two sparse products. Each row of it comes from a small dense
    system, and its pattern grows with the entries that promise the most.

    - FSAI, for a Hermitian A with a positive diagonal: M = G^H G with a lower triangular G that minimizes
      Kaporin's condition number of G A G^H, whose diagonal is 1. M is positive definite by construction.
      Where A is not, some rows of G have fewer entries, with a RuntimeWarning.
    - SPAI, for any other A: each row of M minimizes the norm of that row of I - M A, where columns of A are
      divided by the square roots of their norms. Terms of columns with more than 4096 entries (of shorter
      ones where A A^H would be large) count on the diagonal of the normal equations only. A row of M
      without entries becomes that of the identity, with a RuntimeWarning.

    Parameters
    ----------
    A : sparse matrix or dense array
        Square, of SciPy, NumPy or CuPy.
    entries : int
        Entries of a row of G or M at most, 1 to 64.
    method : {"auto", "fsai", "spai"}
        "auto" is FSAI where A is Hermitian with a positive diagonal, but for empty rows.
    tolerance : float, optional
        Entries are added to a row while one of them alone would lower its functional by more than this share:
        1e-3 by default for FSAI, 1e-6 for SPAI.
    dtype : dtype, optional
        The precision to store, A's own by default; the small systems are solved in double precision.
    scaling : None, "auto", "matching", "equilibrate", "jacobi" or MatrixScaling
        As for `tridiagonal`: set up for a scaled and permuted matrix, and still act on A itself.

    Returns
    -------
    Preconditioner
        A LinearOperator of A's library. Its `update` keeps the pattern of G or M.

    Notes
    -----
    Each round takes up to 5 entries: those of the largest ``|gradient|**2 / n_kk``, at least 0.3 times the
    round's largest, the lowest column first among equal ones, where n_kk is the diagonal of A for FSAI and of
    A A^H for SPAI. At most 512 candidates of a row are looked at, the first that are met. SPAI solves normal
    equations by Cholesky's method, as their matrix A A^H is sparse and shared by all rows, and leaves out
    columns that depend on those before them.

    Patterns grow as in Janna, Ferronato, Sartoretto & Gambolati, "FSAIPACK: a software package for
    high-performance factored sparse approximate inverse preconditioning" (2015), doi:10.1145/2629475, and in
    Grote & Huckle, "Parallel preconditioning with sparse approximate inverses" (1997),
    doi:10.1137/S1064827594276552.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> A = lf.matrices.poisson((30, 30))
    >>> M = lf.approximate_inverse(A)
    >>> history = lf.solvers.History()
    >>> x, info = lf.solvers.cg(A, np.ones(900), rtol=1e-8, M=M, history=history)
    >>> info, len(history) < 30
    (0, True)
    """
    entries = _checked_entries(entries)
    if tolerance is not None:
        tolerance = _checked_tolerance(tolerance)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    setup = Setup(A, dtype, scaling=scaling)
    chosen = method_for(LevelMatrix(setup.csr), method)
    least = TOLERANCES[chosen] if tolerance is None else tolerance
    return setup.operator(InversePart.of(setup.csr, setup.stored, chosen, entries, least))


def _checked_entries(entries: Any) -> int:
    entries = as_integer("entries", entries)
    if not 1 <= entries <= MOST_ENTRIES:
        raise ValueError(f"entries must lie in [1, {MOST_ENTRIES}], got {entries}")
    return entries


def _checked_tolerance(tolerance: Any) -> float:
    if not isinstance(tolerance, int | float | np.number) or not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must lie in [0, 1), got {tolerance!r}")
    return float(tolerance)


def method_for(matrix: LevelMatrix, method: str) -> str:
    if method == "spai":
        return method
    if has_factor(matrix):
        return "fsai"
    if method == "fsai":
        raise ValueError(
            'method="fsai" needs a Hermitian A with a positive diagonal, but for empty rows, got another; '
            'use "spai", or "auto"'
        )
    return "spai"


def has_factor(matrix: LevelMatrix) -> bool:
    """Whether A may be definite, but for empty rows and columns: those of G are then the identity's."""
    if matrix.definite or not matrix.n:
        return True
    if not matrix.hermitian or matrix.facts.smallest_diagonal > 0:
        return False
    is_possible = (matrix.csr.diagonal.real > 0) | (matrix.row_magnitudes == 0)
    return bool(is_possible.all())  # stall: decides the method


def rows_are_possible(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    """Rows are not empty and not too long; those of a triangular factor end with a positive diagonal."""
    indptr, indices, data = fields["indptr"], fields["indices"], fields["data"]
    lengths, most, last = np.diff(indptr), fields["entries"], indptr[1:] - 1
    yield "indptr", f"give each row 1 to {most} entries", ((lengths >= 1) & (lengths <= most)).all()
    if fields["method"] == "fsai":
        on_diagonal = np.array_equal(indices[last], np.arange(lengths.size))
        yield "indices", "end each row with its diagonal", on_diagonal
        yield "data", "have a positive diagonal", (data[last].real > 0).all()


SCHEMA = schema.FieldsSpec(
    {
        "kind": schema.OneOf("approximate_inverse"),
        "method": schema.OneOf("fsai", "spai"),
        "n": schema.Size("n"),
        **schema.csr_arrays("n", "nnz", below="n"),
        "entries": schema.Integer(1, MOST_ENTRIES),
        "tolerance": schema.Real(0.0, 1.0),
        "dependent": int,
        "empty": int,
    },
    columns_ascend,
    rows_are_possible,
)


@part_of_kind(approximate_inverse=SCHEMA)
@dataclass(frozen=True, eq=False)
class InversePart:
    """CSR arrays of the factor G of FSAI, or of the inverse M of SPAI."""

    method: str
    n: int
    indptr: Array
    indices: Array
    data: Array
    entries: int
    tolerance: float
    dependent: int  # rows of G that left out columns as A is not definite; rows of M with dependent columns
    empty: int  # rows of M that are those of the identity
    _vectors: Workspaces = field(default_factory=Workspaces, repr=False)
    # The transposed part once it was needed; as the work space, it does not count among the bytes held.
    _mirror: dict[str, InversePart] = field(default_factory=dict, repr=False)

    kind = "approximate_inverse"
    forest = ordering = bands = None
    coverage = 1.0

    @classmethod
    def of(cls, csr: CSR, stored: DType, method: str, entries: int, tolerance: float) -> InversePart:
        """Find the pattern and the values; "fsai" needs a Hermitian matrix with a positive diagonal."""
        (indptr, indices, data), report = _functionals(csr, method).grow(entries, tolerance)
        counts = _counted(report, method)
        arrays = indptr, indices, stored_array(data, stored)
        return cls(method, csr.n, *arrays, entries, tolerance, *counts)._complete()

    @classmethod
    def from_state(cls, kind: str, **fields: Any) -> InversePart:
        return cls(**fields)._complete()

    def state(self) -> dict[str, Any]:
        fields = {name: value for name, value in vars(self).items() if name in SCHEMA.fields}
        return {"kind": self.kind, **fields}

    def refreshed(self, csr: CSR) -> InversePart:
        if self.method == "fsai" and not has_factor(LevelMatrix(csr)):
            raise ValueError(
                "A must be Hermitian with a positive diagonal as that of the setup was; "
                'make a new preconditioner with method="auto"'
            )
        data, report = _functionals(csr, self.method).refill(self.indptr, self.indices)
        dependent, empty = _counted(report, self.method)
        return self._with(stored_array(data, self.stored), dependent=dependent, empty=empty)

    def damped(self, factor: float) -> InversePart:
        """The inverse times a positive factor."""
        own = math.sqrt(factor) if self.method == "fsai" else factor
        return self._with(self.data * self.stored.type(own))

    def _with(self, data: Array, **changes: Any) -> InversePart:
        return replace(self, data=data, _vectors=Workspaces(), _mirror={}, **changes)._complete()

    def _complete(self) -> InversePart:
        """The same with the matrices of its products made now, and not on one of several streams later."""
        _ = self._matrices
        return self

    @property
    def stored(self) -> DType:
        return self.data.dtype

    @property
    def _backend(self) -> Backend:
        return backend_of(self.data)

    @cached_property
    def _adjoint(self) -> tuple[Array, Array, Array]:
        """The CSR arrays of G^H, by rows, so that its products have the speed of others."""
        indptr, indices, data = self._backend.matrix.entries.transposed(self.indptr, self.indices, self.data)
        return indptr, indices, data.conj()

    @cached_property
    def _matrices(self) -> list[Any]:
        """The matrices that a product applies, one after the other."""
        make = self._backend.multigrid.vector_ops.Matrix
        first = make(self.indptr, self.indices, self.data, self.entries)
        return [first, make(*self._adjoint, None)] if self.method == "fsai" else [first]

    @property
    def transposed(self) -> InversePart:
        """The part of the transposed inverse; that of G^H G is its conjugate."""
        if self.method == "fsai" and self.stored.kind != "c":
            return self
        if "transposed" not in self._mirror:
            part = self._transposed()
            self._backend.runtime.streams.finish()  # stall: other streams may use it as soon as it is kept
            self._mirror["transposed"] = part
        return self._mirror["transposed"]

    def _transposed(self) -> InversePart:
        if self.method == "fsai":
            return self._with(self.data.conj())
        indptr, indices, data = self._backend.matrix.entries.transposed(self.indptr, self.indices, self.data)
        longest = int(self._backend.xp.diff(indptr).max()) if self.n else 0  # stall: once
        return self._with(data, indptr=indptr, indices=indices, entries=longest)

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        part = self.transposed if transpose else self
        most = self._backend.multigrid.vector_ops.MOST_COLUMNS
        for first in range(0, b.shape[1], most):
            part._multiply(b[:, first : first + most], x[:, first : first + most])

    def _multiply(self, b: Array, x: Array) -> None:
        columns = b.shape[1]
        key = columns, self._backend.runtime.streams.current()
        loan = self._vectors.take(key, lambda: _Vectors(self.n, columns, self.stored, self._backend))
        loan.workspace.multiply(self._matrices, b, x)
        self._vectors.give_back(loan)

    @property
    def nbytes(self) -> int:
        adjoint = self._adjoint if self.method == "fsai" else ()
        return held_bytes(self.indptr, self.indices, self.data, adjoint)

    @property
    def name(self) -> str:
        if self.method == "fsai":
            return "approximate inverse: FSAI, G^H G with a lower triangular G"
        return "approximate inverse: SPAI, rows of least squares"

    @property
    def repairs(self) -> Repairs:
        dependent = "rows_not_definite" if self.method == "fsai" else "rows_dependent"
        return happened(**{dependent: self.dependent}, rows_of_identity=self.empty)

    @property
    def positive_definite(self) -> bool:
        return self.method == "fsai"

    def described(self) -> list[tuple[str, str]]:
        mean = self.data.size / max(self.n, 1)
        return [
            ("entries", f"{self.data.size:,}, {mean:.1f} per row, at most {self.entries}"),
            ("repairs", in_words(self.repairs, self.positive_definite)),
        ]


def _functionals(csr: CSR, method: str) -> Functionals:
    return kaporin(csr) if method == "fsai" else least_squares(csr)


def _counted(report: Array, method: str) -> tuple[int, int]:
    """The counts of dependent and empty rows, with a warning where they matter."""
    dependent, empty = (int(count) for count in report.tolist())  # stall: reported to the user
    if dependent and method == "fsai":
        warn_user(
            f"A is not positive definite: {dependent} rows of its approximate inverse have fewer entries; "
            'method="spai" with bicgstab may do better'
        )
    if empty:
        warn_user(f"{empty} rows of the approximate inverse have become those of the identity: A is singular")
    return dependent, empty


class _Vectors:
    """The vectors of one product with this many columns."""

    def __init__(self, n: int, columns: int, dtype: DType, backend: Backend):
        self._shape, self._dtype, self._backend = (n, columns), dtype, backend
        self._made: dict[str, Array] = {}

    def _vector(self, name: str) -> Array:
        if name not in self._made:
            self._made[name] = self._backend.xp.empty(self._shape, self._dtype)
        return self._made[name]

    def _fits(self, vector: Array) -> bool:
        return bool(vector.dtype == self._dtype and vector.flags.c_contiguous)

    def multiply(self, matrices: list[Any], b: Array, x: Array) -> None:
        """x = the product of all matrices, the last one first, with b; of any strides and precision."""
        ops = self._backend.multigrid.vector_ops
        result, source = x if self._fits(x) else self._vector("x"), b
        if not self._fits(b):
            source = self._vector("b")
            ops.copy(b, source)
        for place, matrix in enumerate(matrices):
            target = result if place == len(matrices) - 1 else self._vector("middle")
            ops.multiply(matrix, source, target)
            source = target
        if result is not x:
            ops.copy(result, x)
