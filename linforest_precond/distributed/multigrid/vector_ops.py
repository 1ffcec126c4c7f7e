"""Vector operations of multigrid cycles over ranks: a halo exchange, then the kernel of one rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.distributed.partition import host
from linforest_precond.distributed.partition.chunk_sums import ChunkSums
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.halo import Halo

local = host.multigrid.vector_ops
KrylovSteps: Any = local.KrylovSteps
DotProducts: Any = local.DotProducts


class RankVectorOps:
    """The functions of a backend's `multigrid.vector_ops` for vectors with a row for each own unknown.

    Matrices have the own rows, whose columns are own unknowns and then ghosts. On the host, rows have the
    order of one rank, and so have sums over vectors: results have the bits of one rank for real numbers.
    """

    def __init__(self, halo: Halo, offsets: Array, backend: Backend):
        self.halo, self.offsets, self.backend, self.n = halo, offsets, backend, int(offsets[-1])
        self.with_ghosts = halo.with_ghosts
        self._local = own = backend.multigrid.vector_ops
        self.scale, self.add, self.clear, self.copy = own.scale, own.add, own.clear, own.copy
        self.is_host = backend.name == "cpu"
        self.sums: Any = ChunkSums(halo.comm, offsets) if self.is_host else SumsOverRanks(halo.comm)

    def residual(self, matrix: Any, b: Array, x: Array, r: Array) -> None:
        self._local.residual(matrix, b, self.with_ghosts(x), r)

    def scale_residual(
        self, matrix: Any, weights: Array, factor: float, b: Array, x: Array, r: Array
    ) -> None:
        """The weights are those of the ghosts, too."""
        self._local.scale_residual(matrix, weights, factor, self.with_ghosts(b), x, r)

    def relax(
        self, matrix: Any, weights: Array, b: Array, x: Array, y: Array, momentum: float, factor: float
    ) -> None:
        self._local.relax(matrix, weights, b, self.with_ghosts(x), y, momentum, factor)

    def multiply(self, matrix: Any, x: Array, y: Array) -> None:
        self._local.multiply(matrix, self.with_ghosts(x), y)

    def KrylovSteps(self, rows: int, columns: int, dtype: DType, definite: bool) -> Any:  # noqa: N802
        if self.is_host:
            return RankKrylovSteps(self, rows, columns, dtype, definite)
        return DeviceKrylovSteps(self, dtype, definite)

    def Center(self, rows: int, columns: int, dtype: DType) -> RankCenter:  # noqa: N802
        return RankCenter(self, dtype)

    def DotProducts(self, dtype: DType, count: int) -> RankDotProducts:  # noqa: N802
        return RankDotProducts(self, dtype, count)


class SumsOverRanks:
    """Sums over vectors on the device: of each rank's rows, then over the ranks in their order."""

    def __init__(self, comm: Communicator) -> None:
        self.comm = comm

    def total(self, terms: Array) -> Array:
        """The sum of all ranks' rows, on all: collective."""
        own = terms.sum(axis=0)[None]
        total: Array = self.comm.allgather_known(own, [1] * self.comm.size).sum(axis=0)
        return total


class RankKrylovSteps(KrylovSteps):  # type: ignore[misc]
    """The two Krylov steps of a K-cycle on vectors over ranks, on the host."""

    def __init__(self, ops: RankVectorOps, rows: int, columns: int, dtype: DType, definite: bool):
        super().__init__(rows, columns, dtype, definite)
        self._ops, self._wide = ops, np.result_type(dtype, np.float64)

    def first_step(self, matrix: Any, c: Array, b: Array, v: Array, rest: Array) -> None:
        self._ops.multiply(matrix, c, v)
        local.settle_first(self._products(c if self.definite else v, v, b), self._scalars)
        local.subtract(self._scalars[local.FIRST], b, v, rest)

    def second_step(self, matrix: Any, d: Array, v: Array, rest: Array) -> None:
        product = np.empty_like(d)
        self._ops.multiply(matrix, d, product)
        local.settle_second(self._products(d if self.definite else product, v, product, rest), self._scalars)

    def _products(self, test: Array, *others: Array) -> Array:
        """The inner products of a vector with others, of each chunk of rows."""
        return self._ops.sums(products(self._wide, test, others))


class DeviceKrylovSteps:
    """The two Krylov steps of a K-cycle on vectors over ranks, on the device; see `KrylovSteps`.

    The factors of the columns stay on the device.
    """

    def __init__(self, ops: RankVectorOps, dtype: DType, definite: bool):
        self._ops, self._wide, self._definite = ops, np.result_type(dtype, np.float64), definite

    def first_step(self, matrix: Any, c: Array, b: Array, v: Array, rest: Array) -> None:
        xp = self._ops.backend.xp
        self._ops.multiply(matrix, c, v)
        curvature, along = self._products(c if self._definite else v, v, b)
        usable = (curvature.real > 0) & xp.isfinite(curvature.real) & xp.isfinite(along)
        self._curvature = xp.where(usable, curvature.real, 0)
        self._first = xp.where(usable, along / curvature.real, 1)
        self._second = xp.zeros_like(self._first)
        rest[...] = b - self._first * v

    def second_step(self, matrix: Any, d: Array, v: Array, rest: Array) -> None:
        xp, product, first = self._ops.backend.xp, self._ops.backend.xp.empty_like(d), self._curvature
        self._ops.multiply(matrix, d, product)
        mixed, curvature, along = self._products(d if self._definite else product, v, product, rest)
        left = curvature.real - (mixed.real**2 + mixed.imag**2) / first
        second = along / left
        factor = self._first - mixed.conj() * second / first
        is_independent = (first != 0) & (left > 1e-14 * curvature.real)
        taken = is_independent & xp.isfinite(second) & xp.isfinite(factor)
        self._second = xp.where(taken, second, 0)
        self._first = xp.where(taken, factor, self._first)

    def combine(self, c: Array, d: Array) -> None:
        xp = self._ops.backend.xp
        c[...] = self._first * c + xp.where(self._second != 0, self._second * d, 0)

    def _products(self, test: Array, *others: Array) -> Array:
        """The inner products of a vector with others."""
        return self._ops.sums.total(products(self._wide, test, others))


def products(wide: DType, test: Array, others: Sequence[Array]) -> Array:
    """The terms of the inner products of a vector with others, in this precision."""
    test = test.astype(wide).conj()
    return xp_of(test).stack([test * other.astype(wide) for other in others], axis=1)


class RankDotProducts(DotProducts):  # type: ignore[misc]
    """Dot products of columns over all ranks, on the host."""

    def __init__(self, ops: RankVectorOps, dtype: DType, count: int):
        super().__init__(dtype, count)
        self._ops = ops

    def multiply(self, number: int, matrix: Any, x: Array, y: Array) -> None:
        self._ops.multiply(matrix, x, y)
        self.dot(number, x, y)

    def dot(self, number: int, u: Array, v: Array) -> None:
        u, v = (each.astype(self._wide, copy=False) for each in (u, v))
        products = (u.conj() * v).real
        self.values[number] = self._ops.sums.total(products)[0]


class RankCenter:
    """Subtracts the mean of each column over all ranks."""

    def __init__(self, ops: RankVectorOps, dtype: DType):
        self._ops, self._wide = ops, np.result_type(dtype, np.float64)

    def apply(self, x: Array) -> None:
        x -= (self._ops.sums.total(x.astype(self._wide)) / self._ops.n).astype(x.dtype)
