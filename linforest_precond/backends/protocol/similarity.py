"""What the room `similarity` of a backend offers."""

from __future__ import annotations

from typing import Protocol

from linforest_precond.backends.annotations import Array


class TokenSetsRecord(Protocol):
    """What the backends read of a `similarity.token_sets.TokenSets`."""

    @property
    def indptr(self) -> Array: ...
    @property
    def tokens(self) -> Array: ...
    @property
    def weights(self) -> Array: ...


class SetsRecord(Protocol):
    """What the backends read of a `similarity.encoding.Sets`."""

    @property
    def indptr(self) -> Array: ...
    @property
    def elements(self) -> Array: ...


class SymbolsRecord(Protocol):
    """What the backends read of a `similarity.grams.Symbols`."""

    @property
    def indptr(self) -> Array: ...
    @property
    def values(self) -> Array: ...
    @property
    def count(self) -> int: ...
    @property
    def longest(self) -> int: ...


class PairsRecord(Protocol):
    """What the backends read of a `similarity.pairs.Pairs`."""

    @property
    def lefts(self) -> Array: ...
    @property
    def rights(self) -> Array: ...
    @property
    def rows(self) -> Array: ...
    @property
    def columns(self) -> Array: ...
    @property
    def starts(self) -> Array: ...
    @property
    def row_starts(self) -> Array: ...
    @property
    def column_starts(self) -> Array: ...
    @property
    def cells(self) -> int: ...
    @property
    def all_rows(self) -> int: ...
    @property
    def all_columns(self) -> int: ...


class TokenFilterModule(Protocol):
    def shares_enough(
        self,
        token_sets: TokenSetsRecord,
        lefts: Array,
        rights: Array,
        left_slacks: Array,
        right_slacks: Array,
    ) -> Array: ...


class ElementWeightsModule(Protocol):
    def jaccard_weights(self, sets: SetsRecord, symbols: SymbolsRecord, pairs: PairsRecord) -> Array: ...
    def edit_weights(self, sets: SetsRecord, symbols: SymbolsRecord, pairs: PairsRecord) -> Array: ...


class SetMatchingsModule(Protocol):
    def greedy(self, weights: Array, pairs: PairsRecord) -> tuple[Array, Array, Array]: ...
    def locally_dominant(self, weights: Array, pairs: PairsRecord) -> tuple[Array, Array, Array]: ...
    def paz_schwartzman(
        self, weights: Array, pairs: PairsRecord, epsilon: float
    ) -> tuple[Array, Array, Array]: ...


class CertificatesModule(Protocol):
    def largest_weight_bounds(self, weights: Array, pairs: PairsRecord) -> Array: ...
    def overlaps(self, weights: Array, pairs: PairsRecord, mates: Array) -> Array: ...
    def dual_bounds(
        self, weights: Array, pairs: PairsRecord, row_duals: Array, column_duals: Array
    ) -> Array: ...


class SimilarityRoom(Protocol):
    token_filter: TokenFilterModule
    element_weights: ElementWeightsModule
    set_matchings: SetMatchingsModule
    certificates: CertificatesModule
