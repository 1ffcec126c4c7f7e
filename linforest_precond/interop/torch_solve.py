"""`solve`, whose result torch differentiates with respect to the values of A and to b."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from linforest_precond.backends.array_libraries import is_torch
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.interop.adjoint_solves import SolveOptions, solved
from linforest_precond.interop.dlpack import compressed, coo, native_array, returned_as
from linforest_precond.package_imports import optional_module


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
    """Solve A x = b for sparse tensors of torch, differentiable with respect to A's values and b.

    A backward pass solves one system with the transpose of A, preconditioned by ``M.T`` (the adjoint, for
    complex numbers), and gathers the gradient of A's stored entries only. It is itself differentiable.

    Parameters
    ----------
    A : sparse tensor
        n x n, in CSR, CSC or COO layout, on the CPU or a CUDA device. A COO tensor is coalesced.
    b : (n,) or (n, k) tensor
        On A's device.
    M : LinearOperator, matrix, or function, optional
        An approximate inverse of A, which is a constant for the derivatives; or a function that makes one of
        A, such as ``lf.tridiagonal``, called once for the forward and the backward pass.
    method : {"cg", "fcg", "bicgstab", "gmres", "fgmres", "minres", "idrs"}, optional
        The Krylov method, for both systems. By default "cg" where A is Hermitian and may be positive
        definite, "bicgstab" otherwise.
    rtol, atol : float, optional
        As for `linforest_precond.solvers.cg`; rtol is 1e-8 by default in double and 1e-5 in single
        precision. They bound the accuracy of the gradients, too.
    maxiter : int, optional
        The most iterations, 10 n by default.
    throw : bool
        Whether a system that is not solved is a RuntimeError; otherwise a RuntimeWarning, and x is the last
        iterate.

    Returns
    -------
    tensor
        x, of b's shape, on its device.

    Raises
    ------
    TypeError, ValueError
        For dense tensors, other shapes and types, and tensors on different devices.
    RuntimeError
        If the system, or the adjoint one in a backward pass, is not solved.

    Examples
    --------
    >>> import linforest_precond as lf, torch  # doctest: +SKIP
    >>> from linforest_precond.torch import solve  # doctest: +SKIP
    >>> grid = lf.matrices.poisson((20, 20))  # doctest: +SKIP
    >>> arrays = map(torch.from_numpy, (grid.indptr, grid.indices, grid.data))  # doctest: +SKIP
    >>> A = torch.sparse_csr_tensor(*arrays, grid.shape).requires_grad_()  # doctest: +SKIP
    >>> b = torch.ones(400, dtype=torch.float64, requires_grad=True)  # doctest: +SKIP
    >>> solve(A, b, M=lf.tridiagonal).sum().backward()  # doctest: +SKIP
    >>> A.grad.layout, b.grad.shape  # doctest: +SKIP
    (torch.sparse_csr, torch.Size([400]))
    """
    system = _system(A, SolveOptions(M, method, rtol, atol, maxiter, throw))
    _check_vectors(b, A)
    torch = _torch()
    dtype = torch.promote_types(A.dtype, b.dtype)
    values = _values(A).to(dtype)
    return _solve_function().apply(values, b.to(dtype), system, False)


@dataclass(eq=False)
class _System:
    """Constants for the derivatives: the pattern of A, and the preconditioner."""

    build: Callable[[Any], Any]  # a matrix of SciPy or CuPy from its values
    coordinates: Callable[[], tuple[Any, Any]]  # rows and columns of the entries, as tensors
    options: SolveOptions
    made: list[Any] = field(default_factory=list)  # the preconditioner, made on first use

    def solved(self, values: Any, b: Any, transposed: bool) -> Any:
        A = self.build(values.detach())
        if not self.made:
            self.made.append(self.options.preconditioner(A))
        x = solved(A, native_array("b", b.detach()), self.made[0], self.options, transposed)
        return returned_as(b)(x)


def _system(A: Any, options: SolveOptions) -> _System:
    """The pattern of a sparse tensor."""
    torch = _torch()
    if not is_torch(A) or A.layout not in (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo):
        layout = f" with layout {A.layout}" if is_torch(A) else ""
        raise TypeError(
            f"A must be a sparse tensor in CSR, CSC or COO layout, got a {type(A).__name__}{layout}; "
            "convert it with A.to_sparse_csr(), or call torch.linalg.solve for a dense one"
        )
    shape = tuple(A.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"A must be square and 2-D, got shape {shape}")
    detached = A.detach()
    if A.layout == torch.sparse_coo:
        row, col = detached.coalesce().indices()
        return _System(lambda values: coo("A", values, row, col, shape), lambda: (row, col), options)
    by_rows = A.layout == torch.sparse_csr
    pointers = detached.crow_indices() if by_rows else detached.ccol_indices()
    indices = detached.col_indices() if by_rows else detached.row_indices()
    format = "csr" if by_rows else "csc"

    def coordinates() -> tuple[Any, Any]:
        major = torch.repeat_interleave(
            torch.arange(shape[0], device=indices.device), pointers.diff(), output_size=indices.numel()
        )
        return (major, indices) if by_rows else (indices, major)

    return _System(
        lambda values: compressed("A", format, values, indices, pointers, shape), coordinates, options
    )


def _values(A: Any) -> Any:
    """The stored values of a sparse tensor, as a tensor that torch differentiates."""
    return A.coalesce().values() if A.layout == _torch().sparse_coo else A.values()


def _check_vectors(b: Any, A: Any) -> None:
    if not is_torch(b) or b.layout != _torch().strided:
        raise TypeError(f"b must be a dense tensor of torch, got a {type(b).__name__}")
    if b.device != A.device:
        raise TypeError(f"b must be on A's device {A.device}, got {b.device}; move it with b.to(A.device)")
    if b.ndim not in (1, 2) or b.shape[0] != A.shape[0]:
        raise ValueError(f"b must have the shape ({A.shape[0]},) or ({A.shape[0]}, k), got {tuple(b.shape)}")


def _torch() -> Any:
    return optional_module(
        "torch", "linforest_precond.torch needs torch: pip install linforest-precond[torch]"
    )


@functools.cache
def _solve_function() -> Any:
    """The function of (values, b, system, transposed) that torch differentiates."""
    torch = _torch()

    class Solve(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(values: Any, b: Any, system: _System, transposed: bool) -> Any:
            return system.solved(values, b, transposed)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            values, _, ctx.system, ctx.transposed = inputs
            ctx.save_for_backward(values, output)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            values, x = ctx.saved_tensors
            # The adjoint is the conjugate transpose: A^H y = g where A^T conj(y) = conj(g).
            y = Solve.apply(values, gradient.conj(), ctx.system, not ctx.transposed).conj()
            if not ctx.needs_input_grad[0]:
                return None, y, None, None
            row, col = ctx.system.coordinates()
            if ctx.transposed:
                row, col = col, row
            products = -y[row] * x[col].conj()
            return products if x.ndim == 1 else products.sum(1), y, None, None

    return Solve
