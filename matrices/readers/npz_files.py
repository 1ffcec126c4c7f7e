"""Sparse matrices in .npz files, as `scipy.sparse.save_npz` writes them.

An .npz is a zip archive of .npy files. The header of each is compared with the size in the archive's
directory (`npy_arrays`), and that with the length of the file, before an array is allocated.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from linforest_precond.backends.annotations import Array
from linforest_precond.matrices.readers.npy_arrays import read_array

from .bounded_streams import LARGEST_SIZE, most_inflated, open_regular, size_of
from .index_arrays import from_compressed, from_coordinates, from_diagonals

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
