"""Checks of a user's matrix, and the exceptions they raise.

`name` is the argument that the matrix was given as.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend, is_on
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.backends.array_libraries import refuse_masked_or_ragged, xp_of
from linforest_precond.backends.flags import all_set
from linforest_precond.backends.returns import EntryScan, IndexScan, PatternScan
from linforest_precond.interop.dlpack import type_name

VALUE_DTYPES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))

# The arrays of each format: their dimensions, and whether they hold indices. LIL and DOK have none.
_COMPRESSED = {"indptr": (1, True), "indices": (1, True), "data": (1, False)}
ARRAYS: dict[str | None, dict[str, tuple[int, bool]]] = {
    "csr": _COMPRESSED,
    "csc": _COMPRESSED,
    "coo": {"row": (1, True), "col": (1, True), "data": (1, False)},
    "bsr": {**_COMPRESSED, "data": (3, False)},
    "dia": {"offsets": (1, True), "data": (2, False)},
}


def check_shape(A: Any, backend: Backend, name: str = "A") -> None:
    """Refuse what is not 2-D and square, or too large for the backend."""
    if len(A.shape) != 2:
        raise ValueError(f"{name} must be 2-D, got {len(A.shape)} dimension(s), shape {tuple(A.shape)}")
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"{name} must be square, got shape {tuple(A.shape)}")
    if A.shape[0] > backend.max_rows:
        raise ValueError(
            f"{name} must have at most {backend.max_rows} rows on {backend.name}, got {A.shape[0]}"
        )


def check_arrays(A: Any, backend: Backend, name: str = "A") -> None:
    """Refuse a sparse matrix whose arrays are none, have other dimensions, or indices of another kind."""
    for field, (dimensions, is_index) in ARRAYS.get(getattr(A, "format", None), {}).items():
        array = getattr(A, field, None)
        refuse_masked_or_ragged(f"{name}.{field}", array)
        if not isinstance(array, backend.xp.ndarray):
            raise TypeError(f"{name}.{field} must be an array, got a {type(array).__name__}")
        if array.ndim != dimensions:
            raise ValueError(f"{name}.{field} must be {dimensions}-D, got shape {tuple(array.shape)}")
        if is_index and array.dtype.kind not in "iu":
            raise TypeError(f"{name}.{field} must hold integers, got {array.dtype}")


def check_lengths(A: Any, name: str = "A") -> None:
    """Refuse CSR or CSC arrays whose lengths do not fit together."""
    check_pointers(A, A.shape[0], name)
    if A.indices.size != A.data.size:
        raise ValueError(
            f"{name}.indices and {name}.data must have one length, "
            f"got {A.indices.size} and {A.data.size} entries"
        )


def check_pointers(A: Any, rows: int, name: str) -> None:
    """Refuse an indptr of another length than the number of (block) rows demands."""
    if A.indptr.size != rows + 1:
        raise ValueError(f"{name}.indptr must have {rows + 1} entries, got {A.indptr.size}")
    if rows == 0 and A.indices.size:
        raise ValueError(
            f"{name}.indices must be empty where {name} has no rows, got {A.indices.size} entries"
        )


def check_coordinates(rows: Array, cols: Array, values: Array, n: int, name: str = "A") -> None:
    """Refuse COO arrays of different lengths, and indices outside the matrix."""
    if not rows.size == cols.size == values.size:
        raise ValueError(
            f"{name}.row, {name}.col and {name}.data must have one length, "
            f"got {rows.size}, {cols.size} and {values.size} entries"
        )
    check_range(f"{name}.row", rows, n)
    check_range(f"{name}.col", cols, n)


def check_range(field: str, indices: Array, n: int) -> None:
    """Refuse indices outside [0, n)."""
    if indices.size:
        least, largest = int(indices.min()), int(indices.max())  # stall: before they are used as addresses
        if least < 0 or largest >= n:
            raise ValueError(f"{field} must lie in [0, {n}), got {least} to {largest}")


def check_entries(
    scan: EntryScan,
    indptr: Array,
    indices: Array,
    data: Array,
    backend: Backend,
    name: str = "A",
) -> None:
    """Refuse invalid indices, NaN and infinity."""
    check_indices(scan, indptr, indices, backend, name)
    if scan.sorted and scan.first_nonfinite >= 0:
        slot = scan.first_nonfinite
        row = backend.matrix.entries.row_of(indptr, slot)
        raise ValueError(
            f"{name} must be finite, got {data[slot]} at (row, column) ({row}, {int(indices[slot])}); "
            "replace or drop such entries first"
        )


def check_rising(first_bad_row: int, entries: int, name: str, major: str = "row") -> None:
    """Refuse pointers that do not increase from 0 to the number of entries; the row is -1 where they do."""
    if first_bad_row >= 0:
        raise ValueError(
            f"{name}.indptr must rise from 0 to the number of stored entries ({entries}); "
            f"it does not at {major} {first_bad_row}"
        )


def check_indices(
    scan: IndexScan | EntryScan | PatternScan,
    indptr: Array,
    indices: Array,
    backend: Backend,
    name: str = "A",
    major: str = "row",
) -> None:
    """Refuse pointers that do not increase from 0 to the number of entries, and indices out of range.

    `major`, "row" or "column", is what indptr runs over.
    """
    check_rising(scan.first_bad_row, indices.size, name, major)
    if scan.first_out_of_range >= 0:
        slot = scan.first_out_of_range
        raise ValueError(
            f"{name}.indices must lie in [0, {indptr.size - 1}), got {int(indices[slot])} "
            f"in {major} {backend.matrix.entries.row_of(indptr, slot)}"
        )


def check_device(name: str, given: Any, backend: Backend) -> None:
    """Refuse an argument that is on another device than A."""
    if not is_on(given, backend):
        cure = f": pass {backend.converter}({name})" if type(given).__name__ == "ndarray" else ""
        raise TypeError(f"{name} must be on A's device ({backend.name}), got a {type_name(given)}{cure}")


def check_finite(name: str, array: Array) -> None:
    """Refuse a dense array with NaN or infinity."""
    finite = xp_of(array).isfinite(array)
    if not all_set(finite):  # stall: NaN and infinity are refused before any work
        place = np.unravel_index(int(finite.reshape(-1).argmin()), array.shape)
        at = ", ".join(str(int(index)) for index in place)
        raise ValueError(f"{name} must be finite, got {array[place]} at {name}[{at}]")


def value_dtype(name: str, dtype: npt.DTypeLike) -> DType:
    """The type that an argument's values are converted to: its own, or float64 for integers and booleans."""
    dtype = np.dtype(dtype).newbyteorder("=")
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    if dtype not in VALUE_DTYPES:
        raise TypeError(
            f"{name} must hold float32, float64, complex64 or complex128 values (integers and booleans "
            f"become float64), got {dtype}; convert it with {name}.astype(...)"
        )
    return dtype


def as_numbers(values: Array) -> Array:
    """Values of any type that sparse matrices can hold."""
    if values.dtype.kind not in "biufc" or values.dtype == np.float16:
        raise TypeError(f"A must hold numbers of a type that sparse matrices support, got {values.dtype}")
    return values.astype(values.dtype.newbyteorder("="), copy=False)
