"""Sparse matrices in MATLAB files of version 4, and 5 to 7.

Only what is needed is read: a sparse variable, or the field A of a structure Problem, as in the SuiteSparse
collection. Every length is compared with that of the enclosing element. The format is described in MathWorks,
MAT-File Format.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from linforest_precond.backends.annotations import Array

from . import mat4_files
from .bounded_streams import most_inflated, open_regular, size_of
from .index_arrays import complex_from, from_compressed

HEADER_BYTES, TAG_BYTES = 128, 8
# The flags, dimensions and name of a variable lie in its first bytes.
FIRST_BYTES = 4096
# Types of elements, and of numbers.
MATRIX, COMPRESSED = 14, 15
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
# Classes and flags of arrays.
STRUCTURE, SPARSE = 2, 5
LOGICAL, COMPLEX = 0x0200, 0x0800


def read_mat(path: Path) -> Any:
    """The matrix Problem.A, or the only sparse variable of a file."""
    with open_regular(path) as file:
        start = file.read(HEADER_BYTES)
        if start[:10] == b"MATLAB 7.3":
            raise ValueError("MATLAB 7.3 files are HDF5; save with -v7 instead")
        size = size_of(file)
        if 0 in start[:4]:  # text in version 5, a number below 5000 in version 4
            return mat4_files.read_sparse(_only(mat4_files.sparse_variables(file, size)))
        variables = _variables(file, start, size)
        matrix = _matrix_of_problem(variables)
        if matrix is None:
            matrix = _only([(name, element) for name, kind, element in variables if kind == SPARSE]).matrix()
        return _sparse(matrix)


def _only(variables: list[tuple[str, Any]]) -> Any:
    if len(variables) != 1:
        found = ", ".join(name if name.isidentifier() else repr(name) for name, _ in variables) or "none"
        raise ValueError(f"expected a Problem with a field A, or one sparse variable, found {found}")
    return variables[0][1]


def _variables(file: IO[bytes], start: bytes, size: int) -> list[tuple[str, int, _Element]]:
    """(name, class, element) of the structures and sparse matrices in a file."""
    order = {b"IM": "<", b"MI": ">"}.get(start[126:128])
    if order is None:
        raise ValueError("not a MATLAB file of version 4 to 7")
    found = []
    for element in _elements(file, order, size):
        matrix = element.matrix(FIRST_BYTES)
        kind = matrix.flags & 0xFF
        if kind in (STRUCTURE, SPARSE):
            found.append((matrix.header()[1], kind, element))
    return found


def _elements(file: IO[bytes], order: str, size: int) -> Iterator[_Element]:
    at = HEADER_BYTES
    while at < size:
        file.seek(at)
        tag = file.read(TAG_BYTES)
        kind, length = struct.unpack(f"{order}II", tag) if len(tag) == TAG_BYTES else (0, 0)
        at += TAG_BYTES + length
        if kind not in (MATRIX, COMPRESSED) or at > size:
            raise ValueError("an element is damaged, or the file is truncated")
        yield _Element(file, order, at - length, length, kind == COMPRESSED)


@dataclass(frozen=True)
class _Element:
    """A variable in a file."""

    file: IO[bytes]
    order: str
    at: int
    length: int
    compressed: bool

    def matrix(self, most: int | None = None) -> _Matrix:
        """The variable, or its first bytes."""
        self.file.seek(self.at)
        read = self.length if most is None else min(self.length, most)
        data = self.file.read(read)
        return _Matrix(self._inflated(data, most) if self.compressed else data, self.order)

    def _inflated(self, data: bytes, most: int | None) -> bytes:
        """The matrix in a compressed element; a whole one ends with a checksum, which zlib verifies."""
        stream = zlib.decompressobj()
        tag = stream.decompress(data, TAG_BYTES)
        kind, length = struct.unpack(f"{self.order}II", tag) if len(tag) == TAG_BYTES else (0, 0)
        if kind != MATRIX or length > most_inflated(self.length):
            raise ValueError("a compressed element is damaged, or expands to an implausible length")
        wanted = length if most is None else min(length, most)
        # One byte more than declared: a limit of 0 would mean no limit.
        content = stream.decompress(stream.unconsumed_tail, wanted + 1)
        if most is None and (len(content) != length or not stream.eof):
            raise ValueError("a compressed element is damaged or truncated")
        return content[:wanted]


class _Matrix:
    """The elements within a variable, one after the other: flags, dimensions, name, then the contents."""

    def __init__(self, data: bytes | memoryview, order: str):
        self.data, self.order, self.at = memoryview(data), order, 0
        self.flags = int(self.numbers("the flags", "u4", 2)[0])

    def element(self, what: str) -> tuple[int, memoryview]:
        """The type and the bytes of the next element."""
        tag = bytes(self.data[self.at : self.at + TAG_BYTES])
        if len(tag) < TAG_BYTES:
            raise ValueError(f"{what} are missing")
        kind, length = struct.unpack(f"{self.order}II", tag)
        start, padded = self.at + TAG_BYTES, -(-length // 8) * 8
        if kind >> 16:  # a small element: length and type share a word, and up to 4 bytes follow
            kind, length, start, padded = kind & 0xFFFF, kind >> 16, self.at + 4, 4
            if length > 4:
                raise ValueError(f"{what} have a damaged tag")
        if start + length > len(self.data):
            raise ValueError(f"{what} are truncated")
        self.at = start + padded
        return kind, self.data[start : start + length]

    def numbers(self, what: str, expected: str | None = None, count: int | None = None) -> Array:
        """The next element as an array, of the type and length expected."""
        kind, data = self.element(what)
        name = NUMBERS.get(kind)
        if name is None or (expected or name) != name:
            raise ValueError(f"{what} have the unexpected type {kind}")
        dtype = np.dtype(self.order + name)
        if len(data) % dtype.itemsize or len(data) // dtype.itemsize != (
            count or len(data) // dtype.itemsize
        ):
            raise ValueError(f"{what} have the unexpected length {len(data)}")
        return np.frombuffer(data, dtype).astype(dtype.newbyteorder("="), copy=False)

    def header(self) -> tuple[tuple[int, ...], str]:
        """The dimensions and the name."""
        dimensions = self.numbers("the dimensions", "i4")
        if dimensions.size < 2 or dimensions.min() < 0:
            raise ValueError(f"the dimensions are {dimensions[:4].tolist()}")
        return tuple(dimensions.tolist()), bytes(self.element("the names")[1]).decode("latin-1")


def _matrix_of_problem(variables: list[tuple[str, int, _Element]]) -> _Matrix | None:
    """The field A of the structure Problem, if there is one."""
    for name, kind, element in variables:
        if (name, kind) == ("Problem", STRUCTURE):
            return _field(element.matrix(), "A")
    return None


def _field(structure: _Matrix, wanted: str) -> _Matrix | None:
    """A field of the first element of a structure."""
    dimensions, _ = structure.header()
    length = int(structure.numbers("the lengths of field names", "i4", 1)[0])
    names = bytes(structure.element("the field names")[1])
    if length < 1 or len(names) % length or 0 in dimensions:
        raise ValueError("the structure Problem is empty or damaged")
    fields = [names[at : at + length].split(b"\0")[0] for at in range(0, len(names), length)]
    if wanted.encode() not in fields:
        return None
    for _ in range(fields.index(wanted.encode())):
        structure.element("the fields")
    kind, data = structure.element("the fields")
    if kind != MATRIX:
        raise ValueError(f"the field {wanted} is not an array")
    return _Matrix(data, structure.order)


def _sparse(matrix: _Matrix) -> Any:
    """The sparse matrix in a variable; it may store more entries than the last column pointer says."""
    dimensions, _ = matrix.header()
    if matrix.flags & 0xFF != SPARSE or len(dimensions) != 2:
        raise ValueError("the field A of Problem is not a sparse matrix")
    rows = matrix.numbers("the row indices")
    pointers = matrix.numbers("the column pointers")
    values = matrix.numbers("the values")
    if matrix.flags & COMPLEX:
        values = complex_from(values, matrix.numbers("the imaginary parts", None, values.size))
    elif matrix.flags & LOGICAL:
        values = values.astype(np.bool_)
    stored = int(pointers[-1]) if pointers.size else 0
    return from_compressed("csc", values[:stored], rows[:stored], pointers, (dimensions[0], dimensions[1]))
