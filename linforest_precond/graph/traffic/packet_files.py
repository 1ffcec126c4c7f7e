"""`read_packets` reads packets and traffic matrices from text, NumPy and Matrix Market files."""

from __future__ import annotations

import csv
import itertools
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from linforest_precond.backends.arguments import as_path
from linforest_precond.backends.host_numbers import LARGEST_EXACT_FLOAT
from linforest_precond.graph.traffic.packet_checks import as_addresses, as_packet_counts
from linforest_precond.matrices.readers.bounded_streams import open_regular, text_lines
from linforest_precond.matrices.readers.files import matrix_suffix, naming, read_matrix
from linforest_precond.matrices.readers.matrix_market import read_entries
from linforest_precond.matrices.readers.npz_files import read_arrays, read_npz

# Lines of text that are parsed at a time.
LINES = 2**20
TEXTS = ".csv", ".tsv", ".txt"
NAMES = "sources", "destinations", "packets"
LONGEST_LINE = 1024
# ASCII digits: int() would also accept 1_000 and digits of other scripts.
INTEGER = re.compile(r"\+?[0-9]{1,19}")
IPV4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
# Characters of an invalid field in an error message.
SHOWN = 40


def read_packets(path: str | os.PathLike[str]) -> Iterator[Any]:
    """The content of a file, as matrices or as tuples of sources, destinations and packets.

    Parameters
    ----------
    path : str or path-like
        .csv, .tsv or .txt: lines of a source, a destination and optionally a number of packets, after an
        optional header; addresses are integers or IPv4. .npy: an array with these two or three columns. .npz:
        arrays `sources`, `destinations` and optionally `packets`, or a matrix of `scipy.sparse.save_npz`.
        .mtx: a Matrix Market file, of up to 2**32 rows and columns. All else that
        `linforest_precond.matrices.load` reads: .mat, .rb ...
    """
    path = Path(as_path("path", path))
    open_regular(path).close()
    if (matrix_suffix(path) or "").startswith(".mtx"):
        return _hypersparse(path)
    return _READERS.get(path.suffix.lower(), _matrix)(path)


def is_text(path: str | os.PathLike[str]) -> bool:
    """Whether a file is read in pieces of LINES lines."""
    return Path(path).suffix.lower() in TEXTS


def _hypersparse(path: Path) -> Iterator[Any]:
    """The entries of a Matrix Market file: not in CSR, which has a pointer for every address."""
    with naming(path):
        A = read_entries(path, hypersparse=True)
    yield _checked_exact(path, A)


def _matrix(path: Path) -> Iterator[Any]:
    """A matrix in any other file, whose numbers are read as float64."""
    yield _checked_exact(path, read_matrix(path))


def _checked_exact(path: Path, A: Any) -> Any:
    """The matrix, unless its numbers are floating-point ones that may have been rounded."""
    values = A.data if hasattr(A, "nnz") else A
    if values.size and values.dtype.kind == "f" and values.max() >= LARGEST_EXACT_FLOAT:
        raise ValueError(
            f"{path} holds numbers of 2**53 or more, which are not read exactly; save integers, with "
            "write_traffic or scipy.sparse.save_npz"
        )
    return A


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
        table = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} must be an .npy file of numbers: {error}") from error
    if table.ndim != 2 or table.shape[1] not in (2, 3):
        raise ValueError(
            f"{path} must hold an array with a column of sources, one of destinations and optionally one of "
            f"packets, got shape {table.shape}"
        )
    yield tuple(table[:, column] for column in range(table.shape[1]))


def _lines(path: Path) -> Iterator[Any]:
    """The lines of a text file, LINES at a time."""
    texts = text_lines(path, LONGEST_LINE)
    start = next(texts, "")
    delimiter = next((mark for mark in ",\t;" if mark in start), " ")
    # Blank lines become empty lists.
    texts = (text if text.strip() else "\n" for text in itertools.chain([start], texts))
    rows = csv.reader(texts, delimiter=delimiter, strict=True)
    number = 1
    try:
        while lines := list(itertools.islice(rows, LINES)):
            if rows.line_num >= number + len(lines):  # a field has a line break
                breaks = (line for line, row in enumerate(lines, number) if "\n" in "".join(row))
                line = next(breaks, number)
                raise ValueError(f"{path}, line {line}: quotes must be closed in the line they begin in")
            yield _parsed(path, lines, number)
            number += len(lines)
    except csv.Error as error:
        raise ValueError(f"{path}, line {rows.line_num} cannot be read: {error}") from error


def _parsed(path: Path, lines: list[list[str]], first: int) -> tuple[Any, ...]:
    """Columns of lines from number `first` on; the first line of a file may be a header."""
    rows = {number: line for number, line in enumerate(lines, first) if line}
    widths = set(map(len, rows.values()))
    if rows and (len(widths) > 1 or not widths <= {2, 3}):
        raise ValueError(
            f"every line of {path} must have a source, a destination and optionally a number of packets, "
            f"got lines of {', '.join(map(str, sorted(widths)))} columns"
        )
    if first == 1 and rows and _is_header(next(iter(rows.values()))):
        del rows[next(iter(rows))]
    if not rows:
        return (np.zeros(0, np.uint32),) * 2
    columns = zip(*rows.values(), strict=True)
    return tuple(_column(path, name, texts, rows) for name, texts in zip(NAMES, columns))


def _is_header(fields: list[str]) -> bool:
    """Whether every field begins with a letter: a line with one number is none."""
    return all(field.strip()[:1].isalpha() for field in fields)


def _column(path: Path, name: str, texts: tuple[str, ...], numbers: Iterable[int]) -> Any:
    """A column of addresses or numbers of packets; `numbers` are those of the lines."""
    joined = "".join(texts)
    stripped = texts
    if not (joined.isascii() and joined.isdigit() and all(0 < len(text) < 20 for text in texts)):
        stripped = tuple(text.strip() for text in texts)
        dotted = name != "packets" and "." in stripped[0]
        form, wanted = (IPV4, "IPv4 addresses") if dotted else (INTEGER, "integers of at most 19 digits")
        for number, text in zip(numbers, stripped):
            if not form.fullmatch(text):
                raise ValueError(f"{path}, line {number}: {name} must hold {wanted}, got {text[:SHOWN]!r}")
        if dotted:
            return as_addresses(f"{path}: {name}", np.array(stripped), np)
    checked = as_packet_counts if name == "packets" else as_addresses
    try:
        return checked(f"{path}: {name}", np.array(stripped).astype(np.int64), np)
    except OverflowError as error:
        raise ValueError(f"{path}: {name} must hold integers below 2**63 ({error})") from error


_READERS: dict[str, Callable[[Path], Iterator[Any]]] = {
    ".npz": _packets_or_matrix,
    ".npy": _columns,
    **dict.fromkeys(TEXTS, _lines),
}
