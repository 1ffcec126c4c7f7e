"""Checks of the rows that a rank passes; they become sorted CSR arrays on the host.

`matrix.checked` checks square matrices; these rows are rectangular, with global columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linforest_precond.backends import backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.distributed.partition import host, readonly
from linforest_precond.matrix.checks import (
    check_arrays,
    check_lengths,
    check_range,
    check_rising,
    value_dtype,
)
from linforest_precond.matrix.conversion import is_csr
from linforest_precond.matrix.rectangles import RectangularCSR

check_rows, rows_of = host.matrix.entries.check_rows, host.matrix.entries.rows_of


def checked_rows(A: Any, name: str = "A") -> RectangularCSR:
    """Rows of a sparse matrix of SciPy or CuPy; duplicates are summed left to right as stored.

    Refuses other objects, NaN and infinite entries, and invalid index arrays.
    """
    if not hasattr(A, "tocsr"):
        raise TypeError(f"{name} must be a sparse matrix of SciPy or CuPy, got a {type(A).__name__}")
    matrix = A if is_csr(A) else A.tocsr()
    dtype = value_dtype(name, matrix.dtype)
    check_arrays(matrix, backend_of(matrix), name)
    check_lengths(matrix, name)
    # stall: the structure is set up on the host
    indptr, columns = (np.array(on_host(part), np.int64) for part in (matrix.indptr, matrix.indices))
    data = np.array(on_host(matrix.data), dtype)
    check_rising(check_rows(readonly(indptr), columns.size)[0], columns.size, name)
    check_range(f"{name}.indices", columns, matrix.shape[1])
    rising = columns[1:] > columns[:-1]
    begins = indptr[1:-1]
    rising[begins[(begins > 0) & (begins < columns.size)] - 1] = True
    if not rising.all():
        rows, columns, data = without_duplicates(rows_of(indptr, columns.size), columns, data)
        indptr = np.searchsorted(rows, np.arange(indptr.size))
    check_finite(indptr, columns, data, name, "local row")
    return RectangularCSR(indptr, columns, data, int(matrix.shape[1]))


def check_finite(
    indptr: Array,
    columns: Array,
    data: Array,
    name: str,
    row_name: str = "row",
    first: tuple[int, int] = (0, 0),
) -> None:
    """Refuse NaN and infinite entries; `first` is added to the row and the column of the message."""
    wrong = np.flatnonzero(~np.isfinite(data))
    if wrong.size:
        slot = int(wrong[0])
        row = int(np.searchsorted(indptr, slot, side="right")) - 1 + first[0]
        place = f"{row_name} {row}, column {columns[slot] + first[1]}"
        raise ValueError(
            f"{name} must be finite, got {data[slot]} in {place}; replace or drop such entries first"
        )


def without_duplicates(rows: Array, columns: Array, data: Array) -> tuple[Array, Array, Array]:
    """Entries sorted by (row, column), duplicates summed left to right; sums may overflow."""
    order = np.lexsort((columns, rows))
    rows, columns, data = rows[order], columns[order], data[order]
    first = np.ones(rows.size, bool)
    first[1:] = (rows[1:] > rows[:-1]) | (columns[1:] > columns[:-1])
    entry, sums = np.cumsum(first) - 1, data[first]
    with np.errstate(over="ignore", invalid="ignore"):
        np.add.at(sums, entry[~first], data[~first])  # unbuffered: one at a time, in order
    return rows[first], columns[first], sums
