"""The arrays of an .npz file, read with memory bounded by the file's length.

The bytes that the archive's directory lists are bounded before any array is allocated, and each array must
have exactly those (`npy_arrays`).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from linforest_precond.backends.annotations import Array
from linforest_precond.matrices.readers.npy_arrays import read_array
from linforest_precond.precond.storage.schema import PreconditionerFileError

# A file may hold this many times its length, if it was compressed, or this many bytes.
MOST_EXPANSION = 100
ALWAYS_ALLOWED = 2**20
COMPRESSIONS = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED


def read_arrays(file: BinaryIO, source: str) -> dict[str, Array]:
    """All arrays by name, writable and C-contiguous."""
    with _named_errors(source, "the archive"), zipfile.ZipFile(file) as archive:
        members = _bounded_members(archive, file, source)
        arrays = {}
        for name, member in members.items():
            with _named_errors(source, name), archive.open(member) as content:
                arrays[name] = read_array(content, member.file_size)
        return arrays


@contextmanager
def _named_errors(source: str, what: str) -> Iterator[None]:
    """Whatever a broken archive leads the zip reader to raise, with the file's name."""
    try:
        yield
    except (PreconditionerFileError, MemoryError):
        raise
    except Exception as error:
        raise PreconditionerFileError(
            f"{source} is not a complete preconditioner file: {what} cannot be read ({error})"
        ) from error


def _bounded_members(archive: zipfile.ZipFile, file: BinaryIO, source: str) -> dict[str, zipfile.ZipInfo]:
    """The members by the names of their arrays; an error where they are many times as long as the file."""
    listed = archive.infolist()
    members = {info.filename.removesuffix(".npy"): info for info in listed}
    if len(members) != len(listed):
        raise ValueError("two arrays have the same name")
    if any(info.compress_type not in COMPRESSIONS for info in listed):
        raise ValueError("it is compressed by another method than deflate")
    length = file.seek(0, 2)
    total = sum(info.file_size for info in listed)
    if total > max(ALWAYS_ALLOWED, MOST_EXPANSION * length):
        raise ValueError(f"it promises {total:,} bytes in a file of {length:,}")
    return members
