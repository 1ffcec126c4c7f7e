"""Rows of an approximate inverse minimize Kaporin's functional (FSAI) or a least squares norm (SPAI)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.backends import Backend, OnBackend
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.returns import CSRArrays
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.conversion import index_dtype
from linforest_precond.matrix.rectangles import kept

# Long columns are left out of A A^H, which they would fill. The limit of a column's length is the first of
# these with which the product has at most TERMS_PER_ENTRY terms for each entry of A.
LONGEST_COLUMNS = 4096, 1024, 256, 64
TERMS_PER_ENTRY = 256


@dataclass(frozen=True, eq=False)
class Functionals(OnBackend):
    """The functionals that rows of an approximate inverse minimize; see `row_systems` of the backends."""

    matrix: CSRArrays  # N, in double precision
    start: CSRArrays  # S, in double precision
    diagonal: Array  # of N
    triangular: bool  # the rows form a lower triangular factor
    row_scales: Array | None  # multiply the columns of the result; None stands for ones

    def grow(self, entries: int, tolerance: float) -> tuple[CSRArrays, Array]:
        """The rows on growing patterns, and the counts of dependent and of empty ones."""
        systems = self.backend.approximate_inverse.row_systems
        arguments = self.matrix, self.start, self.diagonal, self.triangular
        (indptr, indices, data), report = systems.grow(*arguments, entries, tolerance)
        return (indptr, indices, self._scaled(indptr, data)), report

    def refill(self, indptr: Array, indices: Array) -> tuple[Array, Array]:
        """The values of the rows on given patterns, and the same counts."""
        systems = self.backend.approximate_inverse.row_systems
        arguments = self.matrix, self.start, self.diagonal, self.triangular
        index = self.matrix[1].dtype
        data, report = systems.refill(
            *arguments, indptr.astype(index, copy=False), indices.astype(index, copy=False)
        )
        return self._scaled(indptr, data), report

    def _scaled(self, indptr: Array, data: Array) -> Array:
        if self.row_scales is None:
            return data
        return data * self.row_scales[self.backend.matrix.entries.rows_of(indptr, data.size)]


def kaporin(csr: CheckedMatrix) -> Functionals:
    """Kaporin's functional of FSAI, for a Hermitian matrix with a positive diagonal, or with empty rows."""
    wide = np.result_type(csr.data.dtype, np.float64)
    arrays = csr.indptr, csr.indices, csr.data.astype(wide, copy=False)
    diagonal = csr.diagonal.real.astype(np.float64)
    diagonal = xp_of(diagonal).where(diagonal == 0, 1.0, diagonal)
    return Functionals(arrays, arrays, diagonal, True, None)


def least_squares(csr: CheckedMatrix) -> Functionals:
    """The least squares of SPAI: row i minimizes the norm of (e_i - m A) D, by its normal equations.

    D divides columns by the square roots of their norms: half-way between A's own norm, in which columns with
    small entries count little, and equal columns.
    """
    backend, wide = csr.backend, np.result_type(csr.data.dtype, np.float64)
    systems, entries = backend.approximate_inverse.row_systems, backend.matrix.entries
    data = csr.data.astype(wide, copy=False)
    indptr, indices, mirrored = entries.transposed(csr.indptr, csr.indices, data)
    squares = systems.row_squares(indptr, mirrored)
    scales = backend.xp.where(squares > 0, 1 / backend.xp.sqrt(backend.xp.sqrt(squares)), 1.0)
    scaled = csr.indptr, csr.indices, data * scales[csr.indices]
    adjoint = indptr, indices, mirrored.conj() * scales[entries.rows_of(indptr, indices.size)]
    product = _row_products(backend, scaled, adjoint)
    index = product[1].dtype
    start = indptr.astype(index, copy=False), indices.astype(index, copy=False), -adjoint[2]
    return Functionals(product, start, systems.row_squares(*scaled[::2]), False, scales)


def _row_products(backend: Backend, rows: CSRArrays, adjoint: CSRArrays) -> CSRArrays:
    """The inner products of rows, without the terms of long columns off the diagonal."""
    lengths = backend.xp.diff(adjoint[0]).astype(np.int64)
    longest, terms = longest_column(lengths)
    if terms < int((lengths * lengths).sum()):  # stall: such columns are rare
        is_short = lengths <= longest
        rows = kept(rows, is_short[rows[1]])
        adjoint = kept(adjoint, is_short[backend.matrix.entries.rows_of(adjoint[0], adjoint[1].size)])
    index = index_dtype(terms, rows[1].dtype)
    left, right = (
        (indptr.astype(index, copy=False), indices.astype(index, copy=False), data)
        for indptr, indices, data in (rows, adjoint)
    )
    return backend.matrix.sparse_products.multiply(left, right, lengths.size)


def longest_column(
    lengths: Array, total: Callable[[Array], Any] = lambda numbers: numbers.sum()
) -> tuple[int, int]:
    """The entries of a column at most, and the terms of the products of the other ones."""
    most = TERMS_PER_ENTRY * int(total(lengths))  # stall: decides what is multiplied
    for longest in LONGEST_COLUMNS:
        short = xp_of(lengths).where(lengths <= longest, lengths, 0)
        terms = int(total(short * short))  # stall: the same
        if terms <= most:
            break
    return longest, terms
