"""`solve`, whose result JAX differentiates with respect to the values of A and to b."""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends.array_libraries import is_foreign, is_jax_sparse, is_torch
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.interop.adjoint_solves import SolveOptions, solved
from linforest_precond.interop.dlpack import native_array, native_matrix, returned_as
from linforest_precond.interop.jax_sparse import SparseSystem, jax_module


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
