"""Reads NumPy's .npy format with memory bounded by the length of the file.

NumPy's reader trusts what headers promise. Here a header must be one that NumPy writes for an array of
numbers or text, and promise exactly the bytes that follow it.
"""

from __future__ import annotations

import math
import re
from typing import IO, Any

import numpy as np

from linforest_precond.backends.annotations import Array, DType

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
