"""`checked_problem` checks the arguments of a solver: operators, vectors and tolerances on one device."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend, backend_of
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.array_libraries import on_host, refuse_masked_or_ragged, xp_of
from linforest_precond.matrix.checked import CheckedMatrix, checked
from linforest_precond.matrix.checks import VALUE_DTYPES, check_device, check_finite, value_dtype
from linforest_precond.matrix.conversion import csr
from linforest_precond.matrix.value_range import nonzero_entries
from linforest_precond.matrix.vectors import checked_vectors, norms_of, shaped_vectors

from .null_space import NullSpace, null_space_of
from .reordering import Reordering, reordering_of
from .scaling import Scaling, scaling_by_norms, scaling_of
from .vector_space import InPlaceOperator, MatrixProduct, Preconditioning

# A residual whose norm grows by more than this factor diverges.
LARGEST_GROWTH = 1e10

# Rounding errors of a residual below this share of the target are neglected.
NEGLIGIBLE = 1e-3

# A user's inner product of two vectors: any number.
Inner: TypeAlias = Callable[[Array, Array], Any]


class LinearMap(Protocol):
    """A sparse matrix, a 2-D array or a LinearOperator of SciPy or CuPy."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def __matmul__(self, other: Any, /) -> Any: ...


@dataclass(frozen=True)
class Problem:
    """k systems A x = b of n rows, scaled by powers of two, and their tolerances."""

    backend: Backend
    scaling: Scaling  # the fields below belong to the scaled system
    product: MatrixProduct
    preconditioning: Preconditioning
    b: Array  # (n, k), of the working type
    x0: Array | None  # likewise; None where it is zero
    norms: npt.NDArray[np.float64]  # (k,), of b's columns
    targets: npt.NDArray[np.float64]  # (k,), norms of residuals that count as converged
    unknowns: int  # n, summed over all ranks
    most_iterations: int
    inner: Inner | None
    one: bool  # b is one vector; x then has the shape (n,)
    null_space: NullSpace | None = None  # projected out of all vectors
    reordering: Reordering = Reordering()  # of the rows of A, M and all vectors
    # For a column: the first row that is 0 in A, but not in b.
    zero_rows: dict[int, int] = field(default_factory=dict)
    row_bound: float = 0.0  # on the sum of magnitudes of each row of A; 0 where A is an operator

    def residual_norms(self, x: Array, residual: Array | None = None) -> npt.NDArray[np.float64]:
        """The norms of b - A x, for an (n, k) array x of the scaled system; also writes the given residual.

        Where entries of A times x cancel by more digits than the residual is computed with, its rounding
        errors count, too.
        """
        residual = self.backend.xp.empty(x.shape, x.dtype) if residual is None else residual
        self.product.residual(self.b, x, residual)
        return np.asarray(norms_of(residual, self.inner)) + self._residual_errors(x)

    def _residual_errors(self, x: Array) -> npt.NDArray[np.float64]:
        """Bounds on the rounding errors of residuals; 0 where they are far below the target, or that of b."""
        if not self.row_bound or not (x.size or self.inner):
            return np.zeros(x.shape[1])
        limits = np.finfo(x.dtype)
        unit = float(limits.eps) ** 2 if limits.dtype == np.float64 else float(np.finfo(np.float64).eps)
        with np.errstate(all="ignore"):
            errors = unit * self._largest_products(x)
            least = np.maximum(NEGLIGIBLE * self.targets, float(limits.eps) * self.norms)
            for c in np.flatnonzero(errors > least).tolist():
                sizes = self.product.magnitudes(x[:, c : c + 1])
                errors[c] = 0.0 if sizes is None else unit * float(norms_of(sizes, self.inner)[0])
        return np.where(errors > least, errors, 0.0)

    def finite_columns(self, x: Array) -> npt.NDArray[np.bool_]:
        """Which columns are finite, on all ranks."""
        if self.inner is None:
            return np.asarray(self.backend.krylov.norms.finite_columns(x))
        return np.asarray(norms_of((~self.backend.xp.isfinite(x)).astype(x.dtype), self.inner) == 0)

    def _largest_products(self, x: Array) -> npt.NDArray[np.float64]:
        """Bounds on the norms of |A| |x|; infinite over ranks, whose largest numbers differ."""
        if self.inner is not None:
            return np.full(x.shape[1], np.inf)
        largest = self.backend.krylov.norms.largest_magnitudes(x).astype(float)
        return np.asarray(self.row_bound * math.sqrt(x.shape[0]) * largest)

    def far_starts(self) -> npt.NDArray[np.bool_]:
        """The columns of x0 of which no digit can be right: b - A x0 exceeds b by more than all digits."""
        assert self.x0 is not None
        most = self.norms / float(np.finfo(self.b.dtype).eps)
        with np.errstate(all="ignore"):
            far = ~(self._largest_products(self.x0) <= most) | (self.row_bound == 0)
            if (far & (self.norms > 0)).any():
                far = ~(self.residual_norms(self.x0) <= most)
        return np.asarray(far & (self.norms > 0))

    @property
    def contradiction(self) -> str:
        """The first unsolvable equation in words: its row of A is zero, and b is not."""
        row = min(self.zero_rows.values())
        return (
            f"Row {row} of A is zero, and b is not zero there: no x solves the system. Remove this equation, "
            "or make b zero there."
        )

    def attainable(self, x: Array) -> float:
        """The norm of the residual that rounding errors of x, (n, 1), can cause; 0 where A is an operator."""
        sizes = self.product.magnitudes(x)
        unit = 0.5 * float(np.finfo(self.b.dtype).eps)
        return 0.0 if sizes is None else unit * float(norms_of(sizes, self.inner)[0])

    def preconditioned(self, M: Any) -> Problem:
        """The same problem with another checked M, in the problem's order; None is the identity."""
        preconditioning = _preconditioning(M, self.b.dtype, self.backend, self.scaling, self.null_space)
        return replace(self, preconditioning=preconditioning)

    def started_at(self, x: Array | None) -> Problem:
        """The same problem with another x0, which is an iterate of the scaled system."""
        return replace(self, x0=x)


