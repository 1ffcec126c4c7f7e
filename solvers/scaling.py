"""Systems at the edge of the floating-point range are scaled by powers of two: no norm over- or underflows.

With A 2**-e and b 2**-f instead of A and b, the solution is x 2**(e - f): the same iteration, bit for bit,
where nothing overflows or underflows. f is one number for each column of b.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.value_range import (
    NO_EXPONENT,
    column_exponents,
    exponents_outside,
    shifted,
    solver_limit,
)


@dataclass(frozen=True, eq=False)
class Scaling:
    """The exponents e of the matrix and f of the columns; 0 where numbers are well inside the range."""

    matrix: int
    columns: Any

    @property
    def is_identity(self) -> bool:
        return not (self.matrix or self.columns.any())

    def scaled(self, b: Array) -> Array:
        """Right-hand sides of the scaled system, or residuals."""
        return shifted(b, -self.columns) if self.columns.any() else b

    def scaled_solution(self, x: Array) -> Array:
        """Solutions of the scaled system, from those of the given one."""
        return x if self.is_identity else shifted(x, self.matrix - self.columns)

    def solution(self, x: Array) -> Array:
        """Solutions of the given system, from those of the scaled one."""
        return x if self.is_identity else shifted(x, self.columns - self.matrix)

    def product(self, product: Any) -> Any:
        return ScaledOperator(product, -self.matrix) if self.matrix else product

    def preconditioning(self, preconditioning: Any) -> Any:
        if not self.matrix or preconditioning.is_identity:
            return preconditioning
        return ScaledOperator(preconditioning, self.matrix)


def scaling_of(A: Any, b: Array, norms: Any, x0: Array | None) -> Scaling:
    """The scaling of a system; A is a `CheckedMatrix`, a dense array, or an operator, which is not scaled."""
    matrix, columns = _matrix_exponent(A, b.dtype), exponents_outside(b, norms)
    if x0 is not None:
        columns = _with_start(columns, b, column_exponents(x0) + matrix)
    return Scaling(matrix, columns)


def _with_start(columns: Any, b: Array, reach: Any) -> Any:
    """The exponents of columns for products A x0 with the exponents `reach`, as far as b does not vanish."""
    limit = solver_limit(b.dtype)
    if not (reach > limit).any():
        return columns
    own = column_exponents(b)
    return np.where(
        (reach > limit) & (own != NO_EXPONENT),
        np.maximum(columns, np.minimum(own + 2 * limit, reach)),
        columns,
    )


def scaling_by_norms(norms: Any, dtype: DType) -> Scaling:
    """The scaling by norms alone, which are the same on all ranks, for a user's inner product."""
    found = np.where(np.isfinite(norms), np.frexp(norms)[1], 0)
    return Scaling(0, np.where(abs(found) > solver_limit(dtype), found, 0))


def _matrix_exponent(A: Any, dtype: DType) -> int:
    limit = solver_limit(dtype)
    if isinstance(A, CheckedMatrix):
        return A.exponent_outside(-limit, limit) or 0
    if not isinstance(A, xp_of(A).ndarray) or A.dtype.kind not in "fc":
        return 0
    parts = (A.real, A.imag) if A.dtype.kind == "c" else (A,)
    largest = max((abs(float(end)) for part in parts for end in (part.max(), part.min())), default=0.0)
    exponent = math.frexp(largest)[1] if math.isfinite(largest) else 0
    return exponent if abs(exponent) > limit else 0


class ScaledOperator:
    """The products of an operator times 2**exponent: one half before, one after, so that none overflows."""

    capturable = own = is_identity = False

    def __init__(self, operator: Any, exponent: int) -> None:
        self._operator, self._before = operator, exponent // 2
        self._after = exponent - self._before

    def into(self, space: Any, source: str, target: str) -> None:
        """Write the product with vector `source` into vector `target`; both are given by name."""
        given = space[source].copy()
        space[source][...] = shifted(given, self._before)
        self._operator.into(space, source, target)
        space[source][...] = given
        space[target][...] = shifted(space[target], self._after)

    def residual(self, b: Array, x: Array, target: Array) -> None:
        """Write b - A x into `target`."""
        self._operator.residual(shifted(b, -self._after), shifted(x, self._before), target)
        target[...] = shifted(target, self._after)

    def magnitudes(self, x: Array) -> Array | None:
        """|A| |x|; None where A is an operator."""
        found = self._operator.magnitudes(shifted(x, self._before))
        return None if found is None else shifted(found, self._after)


def unscaled_callback(callback: Callable[[Array], object] | None, scaling: Scaling) -> Any:
    """A user's callback, called with solutions of the given system."""
    if callback is None or scaling.is_identity:
        return callback
    return lambda x: callback(scaling.solution(x.reshape(x.shape[0], -1)).reshape(x.shape))
