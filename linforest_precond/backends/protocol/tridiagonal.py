"""What the room `tridiagonal` of a backend offers."""

from __future__ import annotations

from typing import Any, Protocol

from linforest_precond.backends.annotations import Array


class TridiagonalMethod(Protocol):
    """A factored (block) tridiagonal system: sweeps without pivoting, or elimination with it."""

    nbytes_extra: int

    def solve_into(self, b: Array, x: Array, order: Array | None, transpose: bool) -> None: ...


class PivotsModule(Protocol):
    def factor(
        self, lower: Array, diagonal: Array, upper: Array, perturb: bool = True
    ) -> tuple[Array, Array]: ...


class ClippingModule(Protocol):
    def clip(self, lower: Array, diagonal: Array, upper: Array) -> tuple[Array, Array, Array]: ...


class SweepsModule(Protocol):
    SYMMETRIC_BANDS: int

    def Sweeps(self, lower: Array, inverse: Array, upper: Array, symmetric: bool) -> Any: ...  # noqa: N802


class PivotingModule(Protocol):
    def Pivoted(self, lower: Array, diagonal: Array, upper: Array, perturbed: int) -> Any: ...  # noqa: N802
    def PivotedBlocks(  # noqa: N802
        self, lower: Array, diagonal: Array, upper: Array, inverse: Array, perturbed: int
    ) -> Any: ...


class ExtrapolationModule(Protocol):
    def extrapolate(self, x: Array, z: Array, y: Array, momentum: float, factor: float) -> None: ...


class TridiagonalRoom(Protocol):
    pivots: PivotsModule
    clipping: ClippingModule
    sweeps: SweepsModule
    pivoting: PivotingModule
    extrapolation: ExtrapolationModule