def checked_problem(
    A: Any,
    b: Any,
    x0: Any,
    rtol: Any,
    atol: Any,
    maxiter: Any,
    M: Any,
    callback: Any,
    inner: Any,
    nullspace: Any = None,
    reorder: Any = False,
) -> Problem:
    """The problem of a solver's arguments; an exception names the argument that is wrong."""
    rtol, atol = _checked_tolerance("rtol", rtol), _checked_tolerance("atol", atol)
    backend, n = backend_of(A), _checked_rows("A", A)
    b, x0 = _checked_vectors(b, x0, n, backend, inner)
    M = _checked_operator(M, n, backend)
    for name, function in (("inner", inner), ("callback", callback)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be None or a function, got a {type(function).__name__}")
    reordering = Reordering() if reorder is False else reordering_of(reorder, A, M, inner)
    matrix, dtype = _checked_system(A, b, x0, backend)
    is_sparse = isinstance(matrix, CheckedMatrix)
    given = _as_columns(b).astype(dtype, copy=False)
    start = None if x0 is None else _as_columns(x0).astype(dtype, copy=False)
    null_space, columns = None, given
    if nullspace is not None:
        null_space = null_space_of(nullspace, A, n, dtype, backend, inner)
        check_finite("b", b)
        columns = null_space.projected(columns)
    scaling, columns, norms = _scaled(matrix, b, columns, start, inner)
    if start is not None and not norms.all():  # zero columns are solved by zero
        start = backend.xp.where(backend.xp.asarray(norms > 0), start, 0)
    if reorder:
        columns = reordering.permuted(columns)
        start = None if start is None else reordering.permuted(start)
        null_space = None if null_space is None else null_space.in_order(reordering)
    operand = reordering.matrix(matrix) if reorder else matrix
    product = scaling.product(backend.krylov.spmv.Product(operand, dtype, is_csr=is_sparse))
    unknowns = int(getattr(A, "global_rows", n))  # of all ranks, which must stop together
    problem = Problem(
        backend=backend,
        scaling=scaling,
        product=product if null_space is None else null_space.product(product),
        preconditioning=_preconditioning(M.permuted if reorder else M, dtype, backend, scaling, null_space),
        b=columns,
        x0=None if start is None else scaling.scaled_solution(start),
        norms=norms,
        targets=np.maximum(rtol * norms, np.ldexp(atol, -scaling.columns)),
        unknowns=unknowns,
        most_iterations=10 * unknowns if maxiter is None else as_integer("maxiter", maxiter, 0),
        inner=inner,
        one=b.ndim == 1 or b.shape[1] == 1,
        null_space=null_space,
        reordering=reordering,
        zero_rows={} if nullspace is not None else _zero_rows(matrix, given, inner),
        row_bound=_row_bound(matrix, scaling),
    )
    if x0 is None or not (b.size or inner) or not (far := problem.far_starts()).any():
        return problem
    near = backend.xp.where(backend.xp.asarray(far), 0, _as_columns(x0)).reshape(x0.shape)
    return checked_problem(matrix, b, near, rtol, atol, maxiter, M, callback, inner, nullspace, reorder)


def _checked_vectors(b: Any, x0: Any, n: int, backend: Backend, inner: Inner | None) -> tuple[Array, Any]:
    """The right-hand sides, whose norms will show NaN and infinity unless `inner` is given, and x0."""
    b = shaped_vectors("b", b, n, backend)
    if inner is not None:
        check_finite("b", b)
    x0 = None if x0 is None else checked_vectors("x0", x0, n, backend)
    if x0 is not None and _as_columns(x0).shape != _as_columns(b).shape:
        raise ValueError(f"x0 must have b's shape {b.shape}, got {x0.shape}")
    return b, x0


def _checked_operator(M: Any, n: int, backend: Backend) -> Any:
    """The preconditioner, which may be given as a hierarchy, of PyAMG too."""
    M = M.aspreconditioner() if hasattr(M, "aspreconditioner") else M
    if M is not None:
        if _checked_rows("M", M) != n:
            raise ValueError(f"M must have A's shape {(n, n)}, got {M.shape}")
        check_device("M", M, backend)
    return M


def _checked_system(A: Any, b: Array, x0: Array | None, backend: Backend) -> tuple[Any, DType]:
    """The record of a sparse A, or A itself; and the working type."""
    if {getattr(A, "dtype", None), b.dtype} <= set(VALUE_DTYPES):  # others are refused below, or converted
        backend.prefetch("solver", np.result_type(A.dtype, b.dtype))
    matrix = checked(A, shared=True) if hasattr(A, "tocsr") else A
    dtype = _working_dtype(matrix, b, x0)
    if isinstance(matrix, CheckedMatrix):
        backend.prefetch("product", matrix, dtype)
    return matrix, dtype


def _scaled(
    A: Any, b: Array, columns: Array, start: Array | None, inner: Inner | None
) -> tuple[Scaling, Array, npt.NDArray[np.float64]]:
    """The scaling of the system, and the right-hand sides (`b`, projected) with their norms after it."""
    norms = norms_of(columns, inner)
    if inner is not None:
        scaling = scaling_by_norms(norms, columns.dtype)
    else:
        if not np.isfinite(norms).all():  # a norm may overflow; otherwise it shows NaN and infinity
            check_finite("b", b)
        scaling = scaling_of(A, columns, norms, start)
    if scaling.columns.any():
        columns = scaling.scaled(columns)
        norms = norms_of(columns, inner)
    return scaling, columns, norms


def _row_bound(A: Any, scaling: Scaling) -> float:
    """`Problem.row_bound`; infinite for dense arrays and over ranks: magnitudes are multiplied instead."""
    if isinstance(A, CheckedMatrix):
        return float(np.ldexp(float(A.longest_row), A.largest_exponent - scaling.matrix)) if A.nnz else 0.0
    return math.inf if hasattr(A, "rank_entries") or isinstance(A, xp_of(A).ndarray) else 0.0


def _zero_rows(A: Any, b: Array, inner: Inner | None) -> dict[int, int]:
    """`Problem.zero_rows`; A is a `CheckedMatrix`, a dense array or an operator, whose rows are unknown."""
    xp = xp_of(b)
    if hasattr(A, "rank_entries"):
        return dict(A.rank_entries.zero_rows(b))
    if inner is not None:  # of ranks whose other rows are unknown
        return {}
    if isinstance(A, CheckedMatrix):
        rows = A.zero_rows
    elif isinstance(A, xp.ndarray):
        rows = xp.flatnonzero(~(nonzero_entries(A) if A.dtype.kind in "fc" else A).any(axis=1))
    else:
        return {}
    if not rows.size:
        return {}
    rows, found = on_host(rows), on_host(nonzero_entries(b[rows]))  # stall: of a singular A alone
    return {c: int(rows[found[:, c].argmax()]) for c in np.flatnonzero(found.any(axis=0)).tolist()}


def _preconditioning(
    M: Any, dtype: DType, backend: Backend, scaling: Scaling, null_space: NullSpace | None
) -> Preconditioning:
    """Products with the M of the scaled system."""
    in_place = isinstance(M, InPlaceOperator)
    M = M.times_power_of_two(scaling.matrix) if in_place and scaling.matrix else _checked_matrix(M)
    products = backend.krylov.spmv.Preconditioning(M, dtype, in_place=in_place)
    products = products if in_place else scaling.preconditioning(products)
    return products if null_space is None else null_space.preconditioning(products)


def _checked_matrix(M: Any) -> Any:
    """M itself, or for a sparse matrix of its own library a CSR copy with checked indices.

    The library's products follow the indices unchecked, and a callback may change the user's.
    """
    if not hasattr(M, "tocsr"):
        return M
    record = checked(M, "M")
    return csr(record.backend.sparse, record.data, record.indices, record.indptr, record.n)


def _as_columns(vectors: Array) -> Array:
    return vectors.reshape(-1, 1) if vectors.ndim == 1 else vectors


def _checked_tolerance(name: str, value: Any) -> float:
    if not isinstance(value, int | float | np.number) or not value >= 0:
        raise ValueError(f"{name} must be a nonnegative number, got {value!r}")
    return float(value)


def _checked_rows(name: str, matrix: Any) -> int:
    refuse_masked_or_ragged(name, matrix)
    shape = getattr(matrix, "shape", None)
    if shape is None or not hasattr(matrix, "__matmul__"):
        found = _operator_instead(name, matrix)
        raise TypeError(f"{name} must be a sparse matrix, a 2-D array or a LinearOperator, got {found}")
    if len(shape) != 2 or shape[0] != shape[1]:
        diagonal = f": pass scipy.sparse.diags_array({name}) for a diagonal" if len(shape) == 1 else ""
        raise ValueError(f"{name} must be square, got the shape {tuple(shape)}{diagonal}")
    return int(shape[0])


def _operator_instead(name: str, given: Any) -> str:
    """What was given in place of an operator, and the operator that was probably meant."""
    found = repr(given) if isinstance(given, str) else f"a {type(given).__name__}"
    if isinstance(given, list | tuple):
        return f"{found}: pass numpy.array({name})"
    if name == "A" and isinstance(given, str | os.PathLike):
        return f"{found}: read the file by linforest_precond.matrices.load"
    module = getattr(given, "__module__", None) or ""
    if name == "M" and (isinstance(given, str) or module.startswith("linforest_precond")):
        return f"{found}: pass an operator, such as lf.jacobi(A)"
    if hasattr(given, "matvec"):
        return f"{found}: pass aslinearoperator({name})"
    solve = f"{name}.solve" if hasattr(given, "solve") else name if callable(given) else ""
    return f"{found}: pass LinearOperator((n, n), {solve})" if solve else found


def _working_dtype(*arrays: Any) -> DType:
    """The type that A, b and x0 have together; an operator may have none."""
    dtypes = [getattr(array, "dtype", None) for array in arrays]
    return np.result_type(*(value_dtype("A", dtype) for dtype in dtypes if dtype is not None))
