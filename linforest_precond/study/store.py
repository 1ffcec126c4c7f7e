"""The files of a study: written atomically, and reused by a later run with the same settings."""

from __future__ import annotations

import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

from linforest_precond.study.cases import Case, slug
from linforest_precond.study.json_types import JsonObject

SCHEMA = 1


def write_json(path: Path, document: Any) -> Path:
    """Write a document atomically; NaN and infinities become null."""
    text = json.dumps(plain(document), ensure_ascii=False, allow_nan=False)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def plain(value: Any) -> Any:
    """
    A value converted to the types of JSON; NaN and infinities become None.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.study.store import plain
    >>> plain({"a": (np.float64(0.5), np.int32(2)), "b": float("nan"), "c": np.inf})
    {'a': [0.5, 2], 'b': None, 'c': None}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Store:
    """One file for every finished case, in `<folder>/cases`."""

    def __init__(self, folder: Path, stamp: JsonObject, resume: bool):
        self.folder, self.resume = folder / "cases", resume
        self.stamp = plain({"schema": SCHEMA, **stamp})
        self.folder.mkdir(parents=True, exist_ok=True)

    def kept(self, case: Case) -> JsonObject | None:
        """The case as finished by an earlier run with the same stamp; None where there is none."""
        if not self.resume:
            return None
        try:
            document = json.loads(self._path(case).read_text(encoding="utf-8"))
            same = document["stamp"] == self.stamp and document["asked"] == case.name
            return document["case"] if same and document["case"]["status"] == "done" else None
        except (OSError, ValueError, KeyError, TypeError):  # no such file, or not a case of a study
            return None

    def keep(self, case: Case, record: JsonObject) -> None:
        document = {"stamp": self.stamp, "asked": case.name, "case": record}
        write_json(self._path(case), document)

    def _path(self, case: Case) -> Path:
        return self.folder / f"{slug(case.name)}.json"
