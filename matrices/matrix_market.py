"""Matrix Market files: the header (banner, comments, sizes), and the entries by SciPy's reader."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import scipy.io

FORMATS = ("coordinate", "array")
FIELDS = ("real", "double", "integer", "unsigned-integer", "complex", "pattern")
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
LONGEST_LINE = 1 << 16
MOST_COMMENT_LINES = 100_000


def read_entries(source: Any) -> Any:
    """The matrix in a file or stream, read by SciPy."""
    return scipy.io.mmread(source, **sparse_arrays(scipy.io.mmread))


def sparse_arrays(reader: Callable[..., Any]) -> dict[str, bool]:
    """The option for sparse arrays of one of SciPy's readers, where its version has one."""
    return {"spmatrix": False} if "spmatrix" in inspect.signature(reader).parameters else {}


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


def read_header(stream: IO[bytes]) -> Header:
    """Read a header from a binary stream and leave the stream at the first entry."""
    banner = _line(stream)
    format, field, symmetry = _banner(banner)
    comments, sizes = _comments_and_sizes(stream)
    try:
        numbers = [int(word) for word in sizes.split()]
    except ValueError:
        numbers = []
    if len(numbers) != (3 if format == "coordinate" else 2) or min(numbers) < 0:
        raise ValueError(f"the size line is {sizes[:80]!r}, expected rows, columns and entries")
    stored = numbers[2] if len(numbers) == 3 else numbers[0] * numbers[1]
    rows, columns = numbers[:2]
    lines = len(comments) + 2
    return Header(format, field, symmetry, rows, columns, stored, tuple(comments), lines)


def _banner(line: str) -> list[str]:
    words = line.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError(f"not a Matrix Market file: it starts with {line[:60]!r}")
    if words[2] not in FORMATS or words[3] not in FIELDS or words[4] not in SYMMETRIES:
        raise ValueError(f"the banner {line[:80]!r} is not a known Matrix Market format")
    return words[2:]


def _comments_and_sizes(stream: IO[bytes]) -> tuple[list[str], str]:
    comments: list[str] = []
    while len(comments) < MOST_COMMENT_LINES:
        line = _line(stream)
        if line.strip() and not line.startswith("%"):
            return comments, line
        comments.append(line)
    raise ValueError(f"no size line in the first {MOST_COMMENT_LINES} lines")


def _line(stream: IO[bytes]) -> str:
    line = stream.readline(LONGEST_LINE)
    if not line:
        raise ValueError("the file ends before its entries")
    return line.decode("utf-8", "replace").rstrip("\r\n")
