"""What the room `matching` of a backend offers."""

from __future__ import annotations

from typing import Any, Protocol

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.protocol.records import GraphRecord


class MatchingModule(Protocol):
    """Locally dominant edges, or the suitor algorithm."""

    def match(self, graph: GraphRecord, tie_key: Any) -> tuple[Array, Array]: ...


class ProposalsModule(Protocol):
    def match(
        self, graph: GraphRecord, weighted: bool, threshold: int, seed: int, limit: int | None
    ) -> tuple[Array, Array]: ...


class MatchedEdgeValuesModule(Protocol):
    def matched_edge_values(self, graph: GraphRecord, mate: Array) -> Array: ...


class AggregatesModule(Protocol):
    def of_mates(self, graph: GraphRecord, mate: Array, tie_key: Any) -> tuple[Array, int]: ...
    def members_of(self, aggregates: Array, count: int) -> tuple[Array, Array]: ...


class AuctionModule(Protocol):
    def bid(
        self,
        indptr: Array,
        indices: Array,
        weights: Array,
        prices: Array,
        columns: Array,
        rows: Array,
        step: int,
        stop: int,
    ) -> Array: ...


class BalancingModule(Protocol):
    def balance(
        self,
        indptr: Array,
        indices: Array,
        weights: Array,
        matched: Array,
        columns: Array,
        prices: Array,
        iterations: int,
    ) -> None: ...


class MatchingRoom(Protocol):
    locally_dominant: MatchingModule
    suitor: MatchingModule
    proposals: ProposalsModule
    matched_edge_values: MatchedEdgeValuesModule
    aggregates: AggregatesModule
    auction: AuctionModule
    balancing: BalancingModule
