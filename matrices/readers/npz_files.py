"""Sparse matrices in .npz files, as `scipy.sparse.save_npz` writes them.

An .npz is a zip archive of .npy files. NumPy's reader trusts what headers promise. Here a header must be one
that NumPy writes for an array of numbers or text, and promise exactly the bytes that follow it: the size in
the archive's directory, which is compared with the length of the file before an array is allocated.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np

from linforest_precond.backends.annotations import Array, DType

from .bounded_streams import LARGEST_SIZE, most_inflated, open_regular, size_of
from .index_arrays import from_compressed, from_coordinates, from_diagonals

MAGIC = b"\x93NUMPY"
# Bytes of the header's length in each version of the format.
LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
LONGEST_HEADER = 10_000
HEADER = re.compile(
    r"\{'descr': '([<>|=][biufcSU]\d{1,9})', 'fortran_order': (True|False), "
    r"'shape': \(((?:\d{1,19}, ?)*\d{0,19})\), \} *\n"
)
BYTES_AT_ONCE = 2**22


def read_array(content: IO[bytes], size: int) -> Array:
    """The array in a stream of `size` bytes, writable and C-contiguous; read to the end of the stream.

    Messages of a ValueError begin with "it" or "its".
    """
    dtype, fortran, shape, header_bytes = _read_header(content)
    count = math.prod(shape)
    if count * dtype.itemsize != size - header_bytes:
        raise ValueError(f"its header promises {count * dtype.itemsize:,} bytes, got {size - header_bytes:,}")
    flat = np.empty(count, dtype)
    _fill(flat.view(np.uint8).data, content)
    return np.asarray(flat.reshape(shape, order="F" if fortran else "C"), order="C")


def _read_header(content: IO[bytes]) -> tuple[DType, bool, tuple[int, ...], int]:
    """Type, whether columns come first, shape, and the bytes of the header."""
    start = content.read(len(MAGIC) + 2)
    version = tuple(start[len(MAGIC) :])
    if not start.startswith(MAGIC) or version not in LENGTH_BYTES:
        raise ValueError("it is not a NumPy array")
    length = int.from_bytes(content.read(LENGTH_BYTES[version]), "little")
    text = content.read(min(length, LONGEST_HEADER)).decode("latin1")
    found = HEADER.fullmatch(text)
    if found is None:
        if text.startswith("{'descr': '|O'"):
            raise ValueError("it holds Python objects, which are not loaded (allow_pickle=False)")
        raise ValueError("its header is not one of NumPy's for numbers or text")
    shape = tuple(int(each) for each in found[3].split(",") if each.strip())
    return _dtype(found[1]), found[2] == "True", shape, len(start) + LENGTH_BYTES[version] + length


def _dtype(text: str) -> DType:
    try:
        dtype = np.dtype(text)
    except TypeError:
        raise ValueError(f"it has the unknown type {text!r}") from None
    if not dtype.itemsize:
        raise ValueError(f"it has the type {text!r} of no bytes")
    return dtype


def _fill(target: memoryview, content: IO[bytes]) -> None:
    """Read all of the target's bytes, and to the end, where an archive's checksum is compared."""
    filled = 0
    while filled < len(target):
        piece: Any = content.read(min(BYTES_AT_ONCE, len(target) - filled))
        if not piece:
            raise ValueError("it is cut off")
        target[filled : filled + len(piece)] = piece
        filled += len(piece)
    if content.read(1):
        raise ValueError("it is longer than its header promises")


METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_npz(path: Path) -> Any:
    """The matrix in a file, in the format in which it was saved."""
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        arrays = NpzArrays(archive, size_of(file))
        format, shape = arrays.text("format"), arrays.shape()
        if format in ("csr", "csc", "bsr"):
            return from_compressed(format, arrays["data"], arrays["indices"], arrays["indptr"], shape)
        if format == "dia":
            return from_diagonals(arrays["data"], arrays["offsets"], shape)
        if format == "coo":
            return from_coordinates(arrays["data"], *arrays.coordinates(), shape)
    raise ValueError(f"the format must be csr, csc, bsr, dia or coo, got {format[:20]!r}")


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, Array]:
    """The named arrays that a file contains."""
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        arrays = NpzArrays(archive, size_of(file))
        return {name: arrays[name] for name in names if name in arrays.names}


class NpzArrays:
    """The arrays of an archive of `size` bytes, by name: writable and C-contiguous."""

    def __init__(self, archive: zipfile.ZipFile, size: int):
        self.archive, self.size = archive, size
        names = (name for name in archive.namelist() if name.endswith(".npy"))
        self.names = dict.fromkeys(name.removesuffix(".npy") for name in names)

    def __getitem__(self, name: str) -> Array:
        if name not in self.names:
            raise ValueError(f"there is no array {name}")
        member = self.archive.getinfo(f"{name}.npy")
        if member.compress_type not in METHODS:
            raise ValueError(f"the array {name} is compressed by an unknown method")
        if not 0 <= member.compress_size <= self.size or member.file_size > most_inflated(
            member.compress_size
        ):
            raise ValueError(f"the array {name} of {member.file_size} bytes is not plausible")
        with self.archive.open(member) as stream:
            try:
                return read_array(stream, member.file_size)
            except ValueError as error:
                raise ValueError(f"the array {name} cannot be read: {error}") from error

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
        if "coords" not in self.names:
            return self["row"], self["col"]
        coords = self["coords"]
        if coords.ndim != 2 or len(coords) != 2:
            raise ValueError(f"coords must be rows and columns, got shape {coords.shape}")
        return coords[0], coords[1]
