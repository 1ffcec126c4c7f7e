"""What the room `forest` of a backend offers."""

from __future__ import annotations

from typing import Any, Protocol

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.protocol.records import CSRRecord, ForestRecord, GraphRecord
from linforest_precond.backends.returns import BandSlots, ForestArrays, NumberedPaths, SampledRows, ValueScan


class FactorModule(Protocol):
    def propose_factor(
        self,
        graph: GraphRecord,
        n: int,
        limit: int | None,
        automatic: bool,
        m: int,
        k_m: int,
        threshold: int,
        seed: int,
        charge: str = "splitmix64",
        ties: str = "auto",
    ) -> tuple[Array, Array, Array, Array]: ...
    def proposition_times(
        self, graph: GraphRecord, n: int, k: int, repeats: int
    ) -> tuple[list[float], int]: ...


class GreedyModule(Protocol):
    def greedy_factor(
        self, graph: GraphRecord, n: int, ties: str = "index", seed: int = 0
    ) -> tuple[Array, Array, Array]: ...


class LinearForestModule(Protocol):
    def linear_forest(
        self, neighbors: Array, values: Array, slots: Array | None, in_place: bool = False
    ) -> ForestArrays: ...
    def most_lost(self, neighbors: Array, values: Array) -> Array: ...


class BidirectionalScanModule(Protocol):
    def linear_forest(
        self, neighbors: Array, values: Array, slots: Array | None, in_place: bool = False
    ) -> ForestArrays: ...
    def break_cycles(
        self, neighbors: Array, values: Array, slots: Array | None, in_place: bool = False
    ) -> tuple[Array, Array, Array | None, Any]: ...
    def label_paths(self, neighbors: Array) -> tuple[Array, Array, Array]: ...
    def scan_steps(self, n: int) -> int: ...


class OrderingModule(Protocol):
    def order_by_scan(self, path_id: Array, position: Array, lengths: Array) -> tuple[Array, Array]: ...
    def order_by_radix_sort(self, path_id: Array, position: Array, lengths: Array) -> tuple[Array, Array]: ...


class RecordChecksModule(Protocol):
    def rank_order(self, order: Array) -> tuple[Array, int]: ...
    def first_stray(self, neighbors: Array, rank: Array) -> int: ...
    def first_unpaired(self, neighbors: Array) -> int: ...


class PairsModule(Protocol):
    def pair_up(self, neighbors: Array) -> tuple[Array, Array]: ...
    def members_of(self, pairs: Array, members: Array) -> Array: ...
    def coarse_graph(self, graph: GraphRecord, members: Array, places: Array) -> Any: ...
    def heaviest_two(self, graph: GraphRecord) -> Array: ...


class PathPairsModule(Protocol):
    def drop_weak_edges(self, neighbors: Array, values: Array) -> tuple[Array, Array]: ...
    def number_paths(self, order: Array, rank: Array, position: Array, count: int) -> NumberedPaths: ...
    def sample_rows(self, graph: GraphRecord, paths: NumberedPaths) -> SampledRows: ...
    def partners(self, paths: NumberedPaths, samples: SampledRows, lines: ForestRecord) -> Array: ...


class BandsModule(Protocol):
    def extract(
        self, csr: CSRRecord, neighbors: Array, order: Array, values: Array | None, slots: Array | None
    ) -> tuple[Array, Array, Array]: ...
    def without_edges(self, graph: GraphRecord, neighbors: Array) -> Array: ...


class BandRefreshModule(Protocol):
    def find_slots(self, csr: CSRRecord, neighbors: Array, order: Array) -> BandSlots: ...
    def with_places(self, csr: CSRRecord, places: Array) -> BandSlots: ...
    def describe(self, indptr: Array, indices: Array, data: Array, slots: BandSlots) -> Any: ...
    def read_report(self, report: Any, dtype: DType) -> ValueScan: ...
    def gather(self, data: Array, slots: BandSlots) -> tuple[Array, Array, Array]: ...


class BlockBandsModule(Protocol):
    def extract(self, csr: CSRRecord, members: Array, starts_path: Array) -> tuple[Array, Array, Array]: ...


class ForestRoom(Protocol):
    factor: FactorModule
    greedy: GreedyModule
    linear_forest: LinearForestModule
    bidirectional_scan: BidirectionalScanModule
    ordering: OrderingModule
    record_checks: RecordChecksModule
    pairs: PairsModule
    path_pairs: PathPairsModule
    bands: BandsModule
    band_refresh: BandRefreshModule
    block_bands: BlockBandsModule
