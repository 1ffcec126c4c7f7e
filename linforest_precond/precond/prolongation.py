"""Smoothed prolongators, and the products they need: sparse matrices as sorted entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.records import CSR, Array

# Products that are sorted at a time.
ENTRIES_AT_ONCE = 2**22


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
    rows = backend.entries.rows_of(csr.indptr, csr.nnz)
    unknowns = xp.arange(csr.n, dtype=rows.dtype)
    return _summed(
        xp.concatenate([unknowns, rows]),
        xp.concatenate([aggregates, aggregates[csr.indices]]),
        xp.concatenate([xp.ones(csr.n, csr.data.dtype), -weights[rows] * csr.data]),
        (csr.n, count),
    )


def adjoint(P: Rectangle) -> Rectangle:
    """The conjugate transpose."""
    rows = backend_of(P.data).entries.rows_of(P.indptr, P.indices.size)
    return _summed(P.indices, rows, P.data.conj(), (P.width, P.n))


def transposed(csr: CSR) -> tuple[Array, Array, Array]:
    """The CSR arrays of the transpose."""
    rows = backend_of(csr.data).entries.rows_of(csr.indptr, csr.nnz)
    return _summed(csr.indices, rows, csr.data, (csr.n, csr.n)).arrays


def triple_product(R: Rectangle, csr: CSR, P: Rectangle) -> tuple[Array, Array, Array]:
    """The CSR arrays of R A P."""
    A = Rectangle(csr.indptr, csr.indices, csr.data, csr.n)
    return _product(R, _product(A, P)).arrays


def _product(left: Rectangle, right: Rectangle) -> Rectangle:
    """Every entry of `left` times a row of `right`, then summed, for some rows at a time."""
    xp = backend_of(left.data).xp
    begins = xp.zeros(left.indices.size + 1, np.int64)
    xp.cumsum((right.indptr[1:] - right.indptr[:-1])[left.indices], out=begins[1:])
    of_rows = begins[left.indptr]
    count = int(of_rows[-1])  # stall: how many
    shares = xp.arange(0, count, ENTRIES_AT_ONCE)
    cuts = [int(cut) for cut in xp.searchsorted(of_rows, shares, side="right")]  # stall: where to cut
    cuts = sorted({0, *cuts, left.n})
    parts = [_product_of_rows(left, right, begins, *rows) for rows in zip(cuts, cuts[1:])]
    if not parts:
        return Rectangle(left.indptr, left.indices, left.data, right.width)
    ends = xp.cumsum(xp.asarray([0, *(part.indices.size for part in parts)]))
    indptr = [parts[0].indptr[:1], *(part.indptr[1:] + end for part, end in zip(parts, ends))]
    indices, data = (xp.concatenate([getattr(part, name) for part in parts]) for name in ("indices", "data"))
    return Rectangle(xp.concatenate(indptr).astype(left.indices.dtype), indices, data, right.width)


def _product_of_rows(left: Rectangle, right: Rectangle, begins: Array, first: int, end: int) -> Rectangle:
    """Some rows of a product; `begins` counts the entries before each of `left`'s."""
    backend = backend_of(left.data)
    xp = backend.xp
    slots = slice(int(left.indptr[first]), int(left.indptr[end]))  # stall: where the rows are
    begins = begins[slots.start : slots.stop + 1] - begins[slots.start]
    indices, values = left.indices[slots], left.data[slots]
    count = int(begins[-1])  # stall: how many
    source = backend.entries.rows_of(begins, count)
    place = xp.arange(count) - begins[source] + right.indptr[indices[source]]
    rows = backend.entries.rows_of(left.indptr[first : end + 1] - left.indptr[first], indices.size)[source]
    return _summed(rows, right.indices[place], values[source] * right.data[place], (end - first, right.width))


def _summed(rows: Array, columns: Array, values: Array, shape: tuple[int, int]) -> Rectangle:
    index = columns.dtype
    indptr, indices, data = backend_of(values).entries.canonical(rows, columns, values, max(shape), index)
    return Rectangle(indptr[: shape[0] + 1].copy(), indices, data, shape[1])
