"""Records and operators print as tables; control characters of foreign text are escaped."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # the command line prints without NumPy
    from linforest_precond.backends.annotations import Array

LINE_ROWS = 3  # rows of a table that `repr` shows


def as_table(title: str, *rows: tuple[str, str]) -> str:
    """A title, and below it names and values in two columns."""
    width = max(len(name) for name, _ in rows)
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in rows)])


def as_columns(rows: Sequence[Sequence[str]], words: Collection[int], indent: str = "") -> str:
    """Cells in columns as wide as they need: those in `words` to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def line(row: Sequence[str]) -> str:
        cells = enumerate(zip(row, widths, strict=True))
        return "  ".join(cell.ljust(w) if i in words else cell.rjust(w) for i, (cell, w) in cells)

    return "\n".join(f"{indent}{line(row)}".rstrip() for row in rows)


class Printout(NamedTuple):
    """Fields shown by print(): a title, and names with values, most important first."""

    title: str
    rows: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, title: str, *rows: tuple[str, str]) -> Printout:
        return cls(title, rows)

    def as_line(self) -> str:
        """The title and the first rows in one line."""
        return f"<{'; '.join([self.title, *(f'{name} {value}' for name, value in self.rows[:LINE_ROWS])])}>"

    def as_html(self) -> str:
        """A table for notebooks; browsers and notebooks give it their own colours."""
        cells = ((escape(name), escape(value)) for name, value in self.rows)
        body = "".join(
            f'<tr><th scope="row" style="text-align: left">{name}</th>'
            f'<td style="text-align: left">{value}</td></tr>'
            for name, value in cells
        )
        caption = f'<caption style="text-align: left">{escape(self.title)}</caption>'
        return f"<table>{caption}<tbody>{body}</tbody></table>"


class Printed:
    """Objects that print themselves: `repr` is one line, `str` a table, and notebooks show that as HTML."""

    __slots__ = ()

    def _printout(self) -> Printout:
        raise NotImplementedError

    def __str__(self) -> str:
        title, rows = self._printout()
        return as_table(title, *rows)

    def __repr__(self) -> str:
        return self._printout().as_line()

    def _repr_html_(self) -> str:
        return self._printout().as_html()


def agreeing(count: int, one: str, more: str) -> str:
    """A count, and the words that agree with it."""
    return f"{count} {one if count == 1 else more}"


def escape(text: str) -> str:
    """Text for HTML, without characters that are not allowed in it or reverse the text around it."""
    return html.escape(printable(text, keep="\n\t"))


def printable(text: str, keep: str = "") -> str:
    r"""Text with escapes in place of all characters that a terminal, a page or an encoding might not survive.

    Names of files, and titles and authors in them, are foreign: they may hold control characters (ANSI
    escapes), marks that reverse the direction of writing, and bytes that are not UTF-8, which Python stores
    as lone surrogates. Characters in `keep` are left as they are.
    """
    if text.isprintable():
        return text
    return "".join(char if char in keep or _is_visible(char) else _escaped(char) for char in text)


def one_line(text: str, longest: int = 2000) -> str:
    """Foreign text in one line of printable characters; longer ones are cut."""
    line = printable(" ".join(text[: 4 * longest].split()))
    return line if len(line) <= longest else f"{line[:longest]} …"


def encodable(text: str) -> str:
    """Text that can be encoded as UTF-8: lone surrogates are escaped, all else is left."""
    return re.sub("[\ud800-\udfff]", lambda found: _escaped(found[0]), text)


def _is_visible(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"


def _escaped(char: str) -> str:
    """The escape in Python's notation; a surrogate that stands for a byte is shown as the byte."""
    code = ord(char)
    byte = 0xDC80 <= code <= 0xDCFF
    return f"\\x{code - 0xDC00:02x}" if byte else char.encode("unicode_escape").decode("ascii")


def numbers_of(array: Array | Sequence[int]) -> list[int]:
    """The integers of a small array, copied to the host."""
    from linforest_precond.backends.array_libraries import on_host

    return [int(number) for number in on_host(array)]  # stall: on demand
