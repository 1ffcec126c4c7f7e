"""Parse lines of entries from a stream; every number is validated.

The compiled scan of `backends.cpu.matrix.entry_text` walks over whole lines and rounds most numbers. The rest
(NaN, infinity, more than 19 digits, and what is no number at all) is decided here by a regular expression
and Python's `float`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.backends import backend_named
from linforest_precond.backends.annotations import Array

from .bounded_streams import Implausible

CHUNK = 1 << 20
LONGEST_LINE = 1 << 16
LONGEST_NUMBER = 4000
SHOWN = 80
# Limits for texts of mostly blanks: bytes in all, and bytes per entry.
MOST_BLANK_BYTES = 1 << 22
MOST_ENTRY_BYTES = 1024

# 1.5, .5, 5., 1.5E+03, Fortran's 1.5D+03 and, for exponents of three digits, 1.5-103.
REAL_TEXT = re.compile(rb"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eEdD]?([+-]\d+)|[eEdD](\d+))?")
WORD_TEXT = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
INTEGER_TEXT = re.compile(rb"[+-]?\d+")
# Undecided numbers are collected and decided in batches.
BATCH = 4096

KINDS = ("real", "integer", "unsigned")  # in the order of the scan's constants
# Messages by the name of the scan's status.
REASONS = {
    "TOO_MANY": "there are more than the {layout.count} entries promised",
    "BAD_INDEX": "expected a row and a column",
    "ROW_OUTSIDE": "the row must lie in 1 to {layout.rows}",
    "COLUMN_OUTSIDE": "the column must lie in 1 to {layout.columns}",
    "EXTRA_TEXT": "expected {layout.width} columns",
}


@dataclass(frozen=True)
class Layout:
    """The layout of lines of entries: row and column where `indexed`, then `parts` values of a `kind`."""

    indexed: bool
    parts: int
    kind: str  # one of KINDS
    rows: int
    columns: int
    count: int

    @property
    def width(self) -> int:
        """The number of columns of a line."""
        return self.parts + 2 * self.indexed

    @property
    def least_bytes(self) -> int:
        """The length of the shortest line: single digits, each followed by a blank or the line's end."""
        return 2 * self.width

    @property
    def dtype(self) -> Any:
        return {"real": np.float64, "integer": np.int64, "unsigned": np.uint64}[self.kind]


@dataclass(frozen=True)
class Entries:
    """Zero-based rows and columns (empty for lines without indices), and the values in file order."""

    rows: Array
    columns: Array
    values: Array
    ends_open: bool  # the last line has no line end: its last number may be truncated


def read_entry_lines(stream: Any, layout: Layout, *, line: int = 0) -> Entries:
    """Read exactly ``layout.count`` entries up to the end of a stream, `line` lines into the file."""
    lines = _Lines(stream, line)
    left, found = layout.count, [_Scan(b"\n", line, layout, 0).entries()]
    for piece in lines:
        scan = _Scan(piece, lines.before, layout, left)
        left -= scan.done
        lines.check_filled(layout.count - left)
        found.append(scan.entries())
    if left:
        present = layout.count - left
        raise ValueError(f"the file ends in line {lines.before} with {present} of {layout.count} entries")
    rows, columns, values = (np.concatenate(parts) for parts in zip(*found))
    return Entries(rows, columns, values, lines.ends_open)


class _Lines:
    """The chunks of a stream, cut at line ends; the last line gets a line end if it has none."""

    def __init__(self, stream: Any, before: int):
        self.stream, self.before, self.ends_open = stream, before, False
        self.length = 0

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        while chunk := self.stream.read(CHUNK):
            end = chunk.rfind(b"\n") + 1
            if end:
                yield from self._counted(rest + chunk[:end])
                rest = b""
            rest += chunk[end:]
            if len(rest) > LONGEST_LINE:
                raise ValueError(f"line {self.before + 1} has more than {LONGEST_LINE} characters")
        self.ends_open = bool(rest.strip())
        if rest:
            yield from self._counted(rest + b"\n")

    def _counted(self, piece: bytes) -> Iterator[bytes]:
        self.length += len(piece)
        yield piece
        self.before += piece.count(b"\n")

    def check_filled(self, entries: int) -> None:
        """Raise if the text so far is out of proportion to its entries."""
        if self.length > MOST_BLANK_BYTES + MOST_ENTRY_BYTES * entries:
            raise Implausible(f"{self.length} bytes of text hold only {entries} entries")


