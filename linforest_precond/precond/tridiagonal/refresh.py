"""Updates gather bands from the user's own arrays, and validate these afterwards by the same pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array, DType, MatrixLike
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.matrix.checks import VALUE_DTYPES
from linforest_precond.matrix.pattern_digest import PatternDigest
from linforest_precond.precond.scaling.number_range import safe_limit

NAMES = {dtype: str(dtype) for dtype in VALUE_DTYPES}


@dataclass(frozen=True, eq=False)
class Refreshed:
    """The results of the single pass over A, under the names that `CheckedMatrix` has for them."""

    A: MatrixLike
    n: int
    total_weight: float
    adjacent_weight: float
    scale: float = 1.0


def own_arrays(matrix: MatrixLike, pattern: PatternDigest) -> tuple[Array, Array, Array] | None:
    """The CSR arrays of A, unchecked but for lengths and types, where A may have this pattern; else None."""
    A: Any = matrix
    if (getattr(A, "format", None), pattern.form) != ("csr", "csr") or tuple(A.shape) != pattern.shape:
        return None
    arrays: Any = tuple(getattr(A, name, None) for name in ("indptr", "indices", "data"))
    if not all(isinstance(array, xp_of(A).ndarray) for array in arrays):
        return None
    indptr, indices, data = arrays
    sizes = (pattern.shape[0] + 1,), (pattern.entries,), (pattern.entries,)
    known = (
        all(array.shape == size and array.flags.c_contiguous for array, size in zip(arrays, sizes))
        and indptr.dtype == indices.dtype
        and indices.dtype in (np.int32, np.int64)
        and NAMES.get(data.dtype) == pattern.dtype
    )
    return arrays if known else None


def results_of_pass(
    A: MatrixLike, report: Any, dtype: DType, stored: DType, pattern: PatternDigest
) -> Refreshed | None:
    """The results of the pass over A; None where its pattern differs, or its values need the full check.

    They do where entries are not finite or at the edge of the number range, or where the sum of weights
    overflows.
    """
    found = pattern.backend.forest.band_refresh.read_report(report, dtype)
    if found.digest != pattern.words or not found.finite or not np.isfinite(2.0 * found.total):
        return None
    exponent = found.biased_exponent + np.finfo(dtype).minexp
    if not found.biased_exponent or abs(exponent) > safe_limit(stored):
        return None
    return Refreshed(A, pattern.shape[0], found.total, found.adjacent)
