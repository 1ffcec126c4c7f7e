"""Solves with a matrix and with its transpose, for the derivatives of solutions in torch and JAX.

For x = inv(A) b and a function with the gradient g at x, the gradient at b is y = inv(A)^T g, and the one at
the entry (i, j) of A is -y_i x_j. A backward pass costs one solve with the transpose, preconditioned by M.T.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond import solvers
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.user_warnings import warn_user
from linforest_precond.chooser.facts import facts_of
from linforest_precond.chooser.system import tolerance
from linforest_precond.interop.dlpack import native_matrix
from linforest_precond.matrix.checked import CheckedMatrix, checked

METHODS = "cg", "fcg", "bicgstab", "gmres", "fgmres", "minres", "idrs"


@dataclass(frozen=True, eq=False)
class SolveOptions:
    """The checked options of a differentiable solve; see `linforest_precond.torch.solve`."""

    M: Any = None
    method: str | None = None
    rtol: float | None = None
    atol: float = 0.0
    maxiter: int | None = None
    throw: bool = True

    def __post_init__(self) -> None:
        if self.method is not None and self.method not in METHODS:
            raise ValueError(f"method must be None or one of {', '.join(METHODS)}, got {self.method!r}")
        object.__setattr__(self, "M", native_matrix("M", self.M))

    def preconditioner(self, A: Any) -> Any:
        """M itself, or what the function M makes of A."""
        return self.M(A) if is_function(self.M) else self.M


def is_function(M: Any) -> bool:
    """Whether M makes preconditioners, like `linforest_precond.tridiagonal`; operators are callable, too."""
    return callable(M) and not hasattr(M, "shape")


def solved(A: Any, b: Array, M: Any, options: SolveOptions, transposed: bool) -> Array:
    """The solution of A x = b with M, or of A^T x = b with M.T; A is a matrix of SciPy or CuPy."""
    x, info, method = attempted(A, b, M, options, transposed)
    if info:
        _report(info, method, transposed, options.throw)
    return x


def attempted(A: Any, b: Array, M: Any, options: SolveOptions, transposed: bool) -> tuple[Array, int, str]:
    """The last iterate, the first nonzero `info` and the method, without an exception or a warning."""
    if transposed:
        A, M = A.T, None if M is None else M.T
    A = checked(A)
    method = options.method or method_for(A)
    solve: Callable[..., Any] = getattr(solvers, method)
    rtol = tolerance(options.rtol, A.dtype, b.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        x, info = solve(A, b, rtol=rtol, atol=options.atol, maxiter=options.maxiter, M=M)
    failed = np.atleast_1d(info)[np.atleast_1d(info) != 0]
    return x.reshape(b.shape), int(failed[0]) if failed.size else 0, method


def method_for(A: CheckedMatrix) -> str:
    """CG where A may be positive definite, as far as its entries tell, and BiCGStab elsewhere."""
    return "cg" if facts_of(A).may_be_definite else "bicgstab"


def _report(info: int, method: str, transposed: bool, throw: bool) -> None:
    """Raise a RuntimeError, or warn, for a system that was not solved."""
    status = solvers.Status.from_info(info)
    system = "the adjoint system A^T y = g" if transposed else "A x = b"
    message = f"{method} did not solve {system} ({status}): {status.advice}"
    if throw:
        raise RuntimeError(f"{message} throw=False returns the last iterate with a warning.")
    warn_user(message)
