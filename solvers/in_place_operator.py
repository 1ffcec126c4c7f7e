"""The interface of operators that solvers apply in place."""

from __future__ import annotations

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.records.forest import Ordering


class InPlaceOperator:
    """An operator of this package, which solvers apply without allocating and may capture in CUDA graphs."""

    @property
    def stored_dtype(self) -> DType:
        """The type of the numbers that are kept."""
        raise NotImplementedError

    @property
    def ordering(self) -> Ordering | None:
        """The order of the rows, where it is not A's own."""
        raise NotImplementedError

    @property
    def permuted(self) -> InPlaceOperator:
        """The operator on vectors in its own order of the rows."""
        raise NotImplementedError

    def times_power_of_two(self, exponent: int) -> InPlaceOperator:
        """The operator times 2**exponent."""
        raise NotImplementedError

    def apply_into(self, b: Array, x: Array, transpose: bool) -> None:
        """Write the product with the columns of b into x; both are (n, k) arrays and not checked."""
        raise NotImplementedError

    def frozen(self) -> InPlaceOperator:
        """The operator with its present values, which updates do not change."""
        raise NotImplementedError
