"""`InversePart` holds the sparse rows of an approximate inverse, and multiplies with them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from linforest_precond.backends import OnBackend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.user_warnings import warn_user
from linforest_precond.backends.workspaces import Workspaces
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.approximate_inverse.functionals import Functionals, kaporin, least_squares
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.parts.number_types import held_bytes, stored_array
from linforest_precond.precond.parts.part import Repairs, happened, in_words
from linforest_precond.precond.parts.work_vectors import WorkVectors, apply_in_columns
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.record_schemas import columns_ascend, csr_arrays

# The most entries of a row, diagonal included: the GPU keeps the dense system of a row in shared memory.
MOST_ENTRIES = 64
NO_FACTOR_ANY_MORE = (
    "A must be Hermitian with a positive diagonal as that of the setup was; "
    'make a new preconditioner with method="auto"'
)

NAMES = {
    "fsai": "approximate inverse: FSAI, G^H G with a lower triangular G",
    "spai": "approximate inverse: SPAI, rows of least squares",
}


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
    return matrix.holds_in_all_rows(is_possible)


def rows_are_possible(fields: schema.Fields, names: schema.Names) -> schema.Checks:
    """Rows are not empty and not too long; those of a triangular factor end with a positive diagonal."""
    indptr, indices, data = fields["indptr"], fields["indices"], fields["data"]
    lengths, most, last = np.diff(indptr), fields["entries"], indptr[1:] - 1
    yield "indptr", f"give each row 1 to {most} entries", ((lengths >= 1) & (lengths <= most)).all()
    if fields["method"] == "fsai":
        on_diagonal = np.array_equal(indices[last], np.arange(lengths.size))
        yield "indices", "end each row with its diagonal", on_diagonal
        yield "data", "have a positive diagonal", (data[last].real > 0).all()


CSR = csr_arrays(below="n")


class ApproximateInverse:
    """What the parts on one device and over ranks share."""

    method: str
    dependent: int
    empty: int

    kind = "approximate_inverse"
    forest = ordering = bands = None
    coverage = 1.0

    @property
    def name(self) -> str:
        return NAMES[self.method]

    @property
    def repairs(self) -> Repairs:
        """The repairs of rows, by name."""
        name = "rows_not_definite" if self.method == "fsai" else "rows_dependent"
        return happened(**{name: self.dependent}, rows_of_identity=self.empty)

    @property
    def positive_definite(self) -> bool:
        return self.method == "fsai"

    def _details(self, entries: str) -> list[tuple[str, str]]:
        return [("entries", entries), ("repairs", in_words(self.repairs, self.positive_definite))]


@dataclass(frozen=True, eq=False)
class InversePart(ApproximateInverse, OnBackend, schema.Stored):
    """CSR arrays of the factor G of FSAI, or of the inverse M of SPAI."""

    method: Annotated[str, schema.one_of("fsai", "spai")]
    n: int
    indptr: Annotated[Array, CSR["indptr"]]
    indices: Annotated[Array, CSR["indices"]]
    data: Annotated[Array, CSR["data"]]
    entries: Annotated[int, schema.integer(1, MOST_ENTRIES)]
    tolerance: Annotated[float, schema.real(0.0, 1.0)]
    dependent: int  # rows of G with columns dropped as A is not definite; rows of M with dependent columns
    empty: int  # rows of M without entries, replaced by rows of the identity
    _vectors: Workspaces = field(default_factory=Workspaces, repr=False)
    # The transposed part, made on first use. `nbytes` counts neither it nor the work vectors.
    _mirror: dict[str, InversePart] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, csr: CheckedMatrix, stored: DType, method: str, entries: int, tolerance: float
    ) -> InversePart:
        """Find the pattern and the values; "fsai" needs a Hermitian matrix with a positive diagonal."""
        csr.backend.prefetch("approximate_inverse", csr, stored, method)
        (indptr, indices, data), report = _functionals(csr, method).grow(entries, tolerance)
        counts = counted(report, method)
        arrays = indptr, indices, stored_array(data, stored)
        return cls(method, csr.n, *arrays, entries, tolerance, *counts)._complete()

    @classmethod
    def from_state(cls, kind: str, **fields: Any) -> InversePart:
        return cls(**fields)._complete()

    def refreshed(self, csr: CheckedMatrix) -> InversePart:
        if self.method == "fsai" and not has_factor(LevelMatrix(csr)):
            raise ValueError(NO_FACTOR_ANY_MORE)
        data, report = _functionals(csr, self.method).refill(self.indptr, self.indices)
        dependent, empty = counted(report, self.method)
        return self._with(stored_array(data, self.stored), dependent=dependent, empty=empty)

    def damped(self, factor: float) -> InversePart:
        """The inverse times a positive factor."""
        own = math.sqrt(factor) if self.method == "fsai" else factor
        return self._with(self.data * self.stored.type(own))

    def _with(self, data: Array, **changes: Any) -> InversePart:
        return replace(self, data=data, _vectors=Workspaces(), _mirror={}, **changes)._complete()

    def _complete(self) -> InversePart:
        """This part, with the matrices of its products made on the stream of the setup."""
        _ = self.matrices
        return self

    @property
    def stored(self) -> DType:
        return self.data.dtype

    @cached_property
    def _adjoint(self) -> tuple[Array, Array, Array]:
        """The CSR arrays of G^H, by rows, so that its products have the speed of others."""
        indptr, indices, data = self.backend.matrix.entries.transposed(self.indptr, self.indices, self.data)
        return indptr, indices, data.conj()

    @cached_property
    def matrices(self) -> list[Any]:
        """The matrices that a product applies, one after the other."""
        make = self.backend.multigrid.vector_ops.Matrix
        first = make(self.indptr, self.indices, self.data, self.entries)
        return [first, make(*self._adjoint, None)] if self.method == "fsai" else [first]

    @property
    def transposed(self) -> InversePart:
        """The part of the transposed inverse; that of G^H G is its conjugate."""
        if self.method == "fsai" and self.stored.kind != "c":
            return self
        if "transposed" not in self._mirror:
            part = self._transposed()
            self.backend.runtime.streams.finish()  # stall: other streams may use it as soon as it is kept
            self._mirror["transposed"] = part
        return self._mirror["transposed"]

    def _transposed(self) -> InversePart:
        if self.method == "fsai":
            return self._with(self.data.conj())
        indptr, indices, data = self.backend.matrix.entries.transposed(self.indptr, self.indices, self.data)
        longest = int(self.backend.xp.diff(indptr).max()) if self.n else 0  # stall: once
        return self._with(data, indptr=indptr, indices=indices, entries=longest)

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        part = self.transposed if transpose else self
        apply_in_columns(part._vectors, self.backend, b, x, lambda columns: SparseProducts(part, columns))

    @property
    def nbytes(self) -> int:
        adjoint = self._adjoint if self.method == "fsai" else ()
        return held_bytes(self.indptr, self.indices, self.data, adjoint)

    def details(self) -> list[tuple[str, str]]:
        mean = self.data.size / max(self.n, 1)
        return self._details(f"{self.data.size:,}, {mean:.1f} per row, at most {self.entries}")


SCHEMA = schema.of_fields(
    InversePart,
    columns_ascend,
    rows_are_possible,
    kind=schema.one_of("approximate_inverse"),
    n=schema.size("n"),
)


def _functionals(csr: CheckedMatrix, method: str) -> Functionals:
    return kaporin(csr) if method == "fsai" else least_squares(csr)


def counted(report: Array, method: str) -> tuple[int, int]:
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


class SparseProducts(WorkVectors):
    """The product of all matrices of a part, the last one first, with this many columns."""

    def __init__(self, part: InversePart, columns: int) -> None:
        super().__init__(part.backend, part.n, columns, part.stored)
        self._matrices = part.matrices

    @cached_property
    def _between(self) -> Array:
        return self._vector()

    def _apply(self, b: Array, x: Array) -> None:
        first, *second = self._matrices
        self._ops.multiply(first, b, self._between if second else x)
        for matrix in second:
            self._ops.multiply(matrix, self._between, x)
