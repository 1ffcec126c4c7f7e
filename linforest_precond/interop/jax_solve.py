"""`solve`, whose result JAX differentiates with respect to the values of A and to b."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import is_foreign, is_jax_sparse, is_torch, on_host, xp_of
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.interop.adjoint_solves import SolveOptions, attempted, is_function, solved
from linforest_precond.interop.dlpack import native_array, native_matrix, padded_matrix, returned_as
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
    x, info, _ = attempted(A, b, options.preconditioner(A), options, transposed)
    return np.asarray(on_host(x), b.dtype), np.int32(info)  # stall: the callback returns to the host


@named_arguments
def solve(
    A: Any,
    b: Any,
    *,
    M: Any = None,
    method: str | None = None,
    rtol: float | None = None,
    atol: float = 0.0,
    maxiter: int | None = None,
    throw: bool = True,
) -> Any:
    """Solve A x = b for sparse matrices of JAX, differentiable with respect to A's values and b.

    `jax.grad`, `jax.jvp`, `jax.jit` and `jax.vmap` apply, in any order (`jax.lax.custom_linear_solve`). A
    transposed solve is preconditioned by ``M.T``.

    Parameters
    ----------
    A : BCSR or BCOO matrix
        n x n, without batch and dense dimensions; padding is left out.
    b : (n,) or (n, k) array
        Of JAX, on A's device, or of NumPy.
    M : LinearOperator, matrix, or function, optional
        An approximate inverse of A, which is a constant for the derivatives; or a function that makes one of
        A, such as ``lf.tridiagonal``, called in each solve.
    method, rtol, atol, maxiter, throw
        As for `linforest_precond.torch.solve`.

    Returns
    -------
    array
        x, of b's shape.

    Notes
    -----
    Outside of transformations, arrays are exchanged on their device without a copy. Traced arrays are passed
    to the host by `jax.pure_callback`; from there they go to the GPU if M is an operator on it.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, linforest_precond as lf  # doctest: +SKIP
    >>> from jax.experimental.sparse import BCSR  # doctest: +SKIP
    >>> from linforest_precond.jax import solve  # doctest: +SKIP
    >>> A = BCSR.from_scipy_sparse(lf.matrices.poisson((20, 20)))  # doctest: +SKIP
    >>> gradient = jax.grad(lambda b: solve(A, b).sum())(jnp.ones(400))  # doctest: +SKIP
    >>> gradient.shape  # doctest: +SKIP
    (400,)
    """
    jax = jax_module()
    options = SolveOptions(M, method, rtol, atol, maxiter, throw)
    b = jax.numpy.asarray(b) if isinstance(b, np.ndarray) else b
    _check_arguments(A, b)
    if not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves((A, b))):
        matrix = native_matrix("A", A)
        M = options.preconditioner(matrix)
        return returned_as(b)(solved(matrix, native_array("b", b), M, options, transposed=False))
    b = b.astype(jax.numpy.result_type(A.dtype, b.dtype))
    system = SparseSystem.of(A)
    return jax.lax.custom_linear_solve(
        system.product,
        b,
        lambda _, right: system.solved(right, options, transposed=False),
        lambda _, right: system.solved(right, options, transposed=True),
    )


def _check_arguments(A: Any, b: Any) -> None:
    if not is_jax_sparse(A):
        raise TypeError(
            f"A must be a BCSR or BCOO matrix of JAX, got a {type(A).__name__}; convert it with "
            "jax.experimental.sparse.BCSR.fromdense or from_scipy_sparse"
        )
    if not is_foreign(b) or is_torch(b) or is_jax_sparse(b):
        raise TypeError(
            f"b must be a dense array of JAX, got a {type(b).__name__}; pass jax.numpy.asarray(b)"
        )
    if A.n_batch or A.n_dense or len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(
            f"A must be one square matrix, got shape {A.shape} with {A.n_batch} batch dimension(s)"
        )
    if b.ndim not in (1, 2) or b.shape[0] != A.shape[0]:
        raise ValueError(f"b must have the shape ({A.shape[0]},) or ({A.shape[0]}, k), got {b.shape}")
