"""What the room `multigrid` of a backend offers."""

from __future__ import annotations

from typing import Any, Protocol

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.protocol.records import CSRArrays, CSRRecord
from linforest_precond.backends.returns import RowFacts


class DenseModule(Protocol):
    def dense_matrix(self, csr: CSRRecord) -> Array: ...
    def definite_inverse(self, matrix: Array, stored: DType) -> Array | None: ...


class StrengthModule(Protocol):
    def weigh(self, csr: CSRRecord, strength: float) -> Array: ...
    def row_sums(self, csr: CSRRecord) -> tuple[Array, Array]: ...
    def row_facts(self, csr: CSRRecord, tolerance: float, tiny: float) -> RowFacts: ...


class GalerkinModule(Protocol):
    def coarse_matrix(
        self, csr: CSRRecord, aggregates: Array, indptr: Array, members: Array
    ) -> CSRArrays: ...
    def mirror_upper(self, indptr: Array, indices: Array, data: Array) -> None: ...


class NodeGraphModule(Protocol):
    def node_matrix(self, indptr: Array, indices: Array, data: Array, block_size: int) -> CSRArrays: ...


class TentativeModule(Protocol):
    def tentative_prolongator(
        self, node_numbers: Array, count: int, block_size: int, B: Array
    ) -> tuple[CSRArrays, Array]: ...
    def add_tentative(self, tentative: CSRArrays, weights: Array, product: CSRArrays) -> bool: ...
    def fill_dropped(self, coarse: Array, indptr: Array, indices: Array, data: Array) -> None: ...


class PathInterpolationModule(Protocol):
    def interpolate(
        self, neighbors: Array, positions: Array, sizes: Array, groups: Array, count: int
    ) -> tuple[Array, Array, Array, int]: ...


class SmoothedAggregationModule(Protocol):
    def aggregate(
        self, csr: CSRRecord, strength: float, seed: int, signed: bool = True
    ) -> tuple[Array, int, Any]: ...
    def smoothed_prolongator(
        self,
        csr: CSRRecord,
        strength: float,
        numbers: Array,
        count: int,
        signed: bool = True,
        strong: Any = None,
    ) -> tuple[CSRArrays, CSRArrays, Array]: ...
    def prolongator_values(
        self, csr: CSRRecord, numbers: Array, count: int, kept: Array, indptr: Array, indices: Array
    ) -> Array: ...
    def l1_weights(self, csr: CSRRecord, factor: float, stored: DType) -> Array: ...


class TransfersModule(Protocol):
    def restrict(self, indptr: Array, members: Array, fine: Array, coarse: Array) -> None: ...
    def prolong_add(self, aggregates: Array, coarse: Array, fine: Array) -> None: ...


class VectorOpsModule(Protocol):
    """The vector work of multigrid cycles; `matrix` is a `Matrix` of the same module."""

    MOST_COLUMNS: int

    def Matrix(  # noqa: N802
        self, indptr: Array, indices: Array, data: Array, longest_row: int | None
    ) -> Any: ...
    def KrylovSteps(self, rows: int, columns: int, dtype: DType, definite: bool) -> Any: ...  # noqa: N802
    def Center(self, rows: int, columns: int, dtype: DType) -> Any: ...  # noqa: N802
    def residual(self, matrix: Any, b: Array, x: Array, r: Array) -> None: ...
    def scale_residual(
        self, matrix: Any, weights: Array, factor: float, b: Array, x: Array, r: Array
    ) -> None: ...
    def relax(
        self, matrix: Any, weights: Array, b: Array, x: Array, y: Array, momentum: float, factor: float
    ) -> None: ...
    def multiply(self, matrix: Any, x: Array, y: Array) -> None: ...
    def multiply_add(self, matrix: Any, x: Array, y: Array) -> None: ...
    def multiply_dense(self, inverse: Array, b: Array, x: Array) -> None: ...
    def scale(self, weights: Array, factor: float, b: Array, x: Array) -> None: ...
    def add(self, z: Array, x: Array) -> None: ...
    def clear(self, x: Array) -> None: ...
    def copy(self, source: Array, target: Array) -> None: ...


class MultigridRoom(Protocol):
    dense: DenseModule
    strength: StrengthModule
    galerkin: GalerkinModule
    node_graph: NodeGraphModule
    path_interpolation: PathInterpolationModule
    smoothed_aggregation: SmoothedAggregationModule
    tentative: TentativeModule
    transfers: TransfersModule
    vector_ops: VectorOpsModule
