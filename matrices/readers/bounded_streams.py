"""Size-limited binary streams, and limits on the sizes that file headers declare.

A file is read in time and memory proportional to its length: a compressed text may expand by
`MOST_EXPANSION`, a header may declare at most as many entries as fit into the text, and at most as many rows
as `check_rows` allows.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

# Text files of matrices expand by 3 to 30, more with one repeated number; small files by any factor.
MOST_EXPANSION = 256
LEAST_BOUND = 1 << 26
# The largest expansion of deflate, which constant arrays approach.
MOST_INFLATION = 1032
# Row pointers are allocated for at most MOST_ROWS rows, or ROWS_PER_ENTRY rows per entry.
MOST_ROWS = 1 << 26
ROWS_PER_ENTRY = 16
LARGEST_SIZE = 2**63 - 1
# Bytes of text that are split into lines at a time.
CHUNK = 1 << 20

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}


class Implausible(ValueError):  # noqa: N818
    """A file is out of proportion, or its container has unexpected contents."""


class Bounded:
    """A binary stream that raises `Implausible` when more than `most_bytes` are read from it."""

    def __init__(self, stream: Any, most_bytes: int):
        self.stream, self.most_bytes, self.given = stream, most_bytes, 0

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes, or all."""
        return self._counted(self.stream.read(self._limited(size)))

    def readline(self, size: int = -1) -> bytes:
        """A line, or its first `size` bytes."""
        return self._counted(self.stream.readline(self._limited(size)))

    def _limited(self, size: int) -> int:
        """One byte past the bound is enough to know that it is exceeded."""
        left = self.most_bytes - self.given + 1
        return left if size < 0 else min(size, left)

    def _counted(self, data: bytes) -> bytes:
        self.given += len(data)
        if self.given > self.most_bytes:
            raise Implausible(f"it contains more than {self.most_bytes} bytes, which is not plausible")
        return data


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """A regular file, opened for reading: devices and pipes may be endless. FileNotFoundError for others."""
    try:
        file = open(path, "rb", opener=_without_waiting)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
    except IsADirectoryError:
        pass
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in the path
        raise FileNotFoundError(f"{path} does not exist") from None
    raise FileNotFoundError(f"{path} is not a regular file: folders, devices and pipes are not read")


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe without a writer would block."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def size_of(file: BinaryIO) -> int:
    """The length of an open file in bytes."""
    return os.fstat(file.fileno()).st_size


@contextlib.contextmanager
def open_bounded(path: str | os.PathLike[str]) -> Iterator[Bounded]:
    """A regular file, decompressed according to its suffix; at its end the checksum has been verified."""
    opener = OPENERS.get(Path(path).suffix.lower())
    with open_regular(path) as file:
        if opener is None:
            yield Bounded(file, size_of(file))
            return
        with opener(file, "rb") as unpacked:
            yield Bounded(unpacked, most_expanded(size_of(file)))


def text_lines(path: str | os.PathLike[str], most_bytes: int) -> Iterator[str]:
    """The lines of a text file in UTF-8, plain or compressed, without a byte order mark."""
    before, rest = 0, b""
    for chunk in chunks(path):
        whole, end, rest = (rest + chunk).rpartition(b"\n")
        yield from _decoded(whole + end, path, before, most_bytes)
        before += whole.count(b"\n") + len(end)
        if len(rest) > most_bytes:
            break
    yield from _decoded(rest, path, before, most_bytes)


def chunks(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """The bytes of a file, plain or compressed, `CHUNK` at a time; a ValueError names one that is damaged."""
    try:
        with open_bounded(path) as stream:
            while chunk := stream.read(CHUNK):
                yield chunk
    except (EOFError, OSError, zlib.error, Implausible) as error:
        if isinstance(error, FileNotFoundError) or getattr(error, "errno", None) is not None:
            raise
        raise ValueError(f"{path} cannot be read: {error}") from error


def _decoded(piece: bytes, path: str | os.PathLike[str], before: int, most_bytes: int) -> Iterator[str]:
    """The lines of a piece of text, `before` lines into the file."""
    lines = piece.split(b"\n")
    if max(map(len, lines)) > most_bytes:
        number = before + next(at for at, line in enumerate(lines, 1) if len(line) > most_bytes)
        raise ValueError(f"{path}, line {number} must have at most {most_bytes:,} bytes, got more")
    if found := re.search(rb"\r(?!\n|\Z)", piece):
        number = before + piece.count(b"\n", 0, found.start()) + 1
        raise ValueError(f"{path}, line {number} must end with a line feed, got a carriage return")
    try:
        text = piece.removeprefix(codecs.BOM_UTF8 if before == 0 else b"").decode("utf-8")
    except UnicodeDecodeError as error:
        number = before + error.object.count(b"\n", 0, error.start) + 1
        place = error.start - error.object.rfind(b"\n", 0, error.start) - 1
        raise ValueError(
            f"{path} must be a text file in UTF-8: byte {place} of line {number} is not"
        ) from None
    yield from io.StringIO(text, newline="\n")


def most_expanded(size: int) -> int:
    """The size limit of text decompressed from `size` bytes."""
    return max(MOST_EXPANSION * size, LEAST_BOUND)


def most_inflated(size: int) -> int:
    """The size limit of arrays inflated from `size` bytes of deflate."""
    return MOST_INFLATION * (size + 1)


def drain(stream: Bounded | IO[bytes]) -> None:
    """Read a stream to its end, where the decompression verifies its checksum."""
    while stream.read(CHUNK):
        pass


def check_rows(rows: int, entries: int) -> None:
    """Raise if the row pointers of a matrix would be out of proportion to its entries."""
    most = max(MOST_ROWS, ROWS_PER_ENTRY * entries)
    if rows > most:
        raise Implausible(f"{rows} rows with {entries} entries are too many, expected at most {most} rows")


def check_promise(what: str, count: int, least_bytes: int, most_bytes: int | None) -> None:
    """Raise if `count` items of at least `least_bytes` each cannot be in a text of `most_bytes`."""
    if most_bytes is not None and count * least_bytes > most_bytes + 1:  # the last line end may be missing
        raise Implausible(f"the header promises {count} {what}, but the file has room for less")
