"""Sparse matrices in .npz files, as `scipy.sparse.save_npz` writes them.

An .npz is a zip archive of .npy files. The header of each is compared with the size in the archive's
directory, and that with the length of the file, before an array is allocated.
"""

from __future__ import annotations

import math
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from linforest_precond.annotations import Array, DType

from .index_arrays import from_compressed, from_coordinates, from_diagonals
from .streams import LARGEST_SIZE, most_inflated

MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 10_000
# The headers that NumPy writes for arrays of one simple type.
HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[a-zA-Z]\d{0,4})', 'fortran_order': (True|False), "
    rb"'shape': \((\d{0,19}(?:, ?\d{1,19}){0,2}),?\), ?\} *\n"
)
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_npz(path: Path) -> Any:
    """The matrix in a file, in the format in which it was saved."""
    with zipfile.ZipFile(path) as archive:
        arrays = _Arrays(archive, path.stat().st_size)
        format, shape = arrays.text("format"), arrays.shape()
        if format in ("csr", "csc", "bsr"):
            return from_compressed(format, arrays["data"], arrays["indices"], arrays["indptr"], shape)
        if format == "dia":
            return from_diagonals(arrays["data"], arrays["offsets"], shape)
        if format == "coo":
            return from_coordinates(arrays["data"], *arrays.coordinates(), shape)
    raise ValueError(f"the format must be csr, csc, bsr, dia or coo, got {format[:20]!r}")


class _Arrays:
    """The arrays of an archive of `size` bytes."""

    def __init__(self, archive: zipfile.ZipFile, size: int):
        self.archive, self.size = archive, size
        self.names = set(archive.namelist())

    def __getitem__(self, name: str) -> Array:
        if f"{name}.npy" not in self.names:
            raise ValueError(f"there is no array {name}")
        member = self.archive.getinfo(f"{name}.npy")
        if member.compress_type not in METHODS:
            raise ValueError(f"the array {name} is compressed by an unknown method")
        if not 0 <= member.compress_size <= self.size or member.file_size > most_inflated(
            member.compress_size
        ):
            raise ValueError(f"the array {name} of {member.file_size} bytes is not plausible")
        with self.archive.open(member) as stream:
            return _read_array(stream, name, member.file_size)

    def text(self, name: str) -> str:
        array = self[name]
        if array.size != 1 or array.dtype.kind not in "SU":
            raise ValueError(f"{name} must be a text, got {array.dtype}")
        text = array.reshape(-1)[0]
        return text.decode("ascii", "replace") if isinstance(text, bytes) else str(text)

    def shape(self) -> tuple[int, int]:
        shape = self["shape"]
        if (
            shape.shape != (2,)
            or shape.dtype.kind not in "iu"
            or not 0 <= min(shape) <= max(shape) <= LARGEST_SIZE
        ):
            raise ValueError(f"shape must be two sizes, got {shape.dtype} of shape {shape.shape}")
        return int(shape[0]), int(shape[1])

    def coordinates(self) -> tuple[Array, Array]:
        if "coords.npy" not in self.names:
            return self["row"], self["col"]
        coords = self["coords"]
        if coords.ndim != 2 or len(coords) != 2:
            raise ValueError(f"coords must be rows and columns, got shape {coords.shape}")
        return coords[0], coords[1]


def _read_array(stream: Any, name: str, size: int) -> Array:
    """An .npy file of `size` bytes; its end is read too, where the checksum is verified."""
    dtype, order, shape, length = _read_header(stream, name)
    promised = math.prod(shape) * dtype.itemsize
    if promised != size - length:
        raise ValueError(f"the array {name} promises {promised} bytes, but has {size - length}")
    data = stream.read(promised + 1)
    if len(data) != promised:
        raise ValueError(f"the array {name} is truncated")
    return np.frombuffer(data, dtype, count=math.prod(shape)).reshape(shape, order=order).copy(order)


def _read_header(stream: Any, name: str) -> tuple[DType, Any, tuple[int, ...], int]:
    """The type, the order, the shape, and the length of the header."""
    start = stream.read(8)
    width = {1: 2, 2: 4, 3: 4}.get(start[6] if len(start) == 8 else 0)
    if start[:6] != MAGIC or width is None:
        raise ValueError(f"{name}.npy is not an array of NumPy")
    length = int.from_bytes(stream.read(width), "little")
    text = stream.read(min(length, LONGEST_HEADER))
    match = HEADER.fullmatch(text)
    if match is None:
        raise ValueError(f"the header of {name}.npy is {text[:80]!r}, which no simple array has")
    return (
        _dtype(match[1].decode(), name),
        "F" if match[2] == b"True" else "C",
        _shape(match[3]),
        8 + width + length,
    )


def _dtype(text: str, name: str) -> DType:
    if "O" in text:
        raise ValueError(f"the array {name} holds Python objects, which are not loaded (allow_pickle=False)")
    try:
        dtype = np.dtype(text)
    except TypeError:
        dtype = np.dtype("V")
    if dtype.kind not in "biufcSU" or not dtype.itemsize:
        raise ValueError(f"the array {name} has the type {text!r}, expected numbers")
    return dtype


def _shape(text: bytes) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(b",") if word.strip())
