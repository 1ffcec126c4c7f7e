"""The part of approximate inverses over ranks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.distributed.approximate_inverse.neighborhood import RankFunctionals
from linforest_precond.distributed.multigrid.level_matrix import RankLevelMatrix
from linforest_precond.distributed.multigrid.rectangles import RankRectangle, RankRows, in_ascending_order
from linforest_precond.distributed.partition import host
from linforest_precond.distributed.partition.entries import adjoint_of, transpose_of
from linforest_precond.distributed.partition.matrix import Matrix, csr_of_rows, scaled_into_range, with_values
from linforest_precond.distributed.tridiagonal.preconditioner_parts import Traffic
from linforest_precond.matrix.rectangles import RectangularCSR, kept
from linforest_precond.precond.approximate_inverse.functionals import longest_column
from linforest_precond.precond.approximate_inverse.inverse_part import (
    NO_FACTOR_ANY_MORE,
    ApproximateInverse,
    counted,
    has_factor,
)
from linforest_precond.precond.parts.number_types import held_bytes, stored_array

row_squares, rows_of = host.approximate_inverse.row_systems.row_squares, host.matrix.entries.rows_of


@dataclass(frozen=True, eq=False)
class RankInversePart(ApproximateInverse):
    """Own rows of the factor G of FSAI and of G^H, or of the inverse M of SPAI."""

    method: str
    matrices: tuple[Matrix, ...]  # a product applies one after the other
    entries: int
    dependent: int  # rows of all ranks
    empty: int  # rows of all ranks
    traffic: Traffic
    # The transposed matrices, made on first use.
    _transposed: list[tuple[Matrix, ...]] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, A: Matrix, stored: DType, method: str, entries: int, tolerance: float) -> RankInversePart:
        """Find the pattern and the values: collective; "fsai" needs `has_factor`."""
        functionals, scales = functionals_of(A, method)
        (indptr, columns, data), flags = functionals.grow(entries, tolerance)
        values = stored_array(_scaled(indptr, data, scales), stored)
        rows = scipy.sparse.csr_array((values, columns, indptr), shape=(A.n_local, A.shape[0]))
        return cls._made(method, Matrix(rows, A.comm), entries, flags)

    @classmethod
    def _made(cls, method: str, rows: Matrix, entries: int, flags: Array) -> RankInversePart:
        comm = rows.comm
        report = comm.allreduce(flags.sum(axis=0, dtype=np.int64))
        dependent, empty = counted(report, method) if comm.rank == 0 else report.tolist()
        matrices = (rows, adjoint_of(rows)) if method == "fsai" else (rows,)
        messages = sum(each.halo.rows_sent * each.dtype.itemsize for each in matrices)
        traffic = Traffic.of(comm, _bytes_of(matrices), messages)
        return cls(method, matrices, entries, dependent, empty, traffic)

    def refreshed(self, A: Matrix) -> tuple[RankInversePart, int]:
        """The values of A 2**-exponent on the same pattern, and the exponent: collective."""
        A, exponent = scaled_into_range(A, self.stored)
        possible = self.method != "fsai" or has_factor(RankLevelMatrix(A))
        with A.comm.checking():
            if not possible:
                raise ValueError(NO_FACTOR_ANY_MORE)
        functionals, scales = functionals_of(A, self.method)
        old = self.matrices[0].on(A.backend)
        rows = in_ascending_order(old, csr_of_rows(old))
        data, flags = functionals.refill(rows.csr.indptr, rows.ids, rows.csr.indices)
        values = stored_array(_scaled(rows.csr.indptr, data, scales), self.stored)
        return self._made(self.method, with_values(old, values), self.entries, flags), exponent

    def on(self, backend: Backend) -> RankInversePart:
        """The part for vectors on a backend."""
        return replace(self, matrices=tuple(each.on(backend) for each in self.matrices), _transposed=[])

    @property
    def n(self) -> int:
        """Own rows."""
        return self.matrices[0].n_local

    @property
    def stored(self) -> DType:
        return self.matrices[0].dtype

    @property
    def nbytes(self) -> int:
        return _bytes_of(self.matrices)

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        """Products with the matrices, each after a halo exchange."""
        conjugated = transpose and self.method == "fsai" and self.stored.kind == "c"
        matrices = self._of_transpose() if transpose and self.method == "spai" else self.matrices
        backend = matrices[0].backend
        found = backend.xp.ascontiguousarray(b, self.stored)
        found = found.conj() if conjugated else found
        for matrix in matrices:
            found = _product(matrix, found)
        x[...] = found.conj() if conjugated else found

    def _of_transpose(self) -> tuple[Matrix, ...]:
        if not self._transposed:
            own = self.matrices[0].backend
            self._transposed.append(tuple(transpose_of(each.on(host)).on(own) for each in self.matrices))
        return self._transposed[0]

    def details(self) -> list[tuple[str, str]]:
        mean = self.matrices[0].rows.nnz / max(self.n, 1)
        own = self._details(f"{mean:.1f} per row of this rank, at most {self.entries}")
        return [*own, *self.traffic.details()]


def _bytes_of(matrices: tuple[Matrix, ...]) -> int:
    return sum(held_bytes(each.rows.indptr, each.rows.indices, each.rows.data) for each in matrices)


def functionals_of(A: Matrix, method: str) -> tuple[RankFunctionals, Array | None]:
    """The functionals of own rows, and the row scales of the result: collective."""
    wide = np.result_type(A.dtype, np.float64)
    csr = csr_of_rows(A)
    rows = in_ascending_order(A, replace(csr, data=csr.data.astype(wide, copy=False)))
    if method == "fsai":
        diagonal = csr.diagonal.real.astype(np.float64)
        diagonal[diagonal == 0] = 1.0
        return RankFunctionals(A.comm, A.offsets, rows, rows, diagonal, True), None
    mirror = csr_of_rows(transposed := adjoint_of(A))
    mirrored = in_ascending_order(transposed, replace(mirror, data=mirror.data.astype(wide, copy=False)))
    squares = row_squares(mirror.indptr, mirrored.csr.data)
    scales = np.ones(A.n_local)
    np.divide(1, np.sqrt(np.sqrt(squares)), out=scales, where=squares > 0)
    scaled = _times(rows.csr, A.halo.ascending(scales)[rows.csr.indices])
    adjoint = _times(mirrored.csr, scales[rows_of(mirror.indptr, mirror.nnz)])
    product = _row_products(replace(rows, csr=scaled), replace(mirrored, csr=adjoint))
    start = RankRows(_times(adjoint, -1), mirrored.ids)
    diagonal = row_squares(scaled.indptr, scaled.data)
    return RankFunctionals(A.comm, A.offsets, product, start, diagonal, False), scales


def _row_products(rows: RankRectangle, adjoint: RankRectangle) -> RankRows:
    """The inner products of rows, without the terms of long columns off the diagonal: collective."""
    lengths, comm = np.diff(adjoint.csr.indptr).astype(np.int64), rows.halo.comm

    longest, terms = longest_column(lengths, lambda numbers: comm.total(numbers.sum()))
    if terms < comm.total((lengths * lengths).sum()):
        is_short = lengths <= longest
        left = kept(rows.csr.arrays, rows.halo.ascending(is_short)[rows.csr.indices])
        right = kept(adjoint.csr.arrays, is_short[rows_of(adjoint.csr.indptr, adjoint.csr.indices.size)])
        rows = replace(rows, csr=RectangularCSR.of(left, rows.csr.width))
        adjoint = replace(adjoint, csr=RectangularCSR.of(right, adjoint.csr.width))
    return rows.times(adjoint)


def _times(csr: RectangularCSR, factors: Any) -> RectangularCSR:
    return replace(csr, data=csr.data * factors)


def _scaled(indptr: Array, data: Array, scales: Array | None) -> Array:
    return data if scales is None else data * scales[rows_of(indptr, data.size)]


def _product(matrix: Matrix, x: Array) -> Array:
    """The own rows times vectors; each row is summed in the order of its global columns."""
    backend, columns = matrix.backend, x.shape[1]
    most = backend.multigrid.vector_ops.MOST_COLUMNS
    y: Array = backend.xp.empty(x.shape, x.dtype)
    if columns > most:
        for part in (slice(first, first + most) for first in range(0, columns, most)):
            y[:, part] = _product(matrix, x[:, part])
        return y
    backend.multigrid.vector_ops.multiply(matrix.operand, matrix.halo.with_ghosts(x), y)
    return y
