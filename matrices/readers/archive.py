"""Read one matrix from an archive of the SuiteSparse collection: tar, checked and bounded.

Nothing is extracted to paths given by the archive: the member ``name/name.mtx`` is read as a stream, and only
if it is a regular file within the size limit. Python's `tarfile` takes time quadratic in the length of a pax
header, and pax headers have any length. Here a header (ustar, GNU or pax) is 512 bytes and its extensions are
at most `MOST_EXTENSION`.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, cast

from .bounded_streams import Bounded, Implausible, drain, most_expanded, open_regular, size_of

# Archives also contain right-hand sides, coordinates and notes.
REST_FACTOR, REST_BYTES = 16, 1 << 30


@contextlib.contextmanager
def open_matrix(
    path: str | os.PathLike[str], name: str, *, most_bytes: int | None = None, whole: bool = True
) -> Iterator[IO[bytes]]:
    """The member ``name/name.mtx`` of a .tar.gz archive, as a stream; ValueError for damaged or larger ones.

    `most_bytes` bounds the member, and a multiple of it the archive. `whole` verifies the checksum at the
    archive's end after the caller has read the member.
    """
    try:
        with open_regular(path) as packed, gzip.open(packed) as file:
            most = most_expanded(size_of(packed))
            unpacked = Bounded(file, most if most_bytes is None else min(most, most_in_all(most_bytes)))
            yield cast(IO[bytes], open_member(unpacked, f"{name}/{name}.mtx", most_bytes))
            if whole:
                drain(unpacked)
    except (EOFError, zlib.error, gzip.BadGzipFile, Implausible) as error:
        raise ValueError(f"{path} is not a usable archive of {name}: {error}") from error


def most_in_all(most_bytes: int) -> int:
    """The most bytes of an archive whose matrix has at most `most_bytes`."""
    return REST_FACTOR * most_bytes + REST_BYTES


BLOCK = 512
CHUNK = 1 << 20
MOST_EXTENSION = 1 << 16
REGULAR = (b"0", b"\0", b"7")
# Links, devices and folders have no data, whatever size they declare.
WITHOUT_DATA = (b"1", b"2", b"3", b"4", b"5", b"6")
LONG_NAME, PAX = b"L", (b"x", b"X")
# Headers that are skipped: long link names, and global pax headers.
OTHER_HEADERS = (b"K", b"g")
PAX_RECORD = re.compile(rb"(\d{1,9}) ([^=]{1,256})=")


@dataclass
class Member:
    """One member of an archive."""

    name: bytes
    kind: bytes
    size: int

    @property
    def is_regular(self) -> bool:
        return self.kind in REGULAR and not self.name.endswith(b"/")

    @property
    def stored(self) -> int:
        """The bytes that follow the header, padded to whole blocks."""
        return 0 if self.kind in WITHOUT_DATA else -(-self.size // BLOCK) * BLOCK


def open_member(stream: Bounded, name: str, most_bytes: int | None = None) -> Bounded:
    """A stream of the regular file `name`; it raises EOFError where the archive ends within it."""
    member = _find(stream, os.fsencode(name))
    if member is None:
        raise Implausible(f"it has no member {name}")
    if not member.is_regular:
        raise Implausible(f"its member {name} is not a regular file")
    if most_bytes is not None and member.size > most_bytes:
        raise Implausible(f"its member {name} has {member.size} bytes, at most {most_bytes} are plausible")
    return Bounded(_Exactly(stream, member.size), member.size)


def _find(stream: Bounded, wanted: bytes) -> Member | None:
    extension: dict[bytes, Any] = {}
    while (block := _exactly(stream, BLOCK)).strip(b"\0"):
        member = _header(block)
        if member.kind == LONG_NAME:
            extension[b"path"] = _extension(stream, member).split(b"\0")[0]
        elif member.kind in PAX:
            extension |= _pax_records(_extension(stream, member))
        elif member.kind in OTHER_HEADERS:
            _skip(stream, member.stored)
        else:
            member = _extended(member, extension)
            if member.name.rstrip(b"/") == wanted:
                return member
            _skip(stream, member.stored)
            extension = {}
    return None


def _header(block: bytes) -> Member:
    unsigned = sum(block) - sum(block[148:156]) + 8 * ord(" ")
    if _number(block[148:156]) != unsigned:
        raise Implausible("it is not a tar archive, or it is damaged: a header's checksum is wrong")
    name, prefix = (field.split(b"\0")[0] for field in (block[:100], block[345:500]))
    is_posix = block[257:263] == b"ustar\0"
    return Member(
        prefix + b"/" + name if prefix and is_posix else name, block[156:157], _number(block[124:136])
    )


def _number(field: bytes) -> int:
    """An octal number, or GNU's binary one, which starts with 0x80."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    text = field.split(b"\0")[0].strip()
    if not re.fullmatch(rb"[0-7]*", text):
        raise Implausible(f"a tar header has the number {text!r}")
    return int(text or b"0", 8)


def _extension(stream: Bounded, member: Member) -> bytes:
    if member.size > MOST_EXTENSION:
        raise Implausible(f"a tar header has {member.size} bytes, at most {MOST_EXTENSION} are plausible")
    return _exactly(stream, member.stored)[: member.size]


def _pax_records(data: bytes) -> dict[bytes, bytes]:
    """The records of a pax header: length, keyword, value."""
    records, at = {}, 0
    while at < len(data):
        match = PAX_RECORD.match(data, at)
        end = at + int(match[1]) if match else 0
        if match is None or not match.end() < end <= len(data) or data[end - 1 : end] != b"\n":
            raise Implausible("a pax header is damaged")
        records[match[2]] = data[match.end() : end - 1]
        at = end
    return records


def _extended(member: Member, extension: dict[bytes, bytes]) -> Member:
    """The member under the name and size of its extension; sparse files are not regular ones."""
    size = extension.get(b"size")
    if size is not None and not re.fullmatch(rb"\d{1,19}", size):
        raise Implausible(f"a pax header has the size {size[:80]!r}")
    is_sparse = any(key.startswith(b"GNU.sparse") for key in extension)
    return Member(
        extension.get(b"path", member.name),
        b"S" if is_sparse else member.kind,
        member.size if size is None else int(size),
    )


def _exactly(stream: Bounded, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("it is truncated")
    return data


def _skip(stream: Bounded, size: int) -> None:
    while size:
        size -= len(_exactly(stream, min(size, CHUNK)))


class _Exactly:
    """The next `size` bytes of a stream."""

    def __init__(self, stream: Bounded, size: int):
        self.stream, self.left = stream, size

    def read(self, size: int) -> bytes:
        return self._counted(self.stream.read(min(size, self.left)), size)

    def readline(self, size: int) -> bytes:
        return self._counted(self.stream.readline(min(size, self.left)), size)

    def close(self) -> None:
        pass

    def _counted(self, data: bytes, asked: int) -> bytes:
        if self.left and asked and not data:
            raise EOFError("it is truncated")
        self.left -= len(data)
        return data
