"""Read one matrix from an archive of the SuiteSparse collection.

Nothing is extracted to paths given by the archive: the member ``name/name.mtx`` is read as a stream, and only
if it is a regular file within the size limit.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import zlib
from collections.abc import Iterator
from typing import IO, cast

from .bounded_streams import Bounded, Implausible, drain, most_expanded, open_regular, size_of
from .tar_members import open_member

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
