"""Download a matrix of the SuiteSparse collection into the cache: fetch, unpack, verify, rename."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import IO, Any

from linforest_precond.records.printing import one_line

from ..readers import matrix_market
from ..readers.archive import most_in_all, open_matrix
from .collection import CITATION, LICENCE, Entry
from .fetch import fetch
from .places import (
    MatrixNotAvailable,
    PathLike,
    cache_folder,
    make_folder,
    naming,
    remove_abandoned,
    temporary_beside,
)

CHUNK = 1 << 20
LONGEST_CREDIT = 200


def download(entry: Entry, cache: PathLike | None = None) -> Path:
    """Download one matrix to ``<cache>/<group>/<name>.mtx``; it must agree with the index.

    Processes that download the same matrix at once use separate temporary files; the last one to finish
    replaces the equal files of the others. No incomplete file is left behind.
    """
    target = make_folder(cache_folder(cache) / entry.group) / f"{entry.name}.mtx"
    archive = fetch(
        entry.address,
        target.with_name(f"{entry.name}.tar.gz"),
        most_bytes=most_in_all(entry.most_bytes),
        label=entry.full_name,
    )
    try:
        with naming(target):
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


def check_last_line(path: Path) -> None:
    """Raise unless the file ends with a line break: otherwise its last number may be cut short.

    The collection ends every line, and a number that has lost digits is still a number.
    """
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        if file.read(1) != b"\n":
            raise ValueError(f"{path} does not end with a line break: its last number may be cut short")


def _unpack(archive: Path, target: Path, entry: Entry) -> matrix_market.Header:
    """Write the matrix to a temporary file, and rename it after all checks."""
    remove_abandoned(target)
    temporary = temporary_beside(target)
    try:
        with (
            open_matrix(archive, entry.name, most_bytes=entry.most_bytes) as stream,
            open(temporary, "xb") as file,
        ):
            shutil.copyfileobj(stream, file, CHUNK)
        header = _verify(temporary, entry)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return header


def _verify(path: Path, entry: Entry) -> matrix_market.Header:
    """Parse the whole file and compare it with the index, before it gets the name that `load` looks for."""
    with open(path, "rb") as file:
        header = matrix_market.read_header(file)
        check_header(header, entry)
        _check_lines(file, header.stored)
    check_last_line(path)
    found = _parse(path).nnz
    if not entry.nnz <= found <= entry.most_entries:
        raise ValueError(
            f"the matrix has {found} entries, the index allows {entry.nnz} to {entry.most_entries}"
        )
    return header


def _check_lines(file: IO[bytes], stored: int) -> None:
    """Raise unless at least one line for each entry follows the header."""
    lines = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(CHUNK), b""))
    if lines < stored:
        raise ValueError(f"only {lines} of {stored} entries are on complete lines")


def _parse(path: Path) -> Any:
    """The matrix in a file, by the reader that `load` uses; all its errors become ValueErrors."""
    try:
        return matrix_market.read_entries(path)
    except (OSError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(str(error) or type(error).__name__) from error


def _notice(entry: Entry, header: matrix_market.Header, path: Path) -> str:
    author, date = (one_line(header.comment(key) or "", LONGEST_CREDIT) for key in ("author", "date"))
    credit = f" by {author}" if author else ""
    year = f", {date}" if date else ""
    return (
        f"{entry.full_name}{credit}{year}: SuiteSparse Matrix Collection, {LICENCE}, stored in {path}\n"
        f"Please cite {CITATION}"
    )
