"""What the backends read of the records that they are given."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from linforest_precond.backends.annotations import Array

CSRArrays: TypeAlias = tuple[Array, Array, Array]  # indptr, indices, data


class PatternRecord(Protocol):
    """What the backends read of a `records.Pattern`."""

    @property
    def indptr(self) -> Array: ...
    @property
    def indices(self) -> Array: ...
    @property
    def n(self) -> int: ...
    @property
    def nnz(self) -> int: ...
    @property
    def longest_row(self) -> int: ...


class CSRRecord(PatternRecord, Protocol):
    """What the backends read of a `records.CSR`."""

    @property
    def data(self) -> Array: ...
    @property
    def diagonal(self) -> Array: ...
    @property
    def symmetric(self) -> bool: ...


class GraphRecord(Protocol):
    """What the backends read of a `records.Graph`."""

    @property
    def indptr(self) -> Array: ...
    @property
    def indices(self) -> Array: ...
    @property
    def values(self) -> Array: ...
    @property
    def n(self) -> int: ...
    @property
    def longest_row(self) -> int: ...


class ForestRecord(Protocol):
    """What the backends read of a `records.Forest`."""

    @property
    def path_id(self) -> Array: ...
    @property
    def position(self) -> Array: ...
    @property
    def order(self) -> Array: ...
    @property
    def rank(self) -> Array: ...
