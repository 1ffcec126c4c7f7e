"""A sparse matrix of JAX as arrays that may be traced: products in JAX, solves by a callback on the host."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host, xp_of
from linforest_precond.interop.adjoint_solves import SolveOptions, attempted, is_function, method_for, solved
from linforest_precond.interop.dlpack import padded_matrix
from linforest_precond.package_imports import optional_module


def jax_module() -> Any:
    """JAX, which must have been installed."""
    return optional_module("jax", "linforest_precond.jax needs JAX: pip install linforest-precond[jax]")


class SparseSystem(NamedTuple):
    """The arrays of BCSR, or of BCOO where `indptr` is None; a pytree."""

    data: Any
    indices: Any
    indptr: Any
    rows: Any  # the number of rows, as the length of an empty array: a pytree has no static integers

    @classmethod
    def of(cls, A: Any) -> SparseSystem:
        """The arrays of a checked BCSR or BCOO matrix."""
        rows = jax_module().numpy.zeros((A.shape[0], 0))
        return cls(A.data, A.indices, getattr(A, "indptr", None), rows)

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])

    def coordinates(self) -> tuple[Any, Any]:
        """Rows and columns of the entries; those of padding are outside the matrix."""
        if self.indptr is None:
            return self.indices[:, 0], self.indices[:, 1]
        slots = jax_module().numpy.arange(self.data.shape[0])
        return jax_module().numpy.searchsorted(self.indptr, slots, side="right") - 1, self.indices

    def product(self, x: Any, transposed: bool = False) -> Any:
        """A x or A^T x in operations that JAX differentiates and transposes."""
        row, col = self.coordinates()
        if transposed:
            row, col = col, row
        # Padding may have one index inside the matrix.
        padding = (row >= self.n) | (col >= self.n)
        data = jax_module().numpy.where(padding, 0, self.data)
        factors = x.at[col].get(mode="fill", fill_value=0)
        products = data.reshape(data.shape + (1,) * (x.ndim - 1)) * factors
        return (
            jax_module()
            .numpy.zeros((self.n, *x.shape[1:]), products.dtype)
            .at[row]
            .add(products, mode="drop")
        )

    def solved(self, b: Any, options: SolveOptions, transposed: bool) -> Any:
        """The solution of A x = b, or of A^T x = b, computed on the host when the values are known."""
        return self._called(_solved_on_host, b, options, transposed, _like(b))

    def attempted(self, b: Any, options: SolveOptions, transposed: bool) -> Any:
        """The last iterate, and `info`."""
        info = jax_module().ShapeDtypeStruct((), np.int32)
        return self._called(_attempted_on_host, b, options, transposed, (_like(b), info))

    def _called(self, function: Any, b: Any, options: SolveOptions, transposed: bool, result: Any) -> Any:
        """The result of a function of host arrays, by `jax.pure_callback`."""

        def call(*arrays: Any) -> Any:
            return function([np.asarray(array) for array in arrays], options, transposed)

        arrays = [array for array in (b, self.data, self.indices, self.indptr) if array is not None]
        return jax_module().pure_callback(call, result, *arrays, vmap_method="sequential")


def _like(b: Any) -> Any:
    return jax_module().ShapeDtypeStruct(b.shape, b.dtype)


def _on_device_of(M: Any, arrays: list[Array]) -> tuple[Any, Array]:
    """A and b of SciPy, or of CuPy if M is an operator on the GPU."""
    xp = np if is_function(M) else xp_of(M)
    b, data, indices, *pointers = map(xp.asarray, arrays)
    n = b.shape[0]
    return padded_matrix("A", data, indices, pointers[0] if pointers else None, (n, n)), b


def _solved_on_host(arrays: list[Array], options: SolveOptions, transposed: bool) -> Array:
    A, b = _on_device_of(options.M, arrays)
    x = solved(A, b, options.preconditioner(A), options, transposed)
    return np.asarray(on_host(x), b.dtype)  # stall: the callback returns to the host


def _attempted_on_host(arrays: list[Array], options: SolveOptions, transposed: bool) -> tuple[Array, Any]:
    A, b = _on_device_of(options.M, arrays)
    M, method = options.preconditioner(A), options.method or method_for(A)
    x, info = attempted(A, b, M, options, transposed, method)
    return np.asarray(on_host(x), b.dtype), np.int32(info)  # stall: the callback returns to the host
