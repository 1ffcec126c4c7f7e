"""The files of a study: written atomically, and reused by a later run with the same settings."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from linforest_precond.matrices.readers.atomic_files import check_writable, write_text
from linforest_precond.records.printing import encodable
from linforest_precond.study.cases import Case, slug
from linforest_precond.study.json_types import JsonObject

SCHEMA = 1


def write_json(path: Path, document: Any) -> Path:
    """Write a document atomically; NaN and infinities become null."""
    text = json.dumps(plain(document), ensure_ascii=False, allow_nan=False)
    return write_text(path, text + "\n")


def plain(value: Any) -> Any:
    """
    A value converted to the types of JSON; NaN and infinities become None, lone surrogates are escaped.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.study.store import plain
    >>> plain({"a": (np.float64(0.5), np.int32(2)), "b": float("nan"), "c": np.inf})
    {'a': [0.5, 2], 'b': None, 'c': None}
    """
    if isinstance(value, dict):
        return {encodable(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return encodable(value)
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def case_file(name: str) -> str:
    """
    The name of a case's file: readable, and different for every name.

    The digest tells names apart that are equal as plain ASCII, or on file systems that ignore case.

    Examples
    --------
    >>> from linforest_precond.study.store import case_file
    >>> case_file("a b"), case_file("a-b")
    ('a-b-c8687a08aa5d6ed2.json', 'a-b-d44362d67d921091.json')
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{slug(name)}-{digest}.json"


class Store:
    """One file for every finished case, in `<folder>/cases`."""

    def __init__(self, folder: Path, stamp: JsonObject, resume: bool):
        self.folder, self.resume = folder / "cases", resume
        self.stamp = plain({"schema": SCHEMA, **stamp})
        for written in (folder, self.folder):
            check_writable(_existing(written))

    def kept(self, case: Case) -> JsonObject | None:
        """The case as finished by an earlier run with the same stamp; None where there is none."""
        if not self.resume:
            return None
        try:
            document = json.loads(self._path(case).read_text(encoding="utf-8"))
            same = document["stamp"] == self.stamp and document["asked"] == encodable(case.name)
            found = document["case"]
            complete = found["status"] == "done" and found.keys() >= case.record().keys()
            return found if same and complete else None
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None  # no such file, or not a case of a study

    def keep(self, case: Case, record: JsonObject) -> None:
        """Save a case, but not one whose matrix is missing."""
        if record["status"] == "missing":
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        document = {"stamp": self.stamp, "asked": case.name, "case": record}
        write_json(self._path(case), document)

    def _path(self, case: Case) -> Path:
        return self.folder / case_file(case.name)


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next((path for path in (folder, *folder.absolute().parents) if path.exists()), folder)
