"""`read_sets` reads sets from text files, one set per line."""

from __future__ import annotations

import os

from linforest_precond.backends import backend_named
from linforest_precond.backends.arguments import as_path
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.matrices.readers.bounded_streams import chunks, text_lines
from linforest_precond.records.printing import one_line

# An element of the longest accepted length, in characters of four bytes (encoding.py).
LONGEST_LINE = 2**26
# Bytes of a set with few elements in a list, and of an element: a string, and its share of a larger set.
SET, ELEMENT = 224, 80


@named_arguments
def read_sets(path: str | os.PathLike[str], separator: str | None = None) -> list[frozenset[str]]:
    """The sets of a text file in UTF-8, one a line.

    Parameters
    ----------
    path : str or path
        The file. Blank lines are not allowed, because sets are numbered by their lines.
    separator : str, optional
        What is between two elements; by default any white space. White space around elements is removed.

    Returns
    -------
    list of frozenset of str
        A set for every line.

    Raises
    ------
    ValueError
        If a line has no elements, is not UTF-8 or has more than 2**26 bytes; the message names it. Before any
        set is made, if they would not fit into the free memory.
    FileNotFoundError
        If there is no such file, or not a regular one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import linforest_precond as lf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tags.txt")
    ...     _ = path.write_text("graph, linear forest\\nmatching\\n", encoding="utf-8")
    ...     [sorted(each) for each in lf.similarity.read_sets(path, separator=",")]
    [['graph', 'linear forest'], ['matching']]
    """
    if separator == "":
        raise ValueError("separator must not be empty: leave it out to split at white space")
    name = one_line(as_path("path", path))
    _check_memory(path, separator)
    lines = enumerate(text_lines(path, LONGEST_LINE), start=1)
    return [_elements(line, separator, f"{name}, line {number}") for number, line in lines]


def _check_memory(path: str | os.PathLike[str], separator: str | None) -> None:
    """Raise where the sets of a file need more than the free memory; compressed, they may be many."""
    marks = (b" ", b"\t") if separator is None else (separator.encode("utf-8", "surrogatepass"),)
    sets = elements = size = 0
    for chunk in chunks(path):
        sets += chunk.count(b"\n")
        elements += sum(chunk.count(mark) for mark in marks)
        size += len(chunk)
    needed = SET * sets + ELEMENT * (sets + elements) + size
    free = backend_named("cpu").runtime.calibration.free_bytes()
    if needed > free:
        raise ValueError(
            f"{one_line(os.fsdecode(path))} must fit into memory as sets: {sets:,} lines need about "
            f"{needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free; split the file"
        )


def _elements(line: str, separator: str | None, name: str) -> frozenset[str]:
    elements = frozenset(filter(None, (part.strip() for part in line.split(separator))))
    if not elements:
        raise ValueError(f"{name} must have at least one element")
    return elements
