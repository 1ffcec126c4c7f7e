"""The index of the SuiteSparse collection: names, sizes and kinds of all matrices.

The index is the collection's ``ssstats.csv``: a count, a date, then one line per matrix with its group, name,
rows, columns, nonzeros, flags, symmetries, kind, and nonzeros with explicit zeros.
"""

from __future__ import annotations

import csv
import difflib
import functools
import os
import time
from dataclasses import dataclass
from pathlib import Path

from . import ssgetpy_index
from .fetch import fetch, server
from .places import (
    MatrixNotAvailable,
    MatrixOffline,
    PathLike,
    UnknownMatrix,
    cache_folder,
    is_name_part,
    make_folder,
    search_folders,
)

INDEX = "ssstats.csv"
INDEX_COLUMNS = 13
MOST_INDEX_BYTES = 1 << 26
# For an unknown name the index is downloaded again, at most once a day.
FRESH_SECONDS = 24 * 3600
LICENCE = "CC-BY 4.0"
CITATION = (
    "T. A. Davis and Y. Hu, The University of Florida Sparse Matrix Collection, ACM Transactions on "
    "Mathematical Software 38 (2011), doi:10.1145/2049662.2049663"
)


@dataclass(frozen=True)
class Entry:
    """One matrix of the index; ``entries`` includes explicit zeros, None where unknown."""

    group: str
    name: str
    rows: int
    columns: int
    nnz: int
    symmetric: bool
    kind: str
    entries: int | None = None

    @property
    def full_name(self) -> str:
        return f"{self.group}/{self.name}"

    @property
    def address(self) -> str:
        """The URL of the archive with its Matrix Market file."""
        return f"{server()}/MM/{self.group}/{self.name}.tar.gz"

    @property
    def most_entries(self) -> int:
        """The most entries of the expanded matrix; a generous bound if explicit zeros are not counted."""
        return 4 * self.nnz + self.rows + self.columns if self.entries is None else self.entries

    @property
    def most_bytes(self) -> int:
        """The most bytes of its file: two indices and a complex number per line, and 1 MiB of comments."""
        digits = len(str(max(self.rows, self.columns)))
        return (1 << 20) + (2 * digits + 60) * self.most_entries


def look_up(group: str | None, name: str, *, cache: PathLike | None = None, offline: bool = False) -> Entry:
    """The matrix of this group (None: any group) and exactly this name; UnknownMatrix names similar ones."""
    listed = local_entries(cache)
    found = _exact(group, name, listed)
    if not found and not offline and not _is_fresh(cache_folder(cache) / INDEX):
        listed = _refreshed(name, cache, listed)
        found = _exact(group, name, listed)
    if not listed:
        raise MatrixOffline("no local index of the SuiteSparse collection")
    return _only(group, name, found, listed)


def known(group: str | None, name: str, cache: PathLike | None = None) -> Entry | None:
    """The matrix, if a local index lists it; a name in two groups raises `UnknownMatrix`."""
    listed = local_entries(cache)
    found = _exact(group, name, listed)
    return _only(group, name, found, listed) if found else None


def local_entries(cache: PathLike | None = None) -> tuple[Entry, ...]:
    """All matrices of the local indexes: the user's, and the one in the cache."""
    *users, own = (folder / INDEX for folder in search_folders(cache))
    listed: tuple[Entry, ...] = sum((read_index(path) for path in users if path.is_file()), ())
    return listed + _own_entries(own)


def _own_entries(path: Path) -> tuple[Entry, ...]:
    """The index in the cache; a damaged one is removed, so that it is downloaded again."""
    try:
        return read_index(path) if path.is_file() else ()
    except ValueError:
        path.unlink(missing_ok=True)
        return ()


def read_index(path: Path) -> tuple[Entry, ...]:
    """Parse an index; the count in its first line verifies that it is complete."""
    status = os.stat(path)
    return _read_index(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=8)
def _read_index(path: Path, modified: int, size: int) -> tuple[Entry, ...]:
    try:
        with open(path, newline="", encoding="utf-8") as lines:
            count = int(next(lines, ""))
            next(lines, "")
            entries = tuple(_entry(fields) for fields in csv.reader(lines) if fields)
    except (ValueError, csv.Error) as error:
        raise ValueError(
            f"{path} is not an index of the SuiteSparse collection ({error}); delete it"
        ) from error
    if len(entries) != count:
        raise ValueError(f"{path} is truncated: it lists {len(entries)} of {count} matrices; delete it")
    return tuple(entry for entry in entries if entry is not None)


def _entry(fields: list[str]) -> Entry | None:
    """One line of the index; None for names that are not valid in a path."""
    if len(fields) < INDEX_COLUMNS:
        line = ",".join(fields)[:80]
        raise ValueError(f"a line has {len(fields)} fields, expected {INDEX_COLUMNS}: {line}")
    group, name = fields[:2]
    rows, columns, nnz, entries = (int(fields[i]) for i in (2, 3, 4, 12))
    if not (is_name_part(group) and is_name_part(name)):
        return None
    symmetric, kind = float(fields[10]) == 1, fields[11]
    return Entry(group, name, rows, columns, nnz, symmetric, kind, entries)


def _exact(group: str | None, name: str, entries: tuple[Entry, ...]) -> list[Entry]:
    """The matrices of exactly this name; later entries override earlier ones."""
    found = (entry for entry in entries if entry.name == name and group in (None, entry.group))
    return list({entry.full_name: entry for entry in found}.values())


def _only(group: str | None, name: str, found: list[Entry], listed: tuple[Entry, ...]) -> Entry:
    if len(found) == 1:
        return found[0]
    if found:
        choices = ", ".join(entry.full_name for entry in found)
        raise UnknownMatrix(f"name {name!r} is ambiguous: give one of {choices}")
    full_name = name if group is None else f"{group}/{name}"
    nearest = ", ".join(_nearest(name, listed))
    hint = f"; did you mean {nearest}?" if nearest else ""
    raise UnknownMatrix(f"the SuiteSparse collection has no matrix {full_name!r}{hint}")


def _nearest(name: str, entries: tuple[Entry, ...]) -> list[str]:
    """The full names of the matrices with the most similar names, ignoring case."""
    by_name: dict[str, list[str]] = {}
    for entry in entries:
        by_name.setdefault(entry.name.lower(), []).append(entry.full_name)
    close = difflib.get_close_matches(name.lower(), by_name, n=3)
    return [full_name for match in close for full_name in sorted(set(by_name[match]))][:5]


def _is_fresh(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < FRESH_SECONDS
    except FileNotFoundError:
        return False


def _refreshed(name: str, cache: PathLike | None, listed: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The downloaded index; if that fails the local one, or that of ssgetpy."""
    try:
        return download_index(cache)
    except MatrixNotAvailable:
        entries = listed or tuple(Entry(*fields) for fields in ssgetpy_index.search(name))
        if not entries:
            raise
        return entries


def download_index(cache: PathLike | None = None) -> tuple[Entry, ...]:
    """Download the index into the cache, atomically."""
    target = make_folder(cache_folder(cache)) / INDEX
    address = f"{server()}/files/{INDEX}"
    arrived = fetch(address, target, most_bytes=MOST_INDEX_BYTES)
    try:
        entries = read_index(arrived)
        os.replace(arrived, target)
    except ValueError as error:
        raise MatrixNotAvailable(f"{address} is not the collection's index: {error}") from error
    finally:
        Path(arrived).unlink(missing_ok=True)
    return entries
