"""Smoothed prolongators and Galerkin products, as products of sparse matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.rectangles import RectangularCSR

# A row that is longer than this multiple of the mean is a hub.
HUB_RATIO = 8
# Terms of a Galerkin product for each entry of the matrix, bounded by the lengths of the rows.
MOST_TERMS = 50


def smoothed_tentative(csr: CheckedMatrix, P: RectangularCSR, weights: Array) -> RectangularCSR:
    """(I - diag(weights) A) P for a tentative prolongator P.

    A is not filtered: lumping weak entries onto the diagonal keeps constants only, no other candidates.
    """
    A = RectangularCSR(csr.indptr, csr.indices, csr.data, csr.n)
    return with_smoothing_step(P, lambda: product(A, P), weights)


def with_smoothing_step(
    P: RectangularCSR, multiplied: Callable[[], RectangularCSR], weights: Array
) -> RectangularCSR:
    """P - diag(weights) A P, for a tentative prolongator P and a function that gives A P anew."""
    smoothed, prolongators = multiplied(), P.backend.multigrid.prolongators
    weights = weights.astype(P.data.dtype, copy=False)
    if prolongators.add_tentative(P.arrays, weights, smoothed.arrays):
        return smoothed
    return _sum(P, multiplied(), weights)


def _sum(P: RectangularCSR, step: RectangularCSR, weights: Array) -> RectangularCSR:
    """P - diag(weights) step, where the pattern of the step lacks entries of P."""
    backend = P.backend
    xp, entries = backend.xp, backend.matrix.entries
    rows = [entries.rows_of(each.indptr, each.indices.size) for each in (P, step)]
    indptr, indices, data = entries.canonical(
        xp.concatenate(rows),
        xp.concatenate([P.indices, step.indices]),
        xp.concatenate([P.data, -weights[rows[1]] * step.data]),
        max(P.n, P.width),
        P.indices.dtype,
    )
    return RectangularCSR(indptr[: P.n + 1].copy(), indices, data, P.width)


def adjoint(P: RectangularCSR) -> RectangularCSR:
    """The conjugate transpose."""
    transposed = P.backend.matrix.entries.transposed
    return RectangularCSR.of(transposed(P.indptr, P.indices, P.data.conj(), P.width), P.n)


def adjoint_on(pattern: RectangularCSR, P: RectangularCSR) -> RectangularCSR:
    """The conjugate transpose, whose pattern is known."""
    values_of = P.backend.matrix.entries.transposed_values
    known = pattern.indptr, pattern.indices
    return RectangularCSR(*known, values_of(P.indptr, P.indices, P.data.conj(), P.width, known), P.n)


class TooManyEntriesError(Exception):
    """A product has more entries than it may have."""


class ProductPlans:
    """Plans of products in a fixed order, made by the first ones, for factors of the same patterns."""

    def __init__(self) -> None:
        self._plans: dict[str, Any] = {}

    @property
    def held(self) -> list[Any]:
        """The objects whose arrays count in `nbytes`."""
        return list(self._plans.values())

    def product(
        self, name: str, left: RectangularCSR, right: RectangularCSR, most: float = math.inf
    ) -> RectangularCSR:
        """The product of this name; other values than before are multiplied without a symbolic phase."""
        products, factors = left.backend.matrix.sparse_products, (left.arrays, right.arrays)
        if name in self._plans:
            arrays = products.multiply_again(self._plans[name], *factors, right.width)
            return RectangularCSR.of(arrays, right.width)
        found = products.multiply_and_plan(*factors, right.width, most)
        if found is None:
            raise TooManyEntriesError
        arrays, self._plans[name] = found
        return RectangularCSR.of(arrays, right.width)


def galerkin_product(
    R: RectangularCSR, csr: CheckedMatrix, P: RectangularCSR, plans: ProductPlans, most: float = math.inf
) -> tuple[Array, Array, Array]:
    """The CSR arrays of R A P; TooManyEntriesError where it has more than `most` entries."""
    A = RectangularCSR(csr.indptr, csr.indices, csr.data, csr.n)
    return plans.product("R A P", R, plans.product("A P", A, P), most).arrays


def fills_up(csr: CheckedMatrix, P: RectangularCSR) -> bool:
    """Whether the Galerkin product has many more terms than A has entries; only hubs can make it so."""
    if not has_hubs(csr.longest_row, csr.n, csr.nnz):
        return False
    terms = most_terms(csr, P.indptr[1:] - P.indptr[:-1], P.width)
    return bool(terms > MOST_TERMS * csr.nnz)  # stall: decides which prolongator is used


def has_hubs(longest_row: int, n: int, entries: int) -> bool:
    return longest_row * n > HUB_RATIO * entries


def most_terms(csr: CheckedMatrix, lengths: Array, width: int) -> Any:
    """A bound on the terms of a Galerkin product, from the lengths of the prolongator's rows; on the device.

    Rows of a matrix over ranks have columns of other ranks, too, which have lengths.
    """
    xp = csr.backend.xp
    begins = xp.zeros(csr.nnz + 1, np.int64)
    xp.cumsum(lengths[csr.indices], out=begins[1:])
    products = (begins[csr.indptr[1:]] - begins[csr.indptr[:-1]]).clip(0, width)
    return (lengths[: csr.n] * products).sum()


def product(left: RectangularCSR, right: RectangularCSR) -> RectangularCSR:
    multiply = left.backend.matrix.sparse_products.multiply
    return RectangularCSR.of(multiply(left.arrays, right.arrays, right.width), right.width)
