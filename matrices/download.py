"""Download a matrix of the SuiteSparse collection into the cache: fetch, unpack, verify, rename."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO

from . import matrix_market
from .archive import most_in_all, open_matrix
from .collection import CITATION, LICENCE, Entry
from .errors import MatrixNotAvailable
from .fetch import fetch
from .places import PathLike, cache_folder, make_folder, remove_abandoned, temporary_beside

CHUNK = 1 << 20


def download(entry: Entry, cache: PathLike | None = None) -> Path:
    """
    Download one matrix to ``<cache>/<group>/<name>.mtx``.

    Processes that download the same matrix at once use separate temporary files; the last one to finish
    replaces the equal files of the others.

    Raises
    ------
    MatrixNotAvailable
        If the download fails or does not agree with the index. No incomplete file is left behind.
    """
    target = make_folder(cache_folder(cache) / entry.group) / f"{entry.name}.mtx"
    archive = fetch(
        entry.address,
        target.with_name(f"{entry.name}.tar.gz"),
        most_bytes=most_in_all(entry.most_bytes),
        label=entry.full_name,
    )
    try:
        header = _unpack(archive, target, entry)
    except ValueError as error:
        raise MatrixNotAvailable(f"{entry.address} does not contain {entry.full_name}: {error}") from error
    finally:
        archive.unlink(missing_ok=True)
    print(_notice(entry, header, target), file=sys.stderr)
    return target


def check_header(header: matrix_market.Header, entry: Entry) -> None:
    """Raise unless the sizes agree with the index; a stored triangle has about half of the entries."""
    shape, expected = (header.rows, header.columns), (entry.rows, entry.columns)
    if header.format != "coordinate" or shape != expected:
        raise ValueError(f"the file has shape {shape}, the index says {expected}")
    least, most = entry.nnz, entry.most_entries
    if header.symmetry != "general":
        # A stored triangle has half of the off-diagonal entries, and at most `rows` on the diagonal.
        least, most = (least + 1) // 2, (most + entry.rows) // 2
    if not least <= header.stored <= most:
        raise ValueError(f"the file stores {header.stored} entries, the index allows {least} to {most}")


def _unpack(archive: Path, target: Path, entry: Entry) -> matrix_market.Header:
    """Write the matrix to a temporary file, and rename it after all checks."""
    remove_abandoned(target)
    temporary = temporary_beside(target)
    try:
        with open_matrix(archive, entry.name, most_bytes=entry.most_bytes) as stream:
            lines = _copy(stream, temporary)
        with open(temporary, "rb") as file:
            header = matrix_market.read_header(file)
        check_header(header, entry)
        if lines < header.lines + header.stored:
            raise ValueError(f"the file has {lines - header.lines} of {header.stored} entries")
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return header


def _copy(stream: IO[bytes], path: Path) -> int:
    """Copy a text file and return the number of its lines."""
    lines, last = 0, b"\n"
    with open(path, "xb") as file:
        while chunk := stream.read(CHUNK):
            file.write(chunk)
            lines, last = lines + chunk.count(b"\n"), chunk[-1:]
    return lines + (last != b"\n")


def _notice(entry: Entry, header: matrix_market.Header, path: Path) -> str:
    author, date = header.comment("author"), header.comment("date")
    credit = f" by {author}" if author else ""
    year = f", {date}" if date else ""
    return (
        f"{entry.full_name}{credit}{year}: SuiteSparse Matrix Collection, {LICENCE}, stored in {path}\n"
        f"Please cite {CITATION}"
    )
