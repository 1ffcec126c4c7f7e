"""The SuiteSparse collection's own index: which matrices there are, and what each of them must look like.

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
from .errors import MatrixNotAvailable, MatrixOffline, UnknownMatrix
from .fetch import fetch, server
from .places import cache_folder, is_name_part, make_folder, search_folders

INDEX = "ssstats.csv"
INDEX_COLUMNS = 13
MOST_INDEX_BYTES = 1 << 26
# A name that the stored index does not know may be newer than the index; it is asked for once a day.
FRESH_SECONDS = 24 * 3600
LICENCE = "CC-BY 4.0"
CITATION = (
    "T. A. Davis and Y. Hu, The University of Florida Sparse Matrix Collection, ACM Transactions on "
    "Mathematical Software 38 (2011), doi:10.1145/2049662.2049663"
)


@dataclass(frozen=True)
class Entry:
    """One matrix as the index lists it; ``entries`` counts the explicit zeros too, where that is known."""

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
        """Where the archive with its Matrix Market file can be downloaded."""
        return f"{server()}/MM/{self.group}/{self.name}.tar.gz"

    @property
    def most_entries(self) -> int:
        """The most entries its expanded matrix may have; without a count of zeros a generous bound."""
        return 4 * self.nnz + self.rows + self.columns if self.entries is None else self.entries

    @property
    def most_bytes(self) -> int:
        """The most its file may hold: two indices and a complex number per line, and pages of comments."""
        digits = len(str(max(self.rows, self.columns)))
        return (1 << 20) + (2 * digits + 60) * self.most_entries


def look_up(group, name, *, cache=None, offline=False) -> Entry:
    """
    The one matrix of this group (any, for None) and exactly this name.

    Raises
    ------
    UnknownMatrix
        Where there is none, with the nearest names, or more than one, with all of them.
    MatrixOffline
        Where no index is at hand and none can be downloaded.
    """
    listed = local_entries(cache)
    found = _exact(group, name, listed)
    if not found and not offline and not _is_fresh(cache_folder(cache) / INDEX):
        listed = _refreshed(name, cache, listed)
        found = _exact(group, name, listed)
    if not listed:
        raise MatrixOffline("there is no index of the SuiteSparse collection at hand")
    return _only(group, name, found, listed)


def known(group, name, cache=None) -> Entry | None:
    """The matrix, where an index at hand lists it; a name in two groups raises `UnknownMatrix`."""
    listed = local_entries(cache)
    found = _exact(group, name, listed)
    return _only(group, name, found, listed) if found else None


def local_entries(cache=None) -> tuple[Entry, ...]:
    """All matrices of the indexes at hand, the user's and the cache's."""
    paths = [folder / INDEX for folder in search_folders(cache)]
    return sum((read_index(path) for path in paths if path.is_file()), ())


def read_index(path) -> tuple[Entry, ...]:
    """Parse an index; the count in its first line tells whether it is whole."""
    status = os.stat(path)
    return _read_index(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=8)
def _read_index(path, modified, size):
    try:
        with open(path, newline="", encoding="utf-8") as lines:
            count = int(next(lines, ""))
            next(lines, "")
            entries = tuple(_entry(fields) for fields in csv.reader(lines) if fields)
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path} is no index of the SuiteSparse collection ({error}); delete it") from error
    if len(entries) != count:
        raise ValueError(f"{path} is cut off: it lists {len(entries)} of {count} matrices; delete it")
    return tuple(entry for entry in entries if entry is not None)


def _entry(fields):
    """One line; None for names that could not be parts of a path."""
    if len(fields) < INDEX_COLUMNS:
        line = ",".join(fields)[:80]
        raise ValueError(f"a line has {len(fields)} fields, expected {INDEX_COLUMNS}: {line}")
    group, name = fields[:2]
    rows, columns, nnz, entries = (int(fields[i]) for i in (2, 3, 4, 12))
    if not (is_name_part(group) and is_name_part(name)):
        return None
    return Entry(group, name, rows, columns, nnz, float(fields[10]) == 1, fields[11], entries)


def _exact(group, name, entries):
    """The matrices of exactly this name; of two indexes the later one's word counts."""
    found = (entry for entry in entries if entry.name == name and group in (None, entry.group))
    return list({entry.full_name: entry for entry in found}.values())


def _only(group, name, found, listed):
    if len(found) == 1:
        return found[0]
    if found:
        choices = ", ".join(entry.full_name for entry in found)
        raise UnknownMatrix(f"name {name!r} is ambiguous: give one of {choices}")
    asked = name if group is None else f"{group}/{name}"
    nearest = ", ".join(_nearest(name, listed))
    hint = f"; did you mean {nearest}?" if nearest else ""
    raise UnknownMatrix(f"the SuiteSparse collection has no matrix {asked!r}{hint}")


def _nearest(name, entries):
    """The full names of the matrices whose names are most alike, upper and lower case apart."""
    by_name: dict[str, list[str]] = {}
    for entry in entries:
        by_name.setdefault(entry.name.lower(), []).append(entry.full_name)
    close = difflib.get_close_matches(name.lower(), by_name, n=3)
    return [full_name for match in close for full_name in sorted(set(by_name[match]))][:5]


def _is_fresh(path):
    try:
        return time.time() - path.stat().st_mtime < FRESH_SECONDS
    except FileNotFoundError:
        return False


def _refreshed(name, cache, listed):
    """The index as it is now; else what was at hand, or what ssgetpy knows."""
    try:
        return download_index(cache)
    except MatrixNotAvailable:
        entries = listed or tuple(Entry(*fields) for fields in ssgetpy_index.search(name))
        if not entries:
            raise
        return entries


def download_index(cache=None) -> tuple[Entry, ...]:
    """Fetch the index into the cache, whole or not at all."""
    target = make_folder(cache_folder(cache)) / INDEX
    address = f"{server()}/files/{INDEX}"
    arrived = fetch(address, target, most_bytes=MOST_INDEX_BYTES)
    try:
        entries = read_index(arrived)
        os.replace(arrived, target)
    except ValueError as error:
        raise MatrixNotAvailable(f"{address} did not send the collection's index: {error}") from error
    finally:
        Path(arrived).unlink(missing_ok=True)
    return entries
