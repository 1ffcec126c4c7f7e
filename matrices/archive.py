"""Read one matrix from an archive of the SuiteSparse collection.

Nothing is extracted to paths given by the archive: the member ``name/name.mtx`` is read as a stream, and only
if it is a regular file within the size limit.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import tarfile
import zlib
from collections.abc import Iterator
from typing import IO, cast

CHUNK = 1 << 20
# Archives also contain right-hand sides, coordinates and notes.
REST_FACTOR, REST_BYTES = 16, 1 << 30


@contextlib.contextmanager
def open_matrix(
    path: str | os.PathLike[str], name: str, *, most_bytes: int | None = None, whole: bool = True
) -> Iterator[IO[bytes]]:
    """
    The member ``name/name.mtx`` of a .tar.gz archive, as a binary stream.

    Parameters
    ----------
    path : path-like
        The archive.
    name : str
        The matrix's name.
    most_bytes : int, optional
        The largest accepted size of the member; the whole archive may have a bounded multiple of it.
    whole : bool, optional
        Whether to verify the checksum at the archive's end after the caller has read the member.

    Raises
    ------
    ValueError
        If the archive is truncated or damaged, has no such regular file, or is too large. The message names
        the archive.
    """
    try:
        with open(path, "rb") as file, gzip.GzipFile(fileobj=file) as unpacked:
            bounded = _Bounded(
                cast(IO[bytes], unpacked), None if most_bytes is None else most_in_all(most_bytes)
            )
            with tarfile.open(fileobj=cast(IO[bytes], bounded), mode="r|") as members:
                stream = members.extractfile(_find(members, f"{name}/{name}.mtx", most_bytes))
                assert stream is not None  # it is a regular file
                yield stream
            while whole and bounded.read(CHUNK):
                pass
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, _Refused) as error:
        raise ValueError(f"{path} is not a usable archive of {name}: {error}") from error


def most_in_all(most_bytes: int) -> int:
    """The most bytes of an archive whose matrix has at most `most_bytes`."""
    return REST_FACTOR * most_bytes + REST_BYTES


class _Refused(Exception):  # noqa: N818
    """The archive has unexpected contents."""


class _Bounded:
    """A stream that raises once more than `limit` bytes were read."""

    def __init__(self, stream: IO[bytes], limit: int | None):
        self.stream, self.limit, self.given = stream, limit, 0

    def read(self, size: int = -1) -> bytes:
        data = self.stream.read(size)
        self.given += len(data)
        if self.limit is not None and self.given > self.limit:
            raise _Refused(f"it contains more than {self.limit} bytes")
        return data


def _find(members: tarfile.TarFile, wanted: str, most_bytes: int | None) -> tarfile.TarInfo:
    member = next((member for member in members if member.name == wanted), None)
    if member is None:
        raise _Refused(f"it has no member {wanted}")
    if not member.isreg() or member.issparse():
        raise _Refused(f"its member {wanted} is not a regular file")
    if most_bytes is not None and member.size > most_bytes:
        raise _Refused(f"its member {wanted} has {member.size} bytes, at most {most_bytes} are plausible")
    return member
