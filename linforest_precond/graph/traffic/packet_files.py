"""Files of packets and of traffic matrices."""

from __future__ import annotations

import csv
import itertools
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from linforest_precond.graph.traffic.traffic_records import LARGEST_EXACT_FLOAT
from linforest_precond.matrices.readers.files import read_matrix
from linforest_precond.matrices.readers.npz_files import read_arrays, read_npz

# Packets that are read, sorted, or copied to the GPU at a time.
AT_ONCE = 2**26
# Lines of text that are parsed at a time.
LINES = 2**20
TEXTS = ".csv", ".tsv", ".txt"
NAMES = "sources", "destinations", "packets"


def read_packets(path: str | os.PathLike[str]) -> Iterator[Any]:
    """The content of a file, as matrices or as tuples of sources, destinations and packets.

    Parameters
    ----------
    path : str or path-like
        .csv, .tsv or .txt: lines of a source, a destination and optionally a number of packets, after an
        optional header; addresses are integers or IPv4. .npy: an array with these two or three columns. .npz:
        arrays `sources`, `destinations` and optionally `packets`, or a matrix of `scipy.sparse.save_npz`. All
        else that `linforest_precond.matrices.load` reads: .mtx, .mat, .rb ...
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file")
    suffix = path.suffix.lower()
    return _READERS.get(suffix, _matrix)(path)


def is_text(path: str | os.PathLike[str]) -> bool:
    """Whether a file is read in pieces of LINES lines."""
    return Path(path).suffix.lower() in TEXTS


def _matrix(path: Path) -> Iterator[Any]:
    """A matrix in a file, whose numbers are read as float64: larger ones may have been rounded."""
    A = read_matrix(path)
    if A.nnz and A.dtype.kind == "f" and A.data.max() >= LARGEST_EXACT_FLOAT:
        raise ValueError(
            f"{path} holds numbers of 2**53 or more, which are not read exactly; save integers with "
            "scipy.sparse.save_npz"
        )
    yield A


def _packets_or_matrix(path: Path) -> Iterator[Any]:
    """Arrays of packets in an .npz file, else a matrix."""
    try:
        found = read_arrays(path, NAMES)
        packets = {"sources", "destinations"} <= set(found)
        # Not `read_matrix`: integers stay as they are.
        content = tuple(map(found.get, NAMES)) if packets else read_npz(path)
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    yield content


def _columns(path: Path) -> Iterator[Any]:
    """The columns of an .npy file, which stay on disk until parts of them are read."""
    try:
        table = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    if table.ndim != 2 or table.shape[1] not in (2, 3):
        raise ValueError(
            f"{path} must hold an array with a column of sources, one of destinations and optionally one of "
            f"packets, got shape {table.shape}"
        )
    yield tuple(table[:, column] for column in range(table.shape[1]))


def _lines(path: Path) -> Iterator[Any]:
    """The lines of a text file, LINES at a time."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file, delimiter=_delimiter(path))
        number = 0
        while lines := list(itertools.islice(rows, LINES)):
            first, number = number, number + len(lines)
            yield _parsed(path, lines, first)


def _delimiter(path: Path) -> str:
    """The character between two columns in the first line: a comma, a tabulator, a semicolon or a space."""
    with path.open(encoding="utf-8") as file:
        try:
            start = file.readline()
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} must be a text file in UTF-8: {error}") from error
    return next((mark for mark in ",\t;" if mark in start), " ")


def _parsed(path: Path, lines: list[list[str]], first: int) -> tuple[Any, ...]:
    """Columns of lines; the first line of a file may be a header, and empty lines are skipped."""
    if first == 0 and lines[0] and lines[0][0].strip()[:1].isalpha():
        lines = lines[1:]
    rows = [line for line in lines if any(line)]
    widths = {len(line) for line in rows}
    if not rows:
        return (np.zeros(0, np.uint32),) * 2
    if len(widths) > 1 or not widths <= {2, 3}:
        raise ValueError(
            f"every line of {path} must have a source, a destination and optionally a number of packets, "
            f"got lines of {', '.join(map(str, sorted(widths)))} columns"
        )
    sources, destinations, *packets = zip(*rows, strict=True)
    try:
        return (
            *map(_addresses, (sources, destinations)),
            *(np.array(each).astype(np.int64) for each in packets),
        )
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _addresses(texts: tuple[str, ...]) -> Any:
    """Integers where all are, else text."""
    array = np.array(texts)
    return array if any("." in text for text in texts) else array.astype(np.int64)


_READERS: dict[str, Callable[[Path], Iterator[Any]]] = {
    ".npz": _packets_or_matrix,
    ".npy": _columns,
    **dict.fromkeys(TEXTS, _lines),
}
