"""Take one matrix out of an archive of the SuiteSparse collection, and nothing else.

Nothing is unpacked to where an archive says: the one member ``name/name.mtx`` is read as a stream, and only
when it is a regular file no larger than it may be.
"""

from __future__ import annotations

import contextlib
import gzip
import tarfile
import zlib

CHUNK = 1 << 20
# Archives also hold right-hand sides, coordinates and notes beside the matrix.
REST_FACTOR, REST_BYTES = 16, 1 << 30


@contextlib.contextmanager
def open_matrix(path, name, *, most_bytes=None, whole=True):
    """
    The member ``name/name.mtx`` of a .tar.gz archive, as a binary stream.

    Parameters
    ----------
    path : path-like
        The archive.
    name : str
        The matrix's name.
    most_bytes : int, optional
        The largest size accepted for the member; the whole archive may unpack to a bounded multiple of it.
    whole : bool, optional
        Whether to read on to the checksum at the archive's end when the caller is done with the member.

    Raises
    ------
    ValueError
        Where the archive is cut off or damaged, holds no such regular file, or unpacks to too much. The
        message names the archive.
    """
    try:
        with open(path, "rb") as file, gzip.GzipFile(fileobj=file) as unpacked:
            bounded = _Bounded(unpacked, None if most_bytes is None else most_in_all(most_bytes))
            with tarfile.open(fileobj=bounded, mode="r|") as members:
                yield members.extractfile(_find(members, f"{name}/{name}.mtx", most_bytes))
            while whole and bounded.read(CHUNK):
                pass
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, _Refused) as error:
        raise ValueError(f"{path} is no usable archive of {name}: {error}") from error


def most_in_all(most_bytes):
    """The most an archive may hold whose matrix has at most so many bytes."""
    return REST_FACTOR * most_bytes + REST_BYTES


class _Refused(Exception):  # noqa: N818
    """The archive holds what it should not."""


class _Bounded:
    """A stream that ends with an error once it has given more than it may."""

    def __init__(self, stream, limit):
        self.stream, self.limit, self.given = stream, limit, 0

    def read(self, size=-1):
        data = self.stream.read(size)
        self.given += len(data)
        if self.limit is not None and self.given > self.limit:
            raise _Refused(f"it unpacks to more than {self.limit} bytes")
        return data


def _find(members, wanted, most_bytes):
    member = next((member for member in members if member.name == wanted), None)
    if member is None:
        raise _Refused(f"it has no member {wanted}")
    if not member.isreg() or member.issparse():
        raise _Refused(f"its member {wanted} is not a regular file")
    if most_bytes is not None and member.size > most_bytes:
        raise _Refused(f"its member {wanted} has {member.size} bytes, at most {most_bytes} are plausible")
    return member
