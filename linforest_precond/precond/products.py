"""`Products` implements the products of a LinearOperator of SciPy or cupyx, its transpose and its adjoint."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import is_foreign
from linforest_precond.interop.dlpack import native_array, returned_as


class Products:
    """The products of a LinearOperator, in terms of `_apply(r, transpose, conjugate)` for a 1- or 2-D r.

    Vectors of shape (n,) and matrices of shape (n, k) are handled here. The library decides which other
    shapes it accepts: since SciPy 1.18, batches (..., n) and (..., n, k).
    """

    shape: tuple[int, int]
    # The number of systems in a stack, and the rows of each: `@` also takes a stack of vectors or matrices.
    systems: tuple[int, int] | None = None

    if TYPE_CHECKING:  # attributes of the LinearOperator that `operator_class` adds as a base

        @property
        def T(self) -> Products: ...  # noqa: N802
        @property
        def H(self) -> Products: ...  # noqa: N802
        @property
        def dtype(self) -> DType: ...

    def _apply(self, r: Array, transpose: bool, conjugate: bool) -> Array:
        raise NotImplementedError

    def _array(self, r: npt.ArrayLike) -> Array:
        raise NotImplementedError

    def _view(self, transpose: bool, conjugate: bool) -> Any:
        raise NotImplementedError

    def _transpose(self) -> Any:
        return self._view(True, False)

    def _adjoint(self) -> Any:
        return self._view(True, True)

    @overload
    def __matmul__(self, other: Array, /) -> Array: ...
    @overload
    def __matmul__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any:
        # SciPy's checks of x take as long as a small product.
        if type(other) is np.ndarray and other.ndim == 1:
            return self.matvec(other)
        return super().__matmul__(other)  # type: ignore[misc]

    def __rmatmul__(self, other: Any, /) -> Any:
        if hasattr(other, "tocsr"):
            raise TypeError(
                "the product of a sparse matrix and M is an operator: pass aslinearoperator(A) @ M"
            )
        return super().__rmatmul__(other)  # type: ignore[misc]

    def dot(self, x: Any) -> Any:
        """The product with an array or another operator; ``M @ x`` calls it."""
        if is_foreign(x):
            return returned_as(x)(self.dot(native_array("r", x)))
        if hasattr(x, "matvec") or np.isscalar(x):
            return super().dot(x)  # type: ignore[misc]
        x = self._array(x)
        if self._is_stack(x):
            return self.dot(x.reshape(self.shape[0], *x.shape[2:])).reshape(x.shape)
        return self.matmat(x) if x.ndim > 1 else self.matvec(x)

    def _is_stack(self, x: Any) -> bool:
        """Whether x has the shape (k, n) or (k, n, m), for k systems of n rows."""
        return self.systems is not None and getattr(x, "ndim", 0) in (2, 3) and x.shape[:2] == self.systems

    def matvec(self, x: npt.ArrayLike) -> Array:
        """The product with a vector of shape (n,), or of another shape that the library accepts."""
        return self._vector_product(x, False, super().matvec)  # type: ignore[misc]

    def rmatvec(self, x: npt.ArrayLike) -> Array:
        """The adjoint's product with a vector of shape (n,), or of another shape that the library accepts."""
        return self._vector_product(x, True, super().rmatvec)  # type: ignore[misc]

    def matmat(self, X: npt.ArrayLike) -> Array:
        """The product with a matrix of shape (n, k), or with a batch of them where the library accepts it."""
        return self._matrix_product(X, False, super().matmat)  # type: ignore[misc]

    def rmatmat(self, X: npt.ArrayLike) -> Array:
        """The adjoint's product with a matrix of shape (n, k), or with a batch of them as for `matmat`."""
        return self._matrix_product(X, True, super().rmatmat)  # type: ignore[misc]

    def _vector_product(self, x: npt.ArrayLike, adjoint: bool, by_library: Callable[[Array], Array]) -> Array:
        r, n, returned = self._array(x), self.shape[0], returned_as(x)
        if r.shape == (n,):
            return returned(self._apply(r, adjoint, adjoint))
        try:
            return returned(by_library(r))
        except ValueError as error:
            raise ValueError(
                f"r must have the shape ({n},), or ({n}, k) for @ and matmat, got {r.shape}"
            ) from error

    def _matrix_product(self, X: npt.ArrayLike, adjoint: bool, by_library: Callable[[Array], Array]) -> Array:
        R, n, returned = self._array(X), self.shape[0], returned_as(X)
        if R.ndim == 2 and R.shape[0] == n:
            return returned(self._apply(R, adjoint, adjoint))
        try:
            return returned(by_library(R))
        except ValueError as error:
            k, rows = self.systems or (0, 0)
            stack = f", or for @ ({k}, {rows}) or ({k}, {rows}, m)" if self.systems else ""
            raise ValueError(f"r must have the shape ({n}, k){stack}, got {R.shape}") from error

    # The library calls these for the shapes that it has accepted.

    def _matvec(self, r: npt.ArrayLike) -> Array:
        return self._apply_to_vectors(self._array(r), adjoint=False)

    def _rmatvec(self, r: npt.ArrayLike) -> Array:
        return self._apply_to_vectors(self._array(r), adjoint=True)

    def _matmat(self, R: npt.ArrayLike) -> Array:
        return self._apply_along(self._array(R), -2, adjoint=False)

    def _rmatmat(self, R: npt.ArrayLike) -> Array:
        return self._apply_along(self._array(R), -2, adjoint=True)

    def _apply_to_vectors(self, r: Array, adjoint: bool) -> Array:
        """Shapes (n,), (n, 1) and (..., n)."""
        return self._apply_along(r, 0 if r.shape == (self.shape[0], 1) else -1, adjoint)

    def _apply_along(self, r: Array, axis: int, adjoint: bool) -> Array:
        """Apply to the vectors along one axis."""
        swapped = r.swapaxes(0, axis)
        columns = swapped.reshape(swapped.shape[0], math.prod(swapped.shape[1:]))
        return self._apply(columns, adjoint, adjoint).reshape(swapped.shape).swapaxes(0, axis)


class TransposedPreconditioner(Products):
    """The transpose, adjoint or conjugate of a preconditioner; an update of that changes the view, too."""

    def __init__(self, operator: Any, transpose: bool, conjugate: bool):
        super().__init__(operator.dtype, operator.shape)  # type: ignore[call-arg]
        self.operator, self.flags, self.systems = operator, (transpose, conjugate), operator.systems

    def _array(self, r: npt.ArrayLike) -> Array:
        return self.operator._array(r)

    def _apply(self, r: Array, transpose: bool, conjugate: bool) -> Array:
        return self.operator._apply(r, self.flags[0] != transpose, self.flags[1] != conjugate)

    def _view(self, transpose: bool, conjugate: bool) -> Any:
        return self.operator._view(self.flags[0] != transpose, self.flags[1] != conjugate)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return view_of, (self.operator, *self.flags)


@functools.cache
def operator_class(kind: type, library: str) -> type:
    """The kind as a LinearOperator of a library, which is imported only here."""
    base = importlib.import_module(library).LinearOperator
    own = {"__doc__": kind.__doc__, "__module__": kind.__module__}
    return type(kind.__name__, (kind, base), own)


def view_of(operator: Any, transpose: bool, conjugate: bool) -> Any:
    return operator_class(TransposedPreconditioner, operator._backend.linear_operators)(
        operator, transpose, conjugate
    )
