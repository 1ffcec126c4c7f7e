"""Euclidean norms of the columns of vectors on the CPU."""

import numpy as np


def column_norms(columns):
    """The norms of the columns of an (n, k) array, in double precision; nothing overflows inside."""
    with np.errstate(all="ignore"):  # infinite where the norm overflows, NaN for numbers that are not finite
        magnitudes = abs(columns.astype(np.promote_types(columns.dtype, np.float64), copy=False))
        largest = np.maximum(magnitudes.max(axis=0), np.finfo(float).tiny)
        return largest * np.sqrt(((magnitudes / largest) ** 2).sum(axis=0))


def largest_magnitudes(columns):
    """The largest magnitude of each column; there is at least one row."""
    return abs(columns).max(axis=0)


def finite_columns(columns):
    """Which columns have no NaN and no infinity."""
    return np.isfinite(columns).all(axis=0)