class _Scan:
    """The entries of one piece of text, `before` lines into the file; at most `left` may be in it."""

    def __init__(self, piece: bytes, before: int, layout: Layout, left: int):
        self.piece, self.before, self.layout, self.left, self.done = piece, before, layout, left, 0
        most = min(piece.count(b"\n"), left)
        self.rows, self.columns = (np.empty(most if layout.indexed else 0, np.int64) for _ in range(2))
        self.values = np.empty(most * layout.parts)
        self._run()

    def entries(self) -> tuple[Array, Array, Array]:
        layout = self.layout
        index_dtype = np.int32 if max(layout.rows, layout.columns) < 2**31 else np.int64
        indices = (array[: self.done].astype(index_dtype) for array in (self.rows, self.columns))
        return (*indices, self.values[: self.done * layout.parts].view(layout.dtype))

    def _run(self) -> None:
        """Scan in batches of undecided numbers."""
        text, undecided = np.frombuffer(self.piece, np.uint8), np.empty((BATCH, 3), np.int64)
        layout = self.layout
        form, shape = (layout.indexed, layout.parts, KINDS.index(layout.kind)), (layout.rows, layout.columns)
        room: Any = backend_named("cpu").matrix
        entry_text = room.entry_text
        status, at = entry_text.UNDECIDED_FULL, 0
        while status == entry_text.UNDECIDED_FULL:
            values = self.values[self.done * layout.parts :]
            indices = self.rows[self.done :], self.columns[self.done :]
            status, at, entries, open_count = entry_text.scan_entries(
                text, at, self.left - self.done, form, shape, *indices, values, undecided
            )
            self._decide(values.view(layout.dtype), undecided[:open_count])
            self.done += entries
        if status != entry_text.DONE:
            reason = next(text for name, text in REASONS.items() if getattr(entry_text, name) == status)
            raise self._error(at, reason.format(layout=layout))

    def _decide(self, values: Array, undecided: Array) -> None:
        for slot, first, last in undecided.tolist():
            try:
                number = _number(self.piece[first:last], self.layout)
            except ValueError as error:
                raise self._error(first, str(error)) from None
            values[slot] = number

    def _error(self, at: int, reason: str) -> ValueError:
        start = self.piece.rfind(b"\n", 0, at) + 1
        text = self.piece[start : self.piece.index(b"\n", at)].decode("utf-8", "replace").strip()
        number = self.before + self.piece.count(b"\n", 0, start) + 1
        return ValueError(f"line {number}: {reason}, got {text[:SHOWN]!r}")


def _number(text: bytes, layout: Layout) -> float | int:
    """The number in a text that the compiled scan did not decide."""
    if not text:
        raise ValueError(f"expected {layout.width} columns")
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"a number has more than {LONGEST_NUMBER} characters")
    return _real(text) if layout.kind == "real" else _integer(text, layout.dtype)


def _real(text: bytes) -> float:
    if WORD_TEXT.fullmatch(text):
        return float(text)
    match = REAL_TEXT.fullmatch(text)
    if match is None:
        raise ValueError("expected a number")
    value = float(match[1] + b"e" + (match[2] or match[3] or b"0"))
    if math.isinf(value):
        raise ValueError("the number is too large for float64")
    return value


def _integer(text: bytes, dtype: Any) -> int:
    if not INTEGER_TEXT.fullmatch(text):
        raise ValueError("expected an integer")
    value, limits = int(text), np.iinfo(dtype)
    if not limits.min <= value <= limits.max:
        raise ValueError(f"the integer does not fit into {np.dtype(dtype).name}")
    return value
