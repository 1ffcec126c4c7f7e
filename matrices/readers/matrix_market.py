"""Matrix Market files: the header (banner, comments, sizes) and the entries."""

from __future__ import annotations

import contextlib
import re
import warnings
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from linforest_precond.backends.annotations import Array

from .bounded_streams import LARGEST_SIZE, Bounded, check_promise, check_rows, open_bounded
from .entry_lines import LONGEST_LINE, Entries, Layout, read_entry_lines
from .index_arrays import MIRRORED, check_diagonal, check_square, from_triangle

FORMATS = ("coordinate", "array")
KINDS = {
    "real": "real", "double": "real", "complex": "real", "pattern": "real",
    "integer": "integer", "unsigned-integer": "unsigned",
}  # fmt: skip
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
MOST_COMMENT_LINES = 100_000
MOST_COMMENT_BYTES = 1 << 22


def read_entries(source: Any, *, name: str | None = None, hypersparse: bool = False) -> Any:
    """
    The matrix in a file or stream.

    Parameters
    ----------
    source : path or binary stream
        A path is decompressed according to its suffix. A stream may have an attribute ``most_bytes``, which
        bounds what its header can promise.
    name : str, optional
        The name of a stream, for the warning.
    hypersparse : bool
        Whether far more rows than entries are plausible.

    Returns
    -------
    coo_array or array
        Both triangles of symmetric matrices. An array for files of format "array".

    Raises
    ------
    ValueError
        If the text does not follow the format in every line. The message has the line's number and text.

    Warns
    -----
    UserWarning
        If the text does not end with a line break.
    """
    opened = contextlib.nullcontext(source) if hasattr(source, "read") else open_bounded(source)
    with opened as stream:
        header, entries = _read(stream, hypersparse)
    if entries.ends_open:
        warnings.warn(
            f"{name or source} does not end with a line break; its last entry may be truncated", stacklevel=4
        )
    return _matrix(header, entries)


@dataclass(frozen=True)
class Header:
    """The header of a Matrix Market file."""

    format: str
    field: str
    symmetry: str
    rows: int
    columns: int
    stored: int
    comments: tuple[str, ...]
    lines: int

    @property
    def layout(self) -> Layout:
        """The layout of the lines of entries."""
        parts = {"pattern": 0, "complex": 2}.get(self.field, 1)
        indexed = self.format == "coordinate"
        count = self.stored if indexed else self._array_lines
        return Layout(indexed, parts, KINDS[self.field], self.rows, self.columns, count)

    @property
    def _array_lines(self) -> int:
        """Arrays store a triangle of symmetric matrices, without the diagonal of skew-symmetric ones."""
        if self.symmetry == "general":
            return self.rows * self.columns
        return self.rows * (self.rows + (-1 if self.symmetry == "skew-symmetric" else 1)) // 2

    def comment(self, key: str) -> str | None:
        """The text after ``% key:`` in the comments, the format of the SuiteSparse collection."""
        pattern = re.compile(rf"%\s*{key}:\s*(.*\S)")
        found = (pattern.match(line) for line in self.comments)
        return next((match[1] for match in found if match), None)

    @property
    def title(self) -> str | None:
        """The title, which the collection writes in brackets."""
        found = (re.fullmatch(r"%\s*\[(.*)\]\s*", line) for line in self.comments)
        return next((match[1].strip() for match in found if match), None) or self.comment("title")


def read_header(stream: Bounded | IO[bytes]) -> Header:
    """Read a header from a binary stream and leave the stream at the first entry."""
    format, field, symmetry = _banner(_line(stream))
    comments, sizes = _comments_and_sizes(stream)
    rows, columns, stored = _sizes(sizes, format)
    check_square(symmetry, (rows, columns))
    lines = len(comments) + 2
    return Header(format, field, symmetry, rows, columns, stored, tuple(comments), lines)


def _banner(line: str) -> list[str]:
    words = _words(line.lower())
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError(f"not a Matrix Market file: it starts with {line[:60]!r}")
    format, field, symmetry = words[2:]
    if format not in FORMATS or field not in KINDS or symmetry not in SYMMETRIES:
        raise ValueError(f"the banner {line[:80]!r} is not a known Matrix Market format")
    if (format, field) == ("array", "pattern") or (field, symmetry) == ("unsigned-integer", "skew-symmetric"):
        raise ValueError(f"the banner {line[:80]!r} contradicts itself")
    return words[2:]


def _sizes(line: str, format: str) -> tuple[int, int, int]:
    words = _words(line)
    numbers = [int(word) for word in words if re.fullmatch("[0-9]{1,19}", word)]
    if not len(words) == len(numbers) == (3 if format == "coordinate" else 2):
        raise ValueError(f"the size line is {line[:80]!r}, expected rows, columns and entries")
    if max(numbers) > LARGEST_SIZE:
        raise ValueError(f"the size line is {line[:80]!r}, expected at most {LARGEST_SIZE}")
    rows, columns = numbers[:2]
    return rows, columns, numbers[2] if len(numbers) == 3 else rows * columns


def _comments_and_sizes(stream: Bounded | IO[bytes]) -> tuple[list[str], str]:
    comments: list[str] = []
    length = 0
    while len(comments) < MOST_COMMENT_LINES and length < MOST_COMMENT_BYTES:
        line = _line(stream)
        words = _words(line)
        if words and not words[0].startswith("%"):
            return comments, line
        comments.append(line)
        length += len(line)
    raise ValueError(f"no size line in the first {len(comments)} lines")


def _words(line: str) -> list[str]:
    """The words of a line; str.split would also split at control characters."""
    return re.findall(r"[^ \t\r]+", line)


def _line(stream: Bounded | IO[bytes]) -> str:
    line = stream.readline(LONGEST_LINE)
    if not line:
        raise ValueError("the file ends before its entries")
    if len(line) == LONGEST_LINE:
        raise ValueError(f"a line of the header has more than {LONGEST_LINE} characters")
    return line.decode("utf-8", "replace").rstrip("\r\n")


def _read(stream: Bounded | IO[bytes], hypersparse: bool) -> tuple[Header, Entries]:
    """The header and the entries, after a check that the header promises what the stream can have."""
    header = read_header(stream)
    layout = header.layout
    most_bytes = getattr(stream, "most_bytes", None)
    check_promise("entries", layout.count, layout.least_bytes, most_bytes)
    if not hypersparse:
        check_rows(header.rows, layout.count)
    return header, read_entry_lines(stream, layout, line=header.lines)


def _matrix(header: Header, entries: Entries) -> Any:
    values = entries.values.view(np.complex128) if header.field == "complex" else entries.values
    if header.field == "pattern":
        values = np.ones(entries.rows.size)
    if header.format == "array":
        return _dense(header, values)
    shape = header.rows, header.columns
    return from_triangle(values, entries.rows, entries.columns, header.symmetry, shape)


def _dense(header: Header, values: Array) -> Array:
    """The array whose columns, or whose columns of the lower triangle, are the values."""
    n, shape = header.rows, (header.rows, header.columns)
    if header.symmetry == "general":
        return np.ascontiguousarray(values.reshape(shape, order="F"))
    dense = np.zeros(shape, dtype=values.dtype)
    first = 1 if header.symmetry == "skew-symmetric" else 0
    columns, rows = np.triu_indices(n, first)
    dense[rows, columns] = values
    check_diagonal(np.diagonal(dense), header.symmetry)
    off_diagonal = rows != columns
    rows, columns = rows[off_diagonal], columns[off_diagonal]
    dense[columns, rows] = MIRRORED[header.symmetry](dense[rows, columns])
    return dense
