"""`reorder=True` permutes A and all vectors to the order of the preconditioner for the whole solve.

`lf.tridiagonal` solves along the paths of a forest. In A's order, every product gathers and scatters vectors;
in the order of the paths it reads and writes them as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.returns import CSRArrays
from linforest_precond.interop.dlpack import type_name
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.records.forest import Ordering

from .vector_space import InPlaceOperator


class PermutedMatrix(NamedTuple):
    """The fields of a `CheckedMatrix` that products read; columns of a row are not sorted."""

    indptr: Array
    indices: Array
    data: Array
    longest_row: int
    given_data: Array | None


@dataclass(frozen=True, eq=False)
class Reordering:
    """The order of the rows of all vectors of a problem; None for A's own."""

    ordering: Ordering | None = None

    def permuted(self, vectors: Array, axis: int = 0) -> Array:
        """Permute vectors from A's order to this one."""
        return vectors if self.ordering is None else vectors.take(self.ordering.order, axis=axis)

    def restored(self, vectors: Array) -> Array:
        """Permute vectors from this order to A's."""
        return vectors if self.ordering is None else vectors.take(self.ordering.rank, axis=0)

    def matrix(self, csr: CheckedMatrix) -> CheckedMatrix | PermutedMatrix:
        """A in this order. The entries of a row keep theirs: products with A have the same bits."""
        if self.ordering is None:
            return csr
        index = csr.indices.dtype
        order, rank = (array.astype(index, copy=False) for array in (self.ordering.order, self.ordering.rank))
        rows = csr.backend.matrix.copies

        def permuted(data: Array) -> CSRArrays:
            return rows.permuted_matrix(csr.indptr, csr.indices, data, order, rank)

        given_data = None if csr.given_data is None else permuted(csr.given_data)[2]
        return PermutedMatrix(*permuted(csr.data), csr.longest_row, given_data)

    def callback(self, callback: Callable[[Array], object] | None) -> Callable[[Array], object] | None:
        """A user's callback, called with vectors in A's order."""
        if callback is None or self.ordering is None:
            return callback
        return lambda x: callback(self.restored(x))


def reordering_of(reorder: Any, A: Any, M: Any, inner: Any) -> Reordering:
    """The order of M, for the argument `reorder` of a solver where it is not False."""
    if reorder is not True:
        raise TypeError(f"reorder must be True or False, got {reorder!r}")
    if inner is not None:
        raise ValueError("reorder must be False where inner is given: vectors of ranks have their own order")
    if not hasattr(A, "tocsr"):
        raise TypeError(
            f"reorder=True needs a sparse matrix A, got a {type_name(A)}: pass a csr_array, or reorder=False"
        )
    if not isinstance(M, InPlaceOperator):
        seen = "None" if M is None else f"a {type_name(M)}"
        raise TypeError(
            "reorder=True needs an M with an order of its rows: pass lf.tridiagonal(A), or reorder=False, "
            f"got {seen}"
        )
    return Reordering(M.permuted.ordering)
