"""Vector operations of multigrid cycles over ranks: a halo exchange, then the kernel of one rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.cpu.multigrid import vector_ops as local
from linforest_precond.distributed.partition.chunk_sums import ChunkSums
from linforest_precond.distributed.partition.matrix import Matrix


class RankVectorOps:
    """The functions of `backends.cpu.multigrid.vector_ops` for vectors with a row for each own unknown.

    Matrices have the own rows, whose columns are own unknowns and then ghosts. Rows have the order of one
    rank, and so have sums over vectors: all results have the bits of one rank where numbers are real.
    """

    def __init__(self, A: Matrix):
        self.halo, self.offsets, self.n = A.halo, A.offsets, int(A.shape[0])
        self.with_ghosts = A.halo.with_ghosts
        self.sums = ChunkSums(A.comm, A.offsets)

    scale = staticmethod(local.scale)
    add = staticmethod(local.add)
    clear = staticmethod(local.clear)
    copy = staticmethod(local.copy)

    def residual(self, matrix: Any, b: Array, x: Array, r: Array) -> None:
        local.residual(matrix, b, self.with_ghosts(x), r)

    def scale_residual(
        self, matrix: Any, weights: Array, factor: float, b: Array, x: Array, r: Array
    ) -> None:
        """The weights are those of the ghosts, too."""
        local.scale_residual(matrix, weights, factor, self.with_ghosts(b), x, r)

    def relax(
        self, matrix: Any, weights: Array, b: Array, x: Array, y: Array, momentum: float, factor: float
    ) -> None:
        local.relax(matrix, weights, b, self.with_ghosts(x), y, momentum, factor)

    def multiply(self, matrix: Any, x: Array, y: Array) -> None:
        local.multiply(matrix, self.with_ghosts(x), y)

    def KrylovSteps(self, rows: int, columns: int, dtype: DType, definite: bool) -> RankKrylovSteps:  # noqa: N802
        return RankKrylovSteps(self, rows, columns, dtype, definite)

    def Center(self, rows: int, columns: int, dtype: DType) -> RankCenter:  # noqa: N802
        return RankCenter(self, dtype)

    def DotProducts(self, dtype: DType, count: int) -> RankDotProducts:  # noqa: N802
        return RankDotProducts(self, dtype, count)


class RankKrylovSteps(local.KrylovSteps):
    """The two Krylov steps of a K-cycle on vectors over ranks."""

    def __init__(self, ops: RankVectorOps, rows: int, columns: int, dtype: DType, definite: bool):
        super().__init__(rows, columns, dtype, definite)  # type: ignore[no-untyped-call]
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
        test = test.astype(self._wide).conj()
        terms = np.stack([test * other.astype(self._wide) for other in others], axis=1)
        return self._ops.sums(terms)


class RankDotProducts(local.DotProducts):
    """Dot products of columns over all ranks."""

    def __init__(self, ops: RankVectorOps, dtype: DType, count: int):
        super().__init__(dtype, count)  # type: ignore[no-untyped-call]
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
