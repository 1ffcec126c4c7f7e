"""What the room `approximate_inverse` of a backend offers."""

from __future__ import annotations

from typing import Protocol

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.protocol.records import CSRArrays


class RowSystemsModule(Protocol):
    """Rows of sparse approximate inverses."""

    def grow(
        self,
        matrix: CSRArrays,
        start: CSRArrays,
        diagonal: Array,
        triangular: bool,
        entries: int,
        tolerance: float,
    ) -> tuple[CSRArrays, Array]: ...
    def refill(
        self,
        matrix: CSRArrays,
        start: CSRArrays,
        diagonal: Array,
        triangular: bool,
        indptr: Array,
        indices: Array,
    ) -> tuple[Array, Array]: ...
    def row_squares(self, indptr: Array, data: Array) -> Array: ...


class ApproximateInverseRoom(Protocol):
    row_systems: RowSystemsModule
