"""What the room `krylov` of a backend offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from linforest_precond.backends.annotations import Array, DType


class SpmvModule(Protocol):
    def Product(self, A: Any, dtype: DType, is_csr: bool) -> Any: ...  # noqa: N802
    def Preconditioning(self, M: Any, dtype: DType, in_place: bool) -> Any: ...  # noqa: N802


class VectorSpaceModule(Protocol):
    def KrylovSpace(  # noqa: N802
        self,
        n: int,
        columns: int,
        dtype: DType,
        names: Sequence[str],
        *,
        targets: Array,
        largest_growth: float,
        most_iterations: int,
        inner: Callable[[Array, Array], Any] | None = None,
        x_true: Array | None = None,
    ) -> Any: ...


class NormsModule(Protocol):
    def column_norms(self, columns: Array) -> Array: ...
    def residual_norms(self, b: Array, product: Array) -> Array: ...
    def finite_columns(self, columns: Array) -> Array: ...


class ExactDigitsModule(Protocol):
    def add_products(
        self, u: Array, v: Array, sign: int, digits: Array, leading: Array, nonfinite: Array
    ) -> None: ...


class OrderedRowsModule(Protocol):
    def multiply(self, rows: Any, x: Array) -> Array: ...


class ArnoldiModule(Protocol):
    def Arnoldi(self, space: Any, length: int, flexible: bool) -> Any: ...  # noqa: N802


class IdrModule(Protocol):
    def shadow_values(self, n: int, count: int, seed: int) -> Array: ...
    def Idr(self, space: Any, shadows: Array) -> Any: ...  # noqa: N802


class KrylovRoom(Protocol):
    arnoldi: ArnoldiModule
    exact_digits: ExactDigitsModule
    idr: IdrModule
    norms: NormsModule
    ordered_rows: OrderedRowsModule
    spmv: SpmvModule
    vector_space: VectorSpaceModule
