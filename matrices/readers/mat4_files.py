"""Sparse matrices in MATLAB files of version 4: variables one after the other, each a header and an array.

A sparse matrix is an array of three or four columns: rows and columns from 1, real and imaginary parts. Its
last row has the shape.
"""

from __future__ import annotations

import math
import struct
from typing import IO, Any

import numpy as np

from linforest_precond.backends.annotations import Array

from .index_arrays import complex_from, from_coordinates

NUMBERS = ("f8", "f4", "i4", "i2", "u2", "u1")
FULL, TEXT, SPARSE = range(3)
HEADER_BYTES = 20
LARGEST_EXTENT = 2**31 - 1


def sparse_variables(file: IO[bytes], size: int) -> list[tuple[str, Array]]:
    """The names and arrays of the sparse variables in a file."""
    found, at = [], 0
    order = _byte_order(file)
    while at < size:
        file.seek(at)
        name, kind, dtype, shape = _read_header(file, order)
        length = math.prod(shape) * dtype.itemsize
        at = file.tell() + length
        if at > size:
            raise ValueError("a variable is damaged, or the file is truncated")
        if kind == SPARSE:
            found.append((name, np.frombuffer(file.read(length), dtype).reshape(shape, order="F")))
    return found


def read_sparse(array: Array) -> Any:
    """The matrix in a sparse variable."""
    if len(array) < 1 or array.shape[1] not in (3, 4):
        raise ValueError(f"a sparse matrix must have 3 or 4 columns, got shape {array.shape}")
    rows, columns = (_whole(array[:, at]) for at in range(2))
    values = array[:-1, 2].astype(np.float64)
    if array.shape[1] == 4:
        values = complex_from(values, array[:-1, 3])
    shape = int(rows[-1]), int(columns[-1])
    return from_coordinates(values, rows[:-1] - 1, columns[:-1] - 1, shape)


def _byte_order(file: IO[bytes]) -> str:
    """The order in which the first number of the file is small."""
    file.seek(0)
    return "<" if int.from_bytes(file.read(4), "little") <= 5000 else ">"


def _read_header(file: IO[bytes], order: str) -> tuple[str, int, np.dtype[Any], tuple[int, int]]:
    header = file.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        raise ValueError("a header is truncated")
    form, rows, columns, imaginary, name_length = struct.unpack(f"{order}5i", header)
    swapped, rest = divmod(form, 1000)
    number, kind = divmod(rest, 10)
    known = swapped in (0, 1) and number < len(NUMBERS) and kind in (FULL, TEXT, SPARSE)
    if not known or min(rows, columns, name_length) < 0 or imaginary not in (0, 1):
        raise ValueError("not a MATLAB file of version 4 to 7, or a header is damaged")
    name = file.read(name_length).split(b"\0")[0].decode("latin-1")
    # A sparse matrix stores its imaginary parts as a fourth column.
    parts = 2 if imaginary and kind != SPARSE else 1
    return name, kind, np.dtype(order + NUMBERS[number]), (rows, columns * parts)


def _whole(numbers: Array) -> Array:
    """Indices, which are stored like values."""
    inside = (numbers >= 0) & (numbers <= LARGEST_EXTENT)
    if not inside.all() or (numbers != np.floor(numbers)).any():
        raise ValueError("the indices of a sparse matrix must be integers from 1")
    return numbers.astype(np.int32)
