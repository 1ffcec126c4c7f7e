"""Checks of a user's matrix, and the exceptions they raise; called by `gate` and `formats` alone."""

from __future__ import annotations

from typing import Any

from linforest_precond.annotations import Array
from linforest_precond.backends import Backend
from linforest_precond.backends.returns import EntryScan, PatternScan


def check_shape(A: Any, backend: Backend) -> None:
    """Refuse what is not 2-D and square, or too large for the backend."""
    if len(A.shape) != 2:
        raise ValueError(f"A must be 2-D, got {len(A.shape)} dimension(s), shape {tuple(A.shape)}")
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be square, got shape {tuple(A.shape)}")
    if A.shape[0] > backend.max_rows:
        raise ValueError(f"A must have at most {backend.max_rows} rows on {backend.name}, got {A.shape[0]}")


def check_lengths(A: Any) -> None:
    """Refuse CSR or CSC arrays whose lengths do not fit together."""
    if A.indptr.size != A.shape[0] + 1:
        raise ValueError(f"A.indptr must have {A.shape[0] + 1} entries, got {A.indptr.size}")
    if A.shape[0] == 0 and A.indices.size:
        raise ValueError(f"A.indices must be empty where A has no rows, got {A.indices.size} entries")
    if A.indices.size != A.data.size:
        raise ValueError(
            f"A.indices and A.data must have one length, got {A.indices.size} and {A.data.size} entries"
        )


def check_coordinates(rows: Array, cols: Array, values: Array, n: int) -> None:
    """Refuse COO arrays of different lengths, and indices outside the matrix."""
    if not rows.size == cols.size == values.size:
        raise ValueError(
            "A.row, A.col and A.data must have one length, "
            f"got {rows.size}, {cols.size} and {values.size} entries"
        )
    for name, indices in (("row", rows), ("col", cols)) if rows.size else ():
        least, largest = int(indices.min()), int(indices.max())  # stall: before they are used as addresses
        if least < 0 or largest >= n:
            raise ValueError(f"A.{name} must lie in [0, {n}), got {least} to {largest}")


def check_entries(
    scan: EntryScan, indptr: Array, indices: Array, data: Array, backend: Backend, major: str = "row"
) -> None:
    """Refuse invalid indices, NaN and infinity; `major`, "row" or "column", is what indptr runs over."""
    check_indices(scan, indptr, indices, backend, major)
    if scan.first_nonfinite >= 0:
        slot = scan.first_nonfinite
        entry = backend.matrix.entries.row_of(indptr, slot), int(indices[slot])
        row, column = entry if major == "row" else reversed(entry)
        raise ValueError(
            f"A must be finite, got {data[slot]} at (row, column) ({row}, {column}); "
            "replace or drop such entries first"
        )


def check_indices(
    scan: EntryScan | PatternScan, indptr: Array, indices: Array, backend: Backend, major: str = "row"
) -> None:
    """Refuse pointers that do not increase from 0 to the number of entries, and indices out of range."""
    if scan.first_bad_row >= 0:
        raise ValueError(
            f"A.indptr must rise from 0 to the number of stored entries ({indices.size}); "
            f"it does not at {major} {scan.first_bad_row}"
        )
    if scan.first_out_of_range >= 0:
        slot = scan.first_out_of_range
        raise ValueError(
            f"A.indices must lie in [0, {indptr.size - 1}), got {int(indices[slot])} "
            f"in {major} {backend.matrix.entries.row_of(indptr, slot)}"
        )
