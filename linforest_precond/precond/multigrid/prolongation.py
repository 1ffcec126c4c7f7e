"""Prolongators as sparse matrices, smoothed prolongators, and the products of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linforest_precond.annotations import Array, DType
from linforest_precond.backends import backend_of
from linforest_precond.precond.packing import packable
from linforest_precond.precond.record_schemas import columns_ascend
from linforest_precond.precond.schema import Size, Table
from linforest_precond.precond.schema_arrays import Indices, Numbers, Pointers
from linforest_precond.records import CSR

SCHEMA = Table(
    {
        "width": Size("width"),
        "data": Numbers("entries"),
        "indptr": Pointers("n", "entries"),
        "indices": Indices("entries", below="width"),
    },
    columns_ascend,
)


@packable("Rectangle")
@dataclass(frozen=True, eq=False)
class RectangularCSR:
    """The CSR arrays of a matrix of any shape; columns ascend in each row."""

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

    def indexed_by(self, index: DType) -> RectangularCSR:
        """The same with indices of another type."""
        indptr, indices = (array.astype(index, copy=False) for array in (self.indptr, self.indices))
        return RectangularCSR(indptr, indices, self.data, self.width)


def smoothed_prolongator(csr: CSR, aggregates: Array, count: int, weights: Array) -> RectangularCSR:
    """(I - diag(weights) A) P for the tentative prolongator P of aggregates.

    Smoothed aggregation: Vanek, Mandel & Brezina, "Algebraic multigrid by smoothed aggregation for second and
    fourth order elliptic problems" (1996), doi:10.1007/BF02238511.
    """
    backend = backend_of(csr.data)
    xp = backend.xp
    rows = backend.matrix.entries.rows_of(csr.indptr, csr.nnz)
    unknowns = xp.arange(csr.n, dtype=rows.dtype)
    return _from_triplets(
        xp.concatenate([unknowns, rows]),
        xp.concatenate([aggregates, aggregates[csr.indices]]),
        xp.concatenate([xp.ones(csr.n, csr.data.dtype), -weights[rows] * csr.data]),
        (csr.n, count),
    )


def adjoint(P: RectangularCSR) -> RectangularCSR:
    """The conjugate transpose."""
    transposed = backend_of(P.data).matrix.entries.transposed
    return RectangularCSR(*transposed(P.indptr, P.indices, P.data.conj(), P.width), P.n)


def adjoint_on(pattern: RectangularCSR, P: RectangularCSR) -> RectangularCSR:
    """The conjugate transpose, whose pattern is known."""
    values_of = backend_of(P.data).matrix.entries.transposed_values
    known = pattern.indptr, pattern.indices
    return RectangularCSR(*known, values_of(P.indptr, P.indices, P.data.conj(), P.width, known), P.n)


class ProductPlans:
    """Plans of products in a fixed order, made by the first ones, for factors of the same patterns."""

    def __init__(self) -> None:
        self._plans: dict[str, Any] = {}

    @property
    def held(self) -> list[Any]:
        """What has arrays that last."""
        return list(self._plans.values())

    def product(self, name: str, left: RectangularCSR, right: RectangularCSR) -> RectangularCSR:
        """The product of this name; other values than before are multiplied without a symbolic phase."""
        products, factors = backend_of(left.data).matrix.sparse_products, (left.arrays, right.arrays)
        if name in self._plans:
            arrays = products.multiply_again(self._plans[name], *factors, right.width)
        else:
            arrays, self._plans[name] = products.multiply_and_plan(*factors, right.width)
        return RectangularCSR(*arrays, right.width)


def galerkin_product(
    R: RectangularCSR, csr: CSR, P: RectangularCSR, plans: ProductPlans
) -> tuple[Array, Array, Array]:
    """The CSR arrays of R A P."""
    A = RectangularCSR(csr.indptr, csr.indices, csr.data, csr.n)
    return plans.product("R A P", R, plans.product("A P", A, P)).arrays


def product(left: RectangularCSR, right: RectangularCSR) -> RectangularCSR:
    multiply = backend_of(left.data).matrix.sparse_products.multiply
    return RectangularCSR(*multiply(left.arrays, right.arrays, right.width), right.width)


def _from_triplets(rows: Array, columns: Array, values: Array, shape: tuple[int, int]) -> RectangularCSR:
    """The matrix of triplets, duplicates summed."""
    canonical = backend_of(values).matrix.entries.canonical
    indptr, indices, data = canonical(rows, columns, values, max(shape), columns.dtype)
    return RectangularCSR(indptr[: shape[0] + 1].copy(), indices, data, shape[1])
