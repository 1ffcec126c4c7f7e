"""What the room `reordering` of a backend offers."""

from __future__ import annotations

from typing import Protocol

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.batch_options import BatchOptions
from linforest_precond.backends.protocol.records import PatternRecord


class CuthillMcKeeModule(Protocol):
    METHODS: tuple[str, ...]

    def order(
        self, pattern: PatternRecord, start: int | None, method: str, options: BatchOptions | None = None
    ) -> Array: ...
    def batch_profile(
        self, pattern: PatternRecord, start: int | None, options: BatchOptions | None = None
    ) -> tuple[Array, dict[str, int]]: ...


class GapMetricsModule(Protocol):
    UNIT: int

    def sorted_positions(self, indptr: Array, neighbours: Array, order: Array) -> Array: ...
    def log_sum(self, numbers: Array) -> int: ...


class RefinementModule(Protocol):
    def refine(
        self,
        indptr: Array,
        neighbours: Array,
        order: Array,
        candidates: Array,
        logarithmic: bool,
        max_degree: int,
        max_rounds: int,
    ) -> tuple[Array, int]: ...


class ReorderingRoom(Protocol):
    cuthill_mckee: CuthillMcKeeModule
    gap_metrics: GapMetricsModule
    refinement: RefinementModule
