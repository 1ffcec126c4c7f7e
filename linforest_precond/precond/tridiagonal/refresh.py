"""Updates of bands in one pass over the user's own matrix, whose pattern is compared afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.annotations import Array, DType, MatrixLike
from linforest_precond.backends import backend_of
from linforest_precond.gate import unchecked_arrays
from linforest_precond.precond.pattern_digest import PatternDigest
from linforest_precond.precond.scaled_matrix import safe_limit
from linforest_precond.records import Bands, BlockForest, Forest


@dataclass(frozen=True, eq=False)
class Refreshed:
    """What is known of a matrix whose values were copied in one pass; the names are those of `CSR`."""

    A: MatrixLike
    n: int
    total_weight: float
    adjacent_weight: float
    scale: float = 1.0
    as_given: bool = True


def own_arrays(A: MatrixLike, pattern: PatternDigest, index: DType) -> tuple[Array, Array, Array] | None:
    """The CSR arrays of A, unchecked, where A may have this pattern; None elsewhere."""
    shape, dtype = tuple(getattr(A, "shape", ())), getattr(A, "dtype", None)
    if (getattr(A, "format", None), shape, str(dtype)) != (pattern.form, pattern.shape, pattern.dtype):
        return None
    arrays = unchecked_arrays(A, index, np.dtype(dtype))
    return arrays if arrays is not None and arrays[1].size == pattern.entries else None


def copy_values(arrays: tuple[Array, Array, Array], forest: Forest | BlockForest) -> tuple[Bands, Any] | None:
    """The bands of unchecked CSR arrays along a forest, and the report of `refreshed_matrix`.

    None where there is no pass for this forest, or where the arrays are known to be invalid.
    """
    room = backend_of(arrays[2]).forest
    if isinstance(forest, BlockForest):
        bands, report = room.block_refresh.copy_values(*arrays, forest)
    elif forest.slots is None:
        return None
    else:
        bands, report = room.band_refresh.copy_values(*arrays, forest)
    return None if bands is None else (Bands(*bands), report)


def refreshed_matrix(
    A: MatrixLike, report: Any, dtype: DType, stored: DType, pattern: PatternDigest
) -> Refreshed | None:
    """What a pass over A's entries has found; None where they need more than to be copied.

    Those are entries that are refused, of another pattern, scaled, or whose sum overflows.
    """
    found = backend_of(pattern.digest).forest.band_refresh.read_report(report, dtype)
    if not found.valid or found.digest != pattern.words or not np.isfinite(2.0 * found.total):
        return None
    exponent = found.biased_exponent + np.finfo(dtype).minexp
    if not found.biased_exponent or abs(exponent) > safe_limit(stored):
        return None
    return Refreshed(A, pattern.shape[0], found.total, found.adjacent)
