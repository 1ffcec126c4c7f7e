"""cuDSS factors matrices on the GPU where it can; SuperLU factors the others on the host."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from linforest_precond.backends import Backend, backend_named
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import on_host, xp_of
from linforest_precond.graph.reordering.minimum_degree import fill
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.records.forest import Ordering


def library_of(csr: CheckedMatrix, order: Any, pivoting: str) -> Backend:
    """The backend whose library factors a matrix: that of the host where there is a reason for it."""
    return backend_named("cpu") if why_on_host(csr, order, pivoting) else csr.backend


def why_on_host(csr: CheckedMatrix, order: Any, pivoting: str) -> str:
    """Why the backend of a matrix does not factor it itself; empty where it does."""
    name = order if isinstance(order, str) else "given"
    return str(csr.backend.direct.sparse_lu.unusable(name, pivoting))


def factored(
    csr: CheckedMatrix,
    order: str,
    ordering: Ordering | None,
    pivoting: str,
    flops: float = math.inf,
    reason: str = "",
) -> Any:
    """The factors of a matrix, on the host if there is a reason; LinAlgError for a singular one.

    `flops` are those that were counted; infinite where unknown.
    """
    reason = reason or why_on_host(csr, order, pivoting)
    given = matrix_on_host(csr) if reason else csr
    if reason and ordering is not None:
        ordering = Ordering(on_host(ordering.order), on_host(ordering.rank))  # stall: the host factors
    try:
        factors = given.backend.direct.sparse_lu.factor(given, ordering, pivoting, csr.definite, flops)
    except ZeroDivisionError as error:
        raise singular(empty_row_or_column(csr) or str(error)) from None
    return HostFactors(factors, reason) if reason else factors


def predicted_flops(csr: CheckedMatrix, stored: DType, ordering: Ordering) -> float:
    """The operations of the host's factorization in a symmetric order; MemoryError where it does not fit."""
    predicted = fill(csr, ordering.order)
    needed = predicted.memory(stored, lu=True)
    free = backend_named("cpu").runtime.calibration.free_bytes()
    if needed > free:
        raise MemoryError(
            f"the factors of A need {needed:,} bytes, and {free:,} are free; use an iterative solver, or "
            "dtype=numpy.float32"
        )
    return predicted.lu_flops


def refactored(csr: CheckedMatrix, factors: Any) -> Any:
    """The factors of a matrix of the same pattern; LinAlgError for a singular matrix."""
    try:
        return factors.refactored(csr)
    except ZeroDivisionError as error:
        raise singular(empty_row_or_column(csr) or str(error)) from None


def singular(cause: str) -> np.linalg.LinAlgError:
    return np.linalg.LinAlgError(f"A must be nonsingular, got a singular matrix: {cause}")


def empty_row_or_column(csr: CheckedMatrix) -> str:
    """The first row or column without nonzero entries, in words; empty where there is none."""
    backend, nonzero = csr.backend, csr.data != 0
    rows = backend.matrix.entries.rows_of(csr.indptr, csr.nnz)
    for name, met in (("row", rows), ("column", csr.indices)):
        counts = backend.xp.bincount(met[nonzero], minlength=csr.n)
        first = int(counts.argmin())  # stall: for the message
        if int(counts[first]) == 0:
            return f"{name} {first} has no nonzero entry"
    return ""


def matrix_on_host(csr: CheckedMatrix) -> CheckedMatrix:
    # stall: the host factors
    arrays = {name: on_host(getattr(csr, name)) for name in ("indptr", "indices", "data", "diagonal")}
    return replace(csr, **arrays)


class HostFactors:
    """Factors on the host of a matrix on the GPU: right-hand sides and solutions are copied."""

    def __init__(self, factors: Any, reason: str):
        self._factors, self._reason = factors, reason
        self.library = f"{factors.library} on the host: {reason}"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._factors, name)

    def refactored(self, csr: CheckedMatrix) -> HostFactors:
        return HostFactors(self._factors.refactored(matrix_on_host(csr)), self._reason)

    def solve_into(self, b: Array, x: Array, transpose: bool) -> None:
        found = np.empty(b.shape, self._factors.dtype)
        self._factors.solve_into(on_host(b), found, transpose)  # stall: the host solves
        x[...] = xp_of(x).asarray(found)
