"""Products with pooled work vectors: a work space for each number of columns and each stream."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.workspaces import Workspaces


def apply_in_columns(
    pool: Workspaces, backend: Backend, b: Array, x: Array, make: Callable[[int], Any], variant: int = 0
) -> None:
    """Apply work spaces of a pool to the columns of b, as many at a time as vector operations take.

    ``make(columns)`` allocates a work space, whose method ``apply(b, x)`` computes the product. `variant`, 0
    or 1, tells apart work spaces of different products in one pool.
    """
    most, stream = backend.multigrid.vector_ops.MOST_COLUMNS, backend.runtime.streams.current()
    for first in range(0, b.shape[1], most):
        some_b, some_x = b[:, first : first + most], x[:, first : first + most]
        columns = some_b.shape[1]
        loan = pool.take((2 * columns + variant, stream), partial(make, columns))
        loan.workspace.apply(some_b, some_x)
        pool.give_back(loan)


class WorkVectors:
    """Base of work spaces: contiguous vectors of one shape and type, which other arguments are copied to."""

    def __init__(self, backend: Backend, n: int, columns: int, dtype: DType) -> None:
        self._ops, self._xp = backend.multigrid.vector_ops, backend.xp
        self._shape, self._dtype = (n, columns), dtype

    def _vector(self) -> Array:
        zeros: Array = self._xp.zeros(self._shape, self._dtype)
        return zeros

    @cached_property
    def _own_b(self) -> Array:
        """Replaces a b of another type or layout; the first application allocates it, as `_own_x`."""
        return self._vector()

    @cached_property
    def _own_x(self) -> Array:
        return self._vector()

    def _fits(self, vector: Array) -> bool:
        return bool(vector.dtype == self._dtype and vector.flags.c_contiguous)

    def apply(self, b: Array, x: Array) -> None:
        """Write the product with b into x; both are (n, k), of any strides and precision."""
        own_b, own_x = b, x if self._fits(x) else self._own_x
        if not self._fits(b):
            own_b = self._own_b
            self._ops.copy(b, own_b)
        self._apply(own_b, own_x)
        if own_x is not x:
            self._ops.copy(own_x, x)

    def _apply(self, b: Array, x: Array) -> None:
        raise NotImplementedError
