"""What the room `csgraph` of a backend offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.protocol.records import CSRArrays, CSRRecord, PatternRecord
from linforest_precond.backends.returns import TrafficScan


class ComponentsModule(Protocol):
    """Union-find, or FastSV."""

    def weak_components(self, pattern: PatternRecord) -> tuple[int, Array]: ...


class StrongComponentsModule(Protocol):
    """SciPy on the CPU and signature propagation on the GPU, or forward-backward searches."""

    def strong_components(self, pattern: PatternRecord) -> tuple[int, Array]: ...


class BreadthFirstModule(Protocol):
    def bfs_levels(self, pattern: PatternRecord, source: int) -> Array: ...
    def breadth_first_order(
        self, pattern: PatternRecord, source: int, with_predecessors: bool
    ) -> tuple[Array, Array]: ...


class SpanningForestModule(Protocol):
    METHODS: tuple[str, ...]

    def spanning_forest(self, csr: CSRRecord, largest: bool, method: str) -> CSRArrays: ...


class IndependentSetModule(Protocol):
    def independent_set(self, pattern: PatternRecord, k: int, seed: int) -> Array: ...


class LubyModule(Protocol):
    def luby_set(self, pattern: PatternRecord, seed: int, fewest: int, patience: int) -> Array: ...


class ColoringModule(Protocol):
    def color_vertices(self, pattern: PatternRecord, largest_first: bool, seed: int) -> Array: ...


class DegreesModule(Protocol):
    def degrees(self, pattern: PatternRecord) -> Array: ...


class LabelPropagationModule(Protocol):
    def propagate_labels(self, pattern: PatternRecord, max_iter: int, seed: int) -> Array: ...


class PageRankModule(Protocol):
    def power_iteration(
        self,
        csr: CSRRecord,
        alpha: float,
        personalization: Array | None,
        dangling: Array | None,
        start: Array | None,
        max_iter: int,
        threshold: float,
    ) -> Any: ...


class TrafficModule(Protocol):
    def scan_links(
        self, indptr: Array, indices: Array, values: Array, width: int, pieces: Sequence[tuple[int, int]]
    ) -> TrafficScan: ...
    def pack_addresses(self, sources: Array, destinations: Array) -> Array: ...
    def merge_links(self, keys: Array, packets: Array | None) -> tuple[Array, Array]: ...
    def number_addresses(self, keys: Array) -> tuple[Array, Array, Array, Array]: ...


class TreeRootsModule(Protocol):
    def tree_roots(self, parents: Array) -> tuple[Array, int, int]: ...


class CsgraphRoom(Protocol):
    components: ComponentsModule
    fastsv: ComponentsModule
    strong_components: StrongComponentsModule
    forward_backward: StrongComponentsModule
    breadth_first: BreadthFirstModule
    spanning_forest: SpanningForestModule
    independent_set: IndependentSetModule
    luby: LubyModule
    coloring: ColoringModule
    degrees: DegreesModule
    label_propagation: LabelPropagationModule
    pagerank: PageRankModule
    traffic: TrafficModule
    tree_roots: TreeRootsModule
