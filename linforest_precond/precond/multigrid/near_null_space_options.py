"""`NearNullSpace` checks the arguments B and block_size of `multilevel`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.array_libraries import refuse_masked_or_ragged
from linforest_precond.backends.flags import all_set
from linforest_precond.matrix.checks import check_device, value_dtype
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.multilevel_options import ADAPTIVE, AUTO, MultilevelOptions
from linforest_precond.precond.multigrid.near_null_space import MOST_CANDIDATES

ADAPTIVE_COUNT = 3
COARSENING = "smoothed_aggregation"
SMOOTHER = "chebyshev3"


@dataclass(frozen=True, eq=False)
class NearNullSpace:
    """Checked near-null space candidates and unknowns per node."""

    candidates: Array | None  # (n, count) in A's type, or None for adaptive ones
    count: int
    block_size: int

    @classmethod
    def requested(
        cls, A: Any, B: Any, block_size: Any, matrix: LevelMatrix, options: MultilevelOptions
    ) -> NearNullSpace | None:
        """The candidates and block size of the arguments, or of a BSR matrix; None for scalar problems."""
        size = _checked_block_size(block_size, matrix.csr.n)
        if B is not None:
            _check_coarsening("B", options)
            return cls._with_candidates(B, size or _stored_block_size(A), matrix)
        if size is None and options.for_matrix(matrix).coarsening == COARSENING:
            size = _stored_block_size(A)
        if size is None or size == 1:
            return None
        _check_coarsening("block_size", options)
        return cls(_components(matrix, size), size, size)

    @classmethod
    def _with_candidates(cls, B: Any, block_size: int, matrix: LevelMatrix) -> NearNullSpace:
        adaptive = _adaptive_count(B, matrix.n)
        if adaptive is None:
            candidates = _checked_candidates(B, matrix)
            return cls(candidates, candidates.shape[1], block_size)
        if not matrix.definite:
            raise ValueError(
                'B="adaptive" is for Hermitian positive definite matrices, got one that is not Hermitian or '
                "has a diagonal that is not positive; pass an array of candidates"
            )
        return cls(None, adaptive, block_size)

    def options_for(self, matrix: LevelMatrix, options: MultilevelOptions) -> MultilevelOptions:
        """All choices made, for smoothed aggregation with candidates."""
        smoother = SMOOTHER if options.smoother == AUTO else options.smoother
        chosen = replace(options, coarsening=COARSENING, smoother=smoother).for_matrix(matrix)
        return chosen if self.candidates is not None else replace(chosen, reasons=(ADAPTIVE,))


def _check_coarsening(name: str, options: MultilevelOptions) -> None:
    if options.coarsening not in (AUTO, COARSENING):
        raise ValueError(
            f'{name} is for coarsening="{COARSENING}", but the options ask for "{options.coarsening}"'
        )


def _checked_block_size(given: Any, n: int) -> int | None:
    if given is None:
        return None
    size = as_integer("block_size", given, 1, MOST_CANDIDATES)
    if n % size:
        raise ValueError(f"block_size must divide the {n} rows of A, got {size}")
    return size


def _stored_block_size(A: Any) -> int:
    """The block size of a BSR matrix with square blocks; 1 for other matrices."""
    rows, columns = A.blocksize if getattr(A, "format", None) == "bsr" else (1, 1)
    return int(rows) if rows == columns <= MOST_CANDIDATES else 1


def _components(matrix: LevelMatrix, block_size: int) -> Array:
    """A candidate for each unknown of a node: ones there, else zeros."""
    xp = matrix.backend.xp
    return xp.tile(xp.eye(block_size, dtype=matrix.csr.data.dtype), (matrix.csr.n // block_size, 1))


def _adaptive_count(B: Any, n: int) -> int | None:
    """The requested number of adaptive candidates; None for an array of candidates."""
    if isinstance(B, str) and B == "adaptive":
        return min(ADAPTIVE_COUNT, n)
    if isinstance(B, tuple) and len(B) == 2 and isinstance(B[0], str) and B[0] == "adaptive":
        return _checked_count(as_integer('k of B=("adaptive", k)', B[1]), n)
    if isinstance(B, str) or (isinstance(B, tuple) and any(isinstance(each, str) for each in B)):
        raise ValueError(f'B must be None, "adaptive", ("adaptive", k) or an array of candidates, got {B!r}')
    return None


def _checked_count(count: int, n: int) -> int:
    if not 1 <= count <= min(n, MOST_CANDIDATES):
        most = min(n, MOST_CANDIDATES)
        raise ValueError(f"B must have from 1 to {most} candidates for a matrix of {n} rows, got {count}")
    return count


def _checked_candidates(B: Any, matrix: LevelMatrix) -> Array:
    """(n, k) finite numbers of A's type on A's device."""
    B = _on_device(B, matrix.backend)
    if B.ndim == 1:
        B = B[:, None]
    n = matrix.csr.n
    if B.ndim != 2 or B.shape[0] != n:
        raise ValueError(f"B must have shape (n, k) or (n,) with the n={n} rows of A, got {B.shape}")
    _checked_count(B.shape[1], matrix.n)
    candidates = _of_type(B, matrix.csr.data.dtype, matrix.backend.xp)
    if not all_set(matrix.backend.xp.isfinite(candidates)):  # stall: NaN or infinity
        raise ValueError(f"B must be finite in A's type {candidates.dtype}, got NaN or infinity")
    return candidates


def _on_device(B: Any, backend: Backend) -> Array:
    if hasattr(B, "tocoo"):
        raise TypeError(f"B must be a dense array, got a {type(B).__name__}; pass B.toarray()")
    if hasattr(B, "dtype"):
        check_device("B", B, backend)
    refuse_masked_or_ragged("B", B)
    return backend.xp.asarray(B)


def _of_type(B: Array, dtype: DType, xp: Any) -> Array:
    """A contiguous copy: the hierarchy keeps it for updates."""
    if value_dtype("B", B.dtype).kind == "c" and dtype.kind != "c":
        raise TypeError(f"B must be real for a matrix of {dtype}, got {B.dtype}; pass its real part")
    with np.errstate(over="ignore"):
        copy: Array = xp.array(B, dtype=dtype, order="C", copy=True)
    return copy
