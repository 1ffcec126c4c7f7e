"""The arguments of a solver, checked: operators, vectors and tolerances on one device."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.gate import as_csr, value_dtype
from linforest_precond.precond.operators import Preconditioner

# Residuals that grow so many times diverge.
LARGEST_GROWTH = 1e10


@dataclass(frozen=True)
class Problem:
    """k systems A x = b of n rows, and when they count as solved.

    Attributes
    ----------
    product, preconditioning
        The backend's `Product` of A and `Preconditioning` of M.
    b, x0
        (n, k) arrays of the working type; x0 is None where it is zero.
    norms, targets
        Of b's columns, and of the residuals that are small enough: (k,) arrays on the host.
    one
        Whether b is one vector, and so the answer.
    """

    backend: Any
    product: Any
    preconditioning: Any
    b: Any
    x0: Any
    norms: np.ndarray
    targets: np.ndarray
    most_iterations: int
    inner: Any
    one: bool


def checked(A, b, x0, rtol, atol, maxiter, M, callback, inner) -> Problem:
    """The problem that the arguments are, or an exception that says what is wrong with them."""
    rtol, atol = _checked_tolerance("rtol", rtol), _checked_tolerance("atol", atol)
    backend = backend_of(A)
    n = _checked_rows("A", A)
    b = checked_vectors("b", b, n, backend)
    x0 = None if x0 is None else checked_vectors("x0", x0, n, backend)
    if x0 is not None and _as_columns(x0).shape != _as_columns(b).shape:
        raise ValueError(f"x0 must have b's shape {b.shape}, got {x0.shape}")
    if M is not None and _checked_rows("M", M) != n:
        raise ValueError(f"M must have A's shape {(n, n)}, got {M.shape}")
    if M is not None and backend_of(M) is not backend:
        raise TypeError(f"M must be on {backend.name} like A, got a {_name_of(M)}")
    for name, function in (("inner", inner), ("callback", callback)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be None or a function, got a {type(function).__name__}")
    csr = as_csr(A) if hasattr(A, "tocsr") else None
    dtype = _working_dtype(csr.data if csr is not None else A, b, x0)
    columns = _as_columns(b).astype(dtype, copy=False)
    norms = norms_of(columns, inner)
    return Problem(
        backend=backend,
        product=backend.krylov.spmv.Product(A if csr is None else csr, dtype),
        preconditioning=backend.krylov.spmv.Preconditioning(M, dtype, ours=isinstance(M, Preconditioner)),
        b=columns,
        x0=None if x0 is None else _as_columns(x0).astype(dtype, copy=False),
        norms=norms,
        targets=np.maximum(rtol * norms, atol),
        most_iterations=_checked_maxiter(maxiter, n),
        inner=inner,
        one=b.ndim == 1 or b.shape[1] == 1,
    )


def _as_columns(vectors):
    return vectors.reshape(-1, 1) if vectors.ndim == 1 else vectors


def norms_of(columns, inner) -> np.ndarray:
    """The norms of the columns, on the host."""
    xp = backend_of(columns).xp
    if not columns.size:
        return np.zeros(columns.shape[1])
    if inner is not None:
        return np.array([math.sqrt(abs(complex(inner(column, column)))) for column in columns.T])
    sizes = abs(columns.astype(np.promote_types(columns.dtype, np.float64), copy=False))
    largest = xp.maximum(sizes.max(axis=0), np.finfo(float).tiny)
    norms = largest * xp.sqrt(((sizes / largest) ** 2).sum(axis=0))
    return norms if xp is np else norms.get()  # stall: tolerances are relative to it


def _checked_tolerance(name, value):
    if not isinstance(value, int | float | np.number) or not value >= 0:
        raise ValueError(f"{name} must be a number that is not negative, got {value!r}")
    return float(value)


def _checked_maxiter(maxiter, n):
    if maxiter is None:
        return 10 * n
    try:
        count = operator.index(maxiter)
    except TypeError:
        raise TypeError(f"maxiter must be None or an integer, got {maxiter!r}") from None
    if count < 0:
        raise ValueError(f"maxiter must be None or not negative, got {maxiter}")
    return count


def _checked_rows(name, matrix):
    shape = getattr(matrix, "shape", None)
    if shape is None or not (hasattr(matrix, "matvec") or hasattr(matrix, "__matmul__")):
        raise TypeError(
            f"{name} must be a sparse matrix, a 2-D array or a LinearOperator, got a {type(matrix).__name__}"
        )
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{name} must be square, got the shape {tuple(shape)}")
    return shape[0]


def _name_of(thing):
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def checked_vectors(name, vectors, n, backend):
    """One or several vectors of n finite numbers on the backend."""
    if backend_of(vectors) is not backend:
        raise TypeError(f"{name} must be on {backend.name} like A, got a {_name_of(vectors)}")
    xp = backend.xp
    vectors = xp.asarray(vectors)
    if vectors.ndim not in (1, 2) or vectors.shape[0] != n:
        raise ValueError(f"{name} must have the shape ({n},) or ({n}, k), got {tuple(vectors.shape)}")
    value_dtype(name, vectors.dtype)
    if not bool(xp.isfinite(vectors).all()):  # stall: nothing is done with numbers that are none
        raise ValueError(f"{name} must be finite, got nan or inf")
    return vectors


def _working_dtype(*arrays):
    dtypes = [getattr(array, "dtype", None) for array in arrays]
    return np.result_type(*(value_dtype("A", dtype) for dtype in dtypes if dtype is not None))
