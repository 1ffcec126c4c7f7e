"""The stored entries of COO, BSR, DIA, LIL and DOK matrices as triplets, with every index checked.

SciPy's own conversions trust the arrays, and some are compiled: a broken matrix would end the process. The
coordinates are copies, so that another thread that changes the matrix cannot invalidate them afterwards.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from linforest_precond.annotations import Array, DType
from linforest_precond.matrix_checks import check_coordinates, check_pointers, check_range
from linforest_precond.own_matrix import LARGEST_INT32_COUNT

# Rows, columns and values in stored order.
Triplets: TypeAlias = tuple[Array, Array, Array]


def stored_entries(A: Any, xp: Any, name: str = "A") -> Triplets:
    """Rows, columns and values of a square matrix whose arrays `check_arrays` accepts; not of CSR and CSC.

    The values are not checked, and may be A's own array.
    """
    convert = _CONVERSIONS.get(getattr(A, "format", None))
    rows, cols, values = _coordinates(A.tocoo(), xp) if convert is None else convert(A, xp, name)
    check_coordinates(rows, cols, values, A.shape[0], name)
    return rows, cols, values


def _coordinates(A: Any, xp: Any, _: str = "A") -> Triplets:
    return xp.array(A.row, order="C"), xp.array(A.col, order="C"), A.data


def _blocks(A: Any, xp: Any, name: str) -> Triplets:
    """BSR: each block row by row."""
    data, n = A.data, A.shape[0]
    count, height, width = data.shape
    if not height or not width or n % height or n % width:
        raise ValueError(
            f"{name}.data must hold blocks whose sides divide {n}, got {height} x {width} blocks"
        )
    check_pointers(A, n // height, name)
    indptr, indices = xp.array(A.indptr, np.int64), xp.array(A.indices, np.int64)
    if indices.size != count:
        raise ValueError(f"{name}.indices must have one entry for each of {count} blocks, got {indices.size}")
    lengths = xp.diff(indptr)
    if indptr[0] != 0 or indptr[-1] != count or (lengths < 0).any():
        raise ValueError(f"{name}.indptr must rise from 0 to the number of stored blocks ({count})")
    check_range(f"{name}.indices", indices, n // width)
    first = height * xp.repeat(xp.arange(lengths.size), lengths)
    rows = first[:, None, None] + xp.arange(height)[:, None] + xp.zeros(width, np.int64)
    cols = width * indices[:, None, None] + xp.zeros((height, 1), np.int64) + xp.arange(width)
    index = _index_dtype(n)
    return rows.reshape(-1).astype(index), cols.reshape(-1).astype(index), data.reshape(-1)


def _diagonals(A: Any, xp: Any, name: str) -> Triplets:
    """DIA: row by row, without zeros; ``data[k, j]`` is in column j, on the diagonal ``offsets[k]``."""
    data, n, offsets = A.data, A.shape[0], xp.array(A.offsets, np.int64)
    if offsets.size != data.shape[0]:
        raise ValueError(
            f"{name}.offsets must have one entry for each row of {name}.data ({data.shape[0]}), "
            f"got {offsets.size}"
        )
    columns = xp.arange(min(data.shape[1], n))
    order = xp.argsort(offsets, kind="stable")
    rows = columns - offsets[order][:, None]
    values = data[order, : columns.size]
    # An offset beyond the matrix may wrap around: the row is then outside, too.
    stored = (rows >= 0) & (rows < n) & (abs(offsets[order]) < max(n, 1))[:, None] & (values != 0)
    rows, cols, values = rows[stored], xp.broadcast_to(columns, stored.shape)[stored], values[stored]
    order, index = xp.argsort(rows, kind="stable"), _index_dtype(n)
    return rows[order].astype(index), cols[order].astype(index), values[order]


def _lists(A: Any, xp: Any, name: str) -> Triplets:
    """LIL: the lists of each row."""
    n = A.shape[0]
    for field, lists in (("rows", A.rows), ("data", A.data)):
        if np.shape(lists) != (n,) or not all(isinstance(row, list) for row in lists):
            raise ValueError(f"{name}.{field} must hold one list for each of {n} rows")
    columns, values = [list(row) for row in A.rows], [list(row) for row in A.data]
    lengths = np.array([len(row) for row in columns], np.int64)
    if lengths.tolist() != [len(row) for row in values]:
        raise ValueError(f"{name}.rows and {name}.data must hold lists of the same lengths")
    cols = _integers(itertools.chain.from_iterable(columns), f"{name}.rows", n)
    numbers = _numbers(itertools.chain.from_iterable(values), A.dtype, f"{name}.data")
    return np.repeat(np.arange(n, dtype=cols.dtype), lengths), cols, numbers


def _dictionary(A: Any, xp: Any, name: str) -> Triplets:
    """DOK: the items of the dictionary."""
    items = list(A.items())
    if not all(isinstance(key, tuple) and len(key) == 2 for key, _ in items):
        raise TypeError(f"the keys of {name} must be pairs of integers")
    row_and_col = (_integers((key[i] for key, _ in items), f"the keys of {name}", A.shape[0]) for i in (0, 1))
    rows, cols = row_and_col
    return rows, cols, _numbers((value for _, value in items), A.dtype, f"the values of {name}")


def _integers(values: Any, field: str, n: int) -> Array:
    """Python or NumPy integers in [0, n) as an array."""
    found = list(values)
    if not all(isinstance(value, int | np.integer) for value in found):
        raise TypeError(f"{field} must hold integers")
    for value in (min(found, default=0), max(found, default=0)):
        if found and not 0 <= value < n:
            raise ValueError(f"{field} must lie in [0, {n}), got {value}")
    return np.array(found, _index_dtype(n))


def _numbers(values: Any, dtype: DType, field: str) -> Array:
    try:
        return np.array(list(values), dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{field} must hold numbers of type {dtype} ({error})") from error


def _index_dtype(n: int) -> DType:
    return np.dtype(np.int32 if n <= LARGEST_INT32_COUNT else np.int64)


_CONVERSIONS: dict[str | None, Callable[[Any, Any, str], Triplets]] = {
    "coo": _coordinates,
    "bsr": _blocks,
    "dia": _diagonals,
    "lil": _lists,
    "dok": _dictionary,
}
