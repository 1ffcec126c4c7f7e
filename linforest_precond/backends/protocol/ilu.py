"""What the room `ilu` of a backend offers."""

from __future__ import annotations

from typing import Any, Protocol

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.protocol.records import CSRArrays, PatternRecord


class LevelScheduleModule(Protocol):
    def find_levels(self, pattern: PatternRecord, order: Array, rank: Array, most: int) -> Array | None: ...


class IncompleteFactorsModule(Protocol):
    def factorize(
        self,
        indptr: Array,
        indices: Array,
        data: Array,
        starts: Array,
        hermitian: bool,
        shift: float,
        weights: Array,
    ) -> tuple[CSRArrays, CSRArrays, Array, Array, Array]: ...


class TriangularModule(Protocol):
    def Substitution(  # noqa: N802
        self,
        lower: CSRArrays,
        inverse: Array,
        upper: CSRArrays,
        order: Array,
        starts: Array,
        sweeps: int | None,
    ) -> Any: ...


class IluRoom(Protocol):
    level_schedule: LevelScheduleModule
    incomplete_factors: IncompleteFactorsModule
    triangular: TriangularModule
