"""Prolongators as sparse matrices, smoothed ones, and the products they need."""

from __future__ import annotations

from dataclasses import dataclass

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.precond.packing import packable
from linforest_precond.records import CSR


@packable("Rectangle")
@dataclass(frozen=True, eq=False)
class Rectangle:
    """The CSR arrays of a matrix of any shape, columns ascending."""

    indptr: Array
    indices: Array
    data: Array
    width: int

    @property
    def n(self) -> int:
        return self.indptr.size - 1

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        return self.indptr, self.indices, self.data


def smoothed_prolongator(csr: CSR, aggregates: Array, count: int, weights: Array) -> Rectangle:
    """P - diag(weights) A P, where P puts every unknown into its aggregate."""
    backend = backend_of(csr.data)
    xp = backend.xp
    rows = backend.matrix.entries.rows_of(csr.indptr, csr.nnz)
    unknowns = xp.arange(csr.n, dtype=rows.dtype)
    return _summed(
        xp.concatenate([unknowns, rows]),
        xp.concatenate([aggregates, aggregates[csr.indices]]),
        xp.concatenate([xp.ones(csr.n, csr.data.dtype), -weights[rows] * csr.data]),
        (csr.n, count),
    )


def adjoint(P: Rectangle) -> Rectangle:
    """The conjugate transpose of a matrix that is not wider than it is high."""
    transposed = backend_of(P.data).matrix.entries.transposed
    indptr, indices, data = transposed(P.indptr, P.indices, P.data.conj())
    return Rectangle(indptr[: P.width + 1], indices, data, P.n)


def triple_product(R: Rectangle, csr: CSR, P: Rectangle) -> tuple[Array, Array, Array]:
    """The CSR arrays of R A P."""
    A = Rectangle(csr.indptr, csr.indices, csr.data, csr.n)
    return product(R, product(A, P)).arrays


def product(left: Rectangle, right: Rectangle) -> Rectangle:
    multiply = backend_of(left.data).matrix.sparse_products.multiply
    return Rectangle(*multiply(left.arrays, right.arrays, right.width), right.width)


def _summed(rows: Array, columns: Array, values: Array, shape: tuple[int, int]) -> Rectangle:
    index = columns.dtype
    indptr, indices, data = backend_of(values).matrix.entries.canonical(
        rows, columns, values, max(shape), index
    )
    return Rectangle(indptr[: shape[0] + 1].copy(), indices, data, shape[1])
