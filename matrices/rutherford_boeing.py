"""Read Rutherford-Boeing and Harwell-Boeing files: compressed columns in fixed-width Fortran fields.

Both formats have a title, the lengths of the sections, the matrix type, the Fortran formats, then column
pointers, row indices and values. Right-hand sides in Harwell-Boeing files are ignored. Symmetric,
skew-symmetric and Hermitian files store one triangle, which is mirrored.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from linforest_precond.annotations import Array

# "(3E26.18)", "(1P,5D16.8)", "(26I3)": repetitions, letter, width; the scale factor 1P does not matter for
# reading numbers with an exponent.
FORMAT = re.compile(r"\((?:\s*\d+\s*P\s*,?)?\s*(\d*)\s*([IDEFG])\s*(\d+)[^()]*\)", re.IGNORECASE)
VALUE_KINDS = "rcip"
SYMMETRY_KINDS = {"s": "symmetric", "u": "general", "r": "general", "z": "skew-symmetric", "h": "hermitian"}


@dataclass(frozen=True)
class Header:
    """The header of a file: its first four lines."""

    title: str
    key: str
    values: str
    symmetry: str
    rows: int
    columns: int
    stored: int
    formats: tuple[tuple[int, int], ...]


def read_header(lines: list[bytes]) -> Header:
    """Read the title, type, sizes and formats from the first four lines."""
    if len(lines) < 4:
        raise ValueError("the file ends within its header")
    head = [line.decode("latin-1") for line in lines[:4]]
    values, symmetry = _type(head[2][:3].lower())
    sizes = _integers(head[2][3:], at_least=3)
    title = head[0][:72].rstrip("| ").strip()
    formats = tuple(_format(match) for match in FORMAT.finditer(head[3]))
    if len(formats) < (2 if values == "p" else 3):
        raise ValueError(f"line 4 must give the Fortran formats, got {head[3]!r}")
    rows, columns, stored = sizes[:3]
    return Header(title, head[0][72:80].strip(), values, symmetry, rows, columns, stored, formats)


def read_rutherford_boeing(data: bytes) -> Any:
    """The matrix in a file's bytes, in coordinate format.

    Parameters
    ----------
    data : bytes
        The contents of the file.

    Returns
    -------
    coo_array
        float64 or complex128, both triangles of symmetric matrices, explicit zeros as stored.

    Examples
    --------
    >>> from linforest_precond.matrices.rutherford_boeing import read_rutherford_boeing
    >>> text = b'''A symmetric matrix                                                      key
    ...              3             1             1             1
    ... rsa                        2             2             3             0
    ... (3I3)           (3I3)           (3E9.1)
    ...   1  3  4
    ...   1  2  2
    ...   0.4E+01 -0.1E+01  0.2D+01
    ... '''
    >>> read_rutherford_boeing(text).toarray()
    array([[ 4., -1.],
           [-1.,  2.]])
    """
    lines = data.splitlines()
    header = read_header(lines)
    sections = _Sections(lines, 5 if _has_fifth_line(lines) else 4, not data.endswith(b"\n"))
    pointers = sections.take(header.columns + 1, header.formats[0], np.int64)
    rows = sections.take(header.stored, header.formats[1], np.int64)
    values = _values(sections, header)
    return _mirrored(*_coordinates(pointers, rows, header), values, header)


class _Sections:
    """Reads the sections of numbers one after the other."""

    def __init__(self, lines: list[bytes], start: int, ends_open: bool):
        self.lines, self.at, self.ends_open = lines, start, ends_open

    def take(self, count: int, fields: tuple[int, int], dtype: npt.DTypeLike) -> Array:
        """The next ``count`` numbers; ``fields`` is the number of fields per line and their width."""
        per_line, width = fields
        used = -(-count // per_line)
        first, self.at = self.at, self.at + used
        self._check_whole(width * (count - per_line * (used - 1)))
        lines = [line[: per_line * width] for line in self.lines[first : self.at]]
        text = b"\n".join(lines)
        # Some writers separate numbers by blanks and ignore the widths; others write fields without blanks.
        if len(text.split()) != count:
            text = _cut(lines, count, fields)
        numbers = _parse(text, dtype)
        if numbers.size != count:
            raise ValueError(f"expected {count} numbers from line {first + 1} on; some are not readable")
        return numbers

    def _check_whole(self, last_length: int) -> None:
        """Raise if the file ends within this section, or if its last line may be truncated."""
        missing = len(self.lines) - self.at
        if missing < 0 or (missing == 0 and self.ends_open and len(self.lines[-1]) < last_length):
            raise ValueError(f"the file is truncated: it ends in line {len(self.lines)} within its entries")


def _cut(lines: list[bytes], count: int, fields: tuple[int, int]) -> bytes:
    """Split lines into fields of fixed width, each followed by a blank."""
    per_line, width = fields
    text = b"".join(line.ljust(per_line * width) for line in lines)
    spaced = np.full((count, width + 1), ord(" "), dtype=np.uint8)
    spaced[:, :width] = np.frombuffer(text, dtype=np.uint8).reshape(-1, width)[:count]
    return spaced.tobytes()


def _parse(text: bytes, dtype: npt.DTypeLike) -> Array:
    if dtype == np.float64:
        text = text.translate(bytes.maketrans(b"Dd", b"Ee"))
        # Fortran omits the letter of an exponent with three digits: 0.1-100.
        text = re.sub(rb"([0-9.])([+-])", rb"\1E\2", text)
    with warnings.catch_warnings():
        # Some versions of NumPy warn about text that is not a number, others raise.
        warnings.simplefilter("error")
        try:
            return np.fromstring(text, dtype=dtype, sep=" ")
        except (ValueError, DeprecationWarning):
            return np.empty(0, dtype)


def _type(letters: str) -> tuple[str, str]:
    if len(letters) != 3 or letters[0] not in VALUE_KINDS or letters[1] not in SYMMETRY_KINDS:
        raise ValueError(f"line 3 must start with a matrix type such as RUA or rsa, got {letters!r}")
    if letters[2] != "a":
        raise ValueError(f"only assembled matrices are supported, got type {letters!r}")
    return letters[0], SYMMETRY_KINDS[letters[1]]


def _format(match: re.Match[str]) -> tuple[int, int]:
    return int(match[1] or 1), int(match[3])


def _integers(text: str, at_least: int) -> list[int]:
    words = text.split()
    if len(words) < at_least or not all(word.isdigit() for word in words):
        raise ValueError(f"expected {at_least} sizes, got {text!r}")
    return [int(word) for word in words]


def _has_fifth_line(lines: list[bytes]) -> bool:
    """Harwell-Boeing files with right-hand sides have a fifth header line that starts with F or M."""
    return len(lines) > 4 and lines[4][:1].lower() in (b"f", b"m")


def _values(sections: _Sections, header: Header) -> Array:
    if header.values == "p":
        return np.ones(header.stored)
    if header.values == "c":
        return sections.take(2 * header.stored, header.formats[2], np.float64).view(np.complex128)
    return sections.take(header.stored, header.formats[2], np.float64)


def _coordinates(pointers: Array, rows: Array, header: Header) -> tuple[Array, Array]:
    lengths = np.diff(pointers)
    if pointers[0] != 1 or pointers[-1] != header.stored + 1 or (lengths < 0).any():
        raise ValueError(f"the column pointers do not increase from 1 to {header.stored + 1}")
    if rows.size and (rows.min() < 1 or rows.max() > header.rows):
        raise ValueError(f"a row index lies outside 1 to {header.rows}")
    return rows - 1, np.repeat(np.arange(header.columns), lengths)


def _mirrored(rows: Array, columns: Array, values: Array, header: Header) -> Any:
    """The matrix with both triangles."""
    shape = (header.rows, header.columns)
    if header.symmetry != "general":
        if header.rows != header.columns:
            raise ValueError(f"a {header.symmetry} matrix must be square, got shape {shape}")
        off_diagonal = rows != columns
        mirror: dict[str, Any] = {
            "symmetric": np.positive,
            "skew-symmetric": np.negative,
            "hermitian": np.conj,
        }
        values = np.concatenate((values, mirror[header.symmetry](values[off_diagonal])))
        both_rows = np.concatenate((rows, columns[off_diagonal]))
        rows, columns = both_rows, np.concatenate((columns, rows[off_diagonal]))
    return scipy.sparse.coo_array((values, (rows, columns)), shape=shape)
