"""Metadata of a matrix: author, kind, sizes, licence."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.records.printing import one_line

from .download import collection
from .download.places import PathLike, UnknownMatrix, is_offline, split_name
from .load import is_generated, is_path, locate
from .readers.files import header_of_file, read_matrix


@dataclass(frozen=True)
class Description:
    """Metadata of a matrix; unknown fields are None.

    ``nnz`` counts the nonzeros of the whole matrix, ``stored`` the entries in its file, which stores one
    triangle of a symmetric matrix.
    """

    name: str
    group: str | None = None
    title: str | None = None
    author: str | None = None
    editor: str | None = None
    date: str | None = None
    kind: str | None = None
    rows: int | None = None
    columns: int | None = None
    nnz: int | None = None
    stored: int | None = None
    symmetry: str | None = None
    licence: str | None = None
    citation: str | None = None
    path: Path | None = None

    def __str__(self) -> str:
        known = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
        return "\n".join(f"{key:<9} {one_line(str(value))}" for key, value in known if value is not None)


@named_arguments
def describe(
    name: str | os.PathLike[str], *, cache: PathLike | None = None, offline: bool | None = None
) -> Description:
    """Metadata of a matrix: group, author, kind, sizes, licence and citation.

    They are read from a local file and from the SuiteSparse collection's index. No matrix is downloaded:
    author and title of a matrix without a local file are None.

    Parameters
    ----------
    name : str or path-like
        A matrix of the collection or a file, as for `load`.
    cache, offline
        As for `load`.

    Returns
    -------
    Description
        Prints as a small table.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from linforest_precond import matrices
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "A.mtx")
    >>> text = "%%MatrixMarket matrix coordinate real symmetric\\n% author: A. Nonymous\\n2 2 1\\n2 1 -1\\n"
    >>> _ = path.write_text(text)
    >>> print(matrices.describe(path))
    name      A
    author    A. Nonymous
    rows      2
    columns   2
    stored    1
    symmetry  symmetric
    path      ...
    >>> folder.cleanup()
    """
    if is_generated(name):
        raise ValueError(f"name must be a file or in the collection, got {name!r}, which is generated")
    path = locate(name, cache=cache, fetch=False)
    of_file = {} if path is None else _of_file(path)
    entry = _entry(name, path, of_file, cache, is_offline(offline))
    of_entry = {} if entry is None else _of_entry(entry)
    return Description(**{"name": _plain_name(name), **of_file, **of_entry, "path": path})


def _of_file(path: Path) -> dict[str, Any]:
    header = header_of_file(path)
    if header is None:
        A = read_matrix(path)
        return {"rows": A.shape[0], "columns": A.shape[1], "nnz": A.count_nonzero()}
    full_name = (header.comment("name") or "").split("/")
    return {
        **({"group": full_name[0], "name": full_name[1]} if len(full_name) == 2 else {}),
        "title": header.title,
        "author": header.comment("author"),
        "editor": header.comment("ed"),
        "date": header.comment("date"),
        "kind": header.comment("kind"),
        "rows": header.rows,
        "columns": header.columns,
        "stored": header.stored,
        "symmetry": header.symmetry,
    }


def _entry(
    name: str | os.PathLike[str],
    path: Path | None,
    of_file: dict[str, Any],
    cache: PathLike | None,
    offline: bool,
) -> collection.Entry | None:
    """The matrix in the index; for a local file only local indexes are searched."""
    group, plain = of_file.get("group"), of_file.get("name")
    if group is None and not is_path(name):
        group, plain = split_name(str(name))
    if path is None:
        return collection.look_up(group, str(plain), cache=cache, offline=offline)
    try:
        return collection.known(group, plain, cache) if plain else None
    except UnknownMatrix:
        return None


def _of_entry(entry: collection.Entry) -> dict[str, Any]:
    fields = {
        "name": entry.name,
        "group": entry.group,
        "kind": entry.kind,
        "rows": entry.rows,
        "columns": entry.columns,
        "nnz": entry.nnz,
        "licence": collection.LICENCE,
        "citation": collection.CITATION,
    }
    return {**fields, "symmetry": "symmetric"} if entry.symmetric else fields


def _plain_name(name: str | os.PathLike[str]) -> str:
    return Path(name).name.split(".")[0] if is_path(name) else split_name(str(name))[1]
