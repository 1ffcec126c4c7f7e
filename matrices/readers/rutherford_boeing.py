"""Read Rutherford-Boeing and Harwell-Boeing files: compressed columns in fixed-width Fortran fields.

Both formats have a title, the lengths of the sections, the matrix type, the Fortran formats, then column
pointers, row indices and values. Right-hand sides in Harwell-Boeing files are ignored. Symmetric,
skew-symmetric and Hermitian files store one triangle, which is mirrored.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array

from .bounded_streams import Bounded, check_promise, check_rows, drain
from .entry_lines import LONGEST_LINE, Layout, read_entry_lines
from .index_arrays import check_square, from_triangle

# "(3E26.18)", "(1P,5D16.8)", "(26I3)": repetitions, letter, width; the scale factor 1P does not matter for
# reading numbers with an exponent.
FORMAT = re.compile(r"\((?:\s*\d+\s*P\s*,?)?\s*(\d*)\s*([IDEFG])\s*(\d+)[^()]*\)", re.IGNORECASE)
# A record of 4096 characters is longer than any that Fortran programs write; the line of formats has 72.
LONGEST_RECORD = 4096
LONGEST_FORMATS = 200
# Sections are parsed in batches of whole lines of about this size.
BATCH_BYTES = 1 << 22
ONE_NUMBER_PER_LINE = bytes.maketrans(b" \t", b"\n\n")
VALUE_KINDS = "rcip"
SYMMETRY_KINDS = {"s": "symmetric", "u": "general", "r": "general", "z": "skew-symmetric", "h": "hermitian"}


@dataclass(frozen=True)
class BoeingHeader:
    """The header of a file: its first four lines."""

    title: str
    key: str
    values: str
    symmetry: str
    rows: int
    columns: int
    stored: int
    formats: tuple[tuple[int, int], ...]


def read_boeing_header(lines: list[bytes]) -> BoeingHeader:
    """Read the title, type, sizes and formats from the first four lines."""
    head = [line.decode("latin-1") for line in lines]
    values, symmetry = _type(head[2][:3].lower())
    sizes = _integers(head[2][3:], at_least=3)
    title = head[0][:72].rstrip("| ").strip()
    formats = tuple(_format(match) for match in FORMAT.finditer(head[3][:LONGEST_FORMATS]))
    if len(formats) < (2 if values == "p" else 3):
        raise ValueError(f"line 4 must give the Fortran formats, got {head[3][:80]!r}")
    rows, columns, stored = sizes[:3]
    return BoeingHeader(title, head[0][72:80].strip(), values, symmetry, rows, columns, stored, formats)


def read_rutherford_boeing(source: bytes | Bounded) -> Any:
    """The matrix in a file, both triangles of a symmetric one, in coordinate format."""
    stream = Bounded(io.BytesIO(source), len(source)) if isinstance(source, bytes) else source
    sections = _Sections(stream)
    header = read_boeing_header([sections.line() for _ in range(4)])
    check_rows(header.rows, header.stored)
    sections.skip_fifth_line()
    pointers = sections.take(header.columns + 1, header.formats[0], "integer")
    rows = sections.take(header.stored, header.formats[1], "integer")
    values = _values(sections, header)
    drain(stream)
    rows, columns = _coordinates(pointers, rows, header)
    shape = header.rows, header.columns
    check_square(header.symmetry, shape)
    return from_triangle(values, rows, columns, header.symmetry, shape)


class _Sections:
    """Reads the sections of numbers one after the other."""

    def __init__(self, stream: Bounded):
        self.stream, self.lines = stream, 0
        self.ahead: bytes | None = None

    def line(self) -> bytes:
        line = self.stream.readline(LONGEST_LINE) if self.ahead is None else self.ahead
        self.ahead, self.lines = None, self.lines + 1
        if not line:
            raise ValueError(f"the file is truncated: it ends in line {self.lines - 1}")
        if len(line) == LONGEST_LINE:
            raise ValueError(f"line {self.lines} has more than {LONGEST_LINE} characters")
        return line

    def skip_fifth_line(self) -> None:
        """Harwell-Boeing files with right-hand sides have a fifth header line that starts with F or M."""
        line = self.line()
        if line[:1].lower() not in (b"f", b"m"):
            self.ahead, self.lines = line, self.lines - 1

    def take(self, count: int, fields: tuple[int, int], kind: str) -> Array:
        """The next ``count`` numbers; ``fields`` is the number of fields per line and their width."""
        check_promise("numbers", count, 1, self.stream.most_bytes)
        per_line, width = fields
        most = per_line * max(1, BATCH_BYTES // (per_line * width))
        batches = [self._batch(min(most, count - at), fields, kind) for at in range(0, count, most)]
        return np.concatenate([np.empty(0, np.float64 if kind == "real" else np.int64), *batches])

    def _batch(self, count: int, fields: tuple[int, int], kind: str) -> Array:
        per_line, width = fields
        first, lines = self.lines + 1, [self.line() for _ in range(-(-count // per_line))]
        self._check_end(lines[-1], width * (count - per_line * (len(lines) - 1)))
        records = [line.rstrip(b"\r\n")[: per_line * width] for line in lines]
        text = b"\n".join(records)
        # Some writers separate numbers by blanks and ignore the widths; others write fields without blanks.
        if len(text.split()) != count:
            text = _cut(records, count, fields)
        layout = Layout(False, 1, kind, 0, 0, count)
        try:
            return read_entry_lines(io.BytesIO(text.translate(ONE_NUMBER_PER_LINE) + b"\n"), layout).values
        except ValueError as error:
            raise ValueError(
                f"expected {count} numbers from line {first} on; some are not readable"
            ) from error

    def _check_end(self, line: bytes, length: int) -> None:
        """Raise if the file ends within a line, whose last number may be truncated."""
        if not line.endswith(b"\n") and len(line) < length:
            raise ValueError(f"the file is truncated: it ends in line {self.lines} within its entries")


def _cut(lines: list[bytes], count: int, fields: tuple[int, int]) -> bytes:
    """Split lines into fields of fixed width, each followed by a blank."""
    per_line, width = fields
    text = b"".join(line.ljust(per_line * width) for line in lines)
    spaced = np.full((count, width + 1), ord(" "), dtype=np.uint8)
    spaced[:, :width] = np.frombuffer(text, dtype=np.uint8).reshape(-1, width)[:count]
    return spaced.tobytes()


def _type(letters: str) -> tuple[str, str]:
    if len(letters) != 3 or letters[0] not in VALUE_KINDS or letters[1] not in SYMMETRY_KINDS:
        raise ValueError(f"line 3 must start with a matrix type such as RUA or rsa, got {letters!r}")
    if letters[2] != "a":
        raise ValueError(f"only assembled matrices are supported, got type {letters!r}")
    return letters[0], SYMMETRY_KINDS[letters[1]]


def _format(match: re.Match[str]) -> tuple[int, int]:
    per_line, width = int(match[1] or 1), int(match[3])
    if not 1 <= per_line * width <= LONGEST_RECORD:
        raise ValueError(f"the Fortran format {match[0]} is not plausible")
    return per_line, width


def _integers(text: str, at_least: int) -> list[int]:
    words = text.split()
    if len(words) < at_least or not all(re.fullmatch("[0-9]{1,18}", word) for word in words):
        raise ValueError(f"expected {at_least} sizes, got {text[:80]!r}")
    return [int(word) for word in words]


def _values(sections: _Sections, header: BoeingHeader) -> Array:
    if header.values == "p":
        return np.ones(header.stored)
    if header.values == "c":
        return sections.take(2 * header.stored, header.formats[2], "real").view(np.complex128)
    return sections.take(header.stored, header.formats[2], "real")


def _coordinates(pointers: Array, rows: Array, header: BoeingHeader) -> tuple[Array, Array]:
    lengths = np.diff(pointers)
    if pointers[0] != 1 or pointers[-1] != header.stored + 1 or (lengths < 0).any():
        raise ValueError(f"the column pointers do not increase from 1 to {header.stored + 1}")
    if rows.size and (rows.min() < 1 or rows.max() > header.rows):
        raise ValueError(f"a row index lies outside 1 to {header.rows}")
    return rows - 1, np.repeat(np.arange(header.columns), lengths)
