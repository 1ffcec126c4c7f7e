"""The arrays of an .npz file, read with memory bounded by the file's length.

NumPy's reader trusts what headers promise. Here the header of each array must be one that NumPy writes, and
promise exactly the bytes that the archive's directory lists; these are bounded before any array is allocated.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO

import numpy as np

from linforest_precond.annotations import Array, DType
from linforest_precond.precond.schema import PreconditionerFileError

# A file may hold this many times its length, if it was compressed, or this many bytes.
MOST_EXPANSION = 100
ALWAYS_ALLOWED = 2**20
COMPRESSIONS = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
BYTES_AT_ONCE = 2**22

MAGIC = b"\x93NUMPY"
# Bytes of the header's length in each version of the format.
LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
LONGEST_HEADER = 10_000
HEADER = re.compile(
    r"\{'descr': '([<>|=][iufcU]\d{1,9})', 'fortran_order': (True|False), "
    r"'shape': \(((?:\d{1,19}, ?)*\d{0,19})\), \} *\n"
)


def read_arrays(file: BinaryIO, source: str) -> dict[str, Array]:
    """All arrays by name, writable and C-contiguous."""
    with _named_errors(source, "the archive"), zipfile.ZipFile(file) as archive:
        members = _bounded_members(archive, file, source)
        arrays = {}
        for name, member in members.items():
            with _named_errors(source, name), archive.open(member) as content:
                arrays[name] = _read_array(content, member.file_size)
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


def _read_array(content: IO[bytes], size: int) -> Array:
    """The array of a member of `size` bytes."""
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
        raise ValueError("its header is not one of NumPy's for numbers or text")
    shape = tuple(int(each) for each in found[3].split(",") if each.strip())
    return np.dtype(found[1]), found[2] == "True", shape, len(start) + LENGTH_BYTES[version] + length


def _fill(target: memoryview, content: IO[bytes]) -> None:
    """Read all of the target's bytes, and to the end, where the archive's checksum is compared."""
    filled = 0
    while filled < len(target):
        piece: Any = content.read(min(BYTES_AT_ONCE, len(target) - filled))
        if not piece:
            raise ValueError("it is cut off")
        target[filled : filled + len(piece)] = piece
        filled += len(piece)
    if content.read(1):
        raise ValueError("it is longer than its header promises")
