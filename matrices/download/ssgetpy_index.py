"""Search the index of the ssgetpy package, if the collection's own index cannot be downloaded.

On import ssgetpy writes to the home folder and may download without a timeout. It therefore runs in a
separate process whose home is a temporary folder. Its search matches parts of names and treats ``_`` as a
wildcard: callers filter.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .places import is_name_part

SECONDS = 30
QUERY = """
import json, sys, ssgetpy
fields = ("group", "name", "rows", "cols", "nnz", "nsym", "kind")
found = ssgetpy.search(name=sys.argv[1], limit=10000)
print(json.dumps([[getattr(matrix, field) for field in fields] for matrix in found]))
"""


def search(name: str) -> list[tuple[str, str, int, int, int, bool, str]]:
    """(group, name, rows, columns, nonzeros, symmetric, kind) of the matrices whose names contain ``name``.

    Empty if ssgetpy is not installed or fails.
    """
    if importlib.util.find_spec("ssgetpy") is None:
        return []
    try:
        return [
            (group, matrix, int(rows), int(columns), int(nnz), symmetry == 1, str(kind))
            for group, matrix, rows, columns, nnz, symmetry, kind in _ask(name)
            if is_name_part(group) and is_name_part(matrix)
        ]
    except (TypeError, ValueError, OverflowError):  # not rows of the expected types
        return []


def _ask(name: str) -> Any:
    with tempfile.TemporaryDirectory() as home:
        _copy_own_index(Path(home))
        environment = {**os.environ, "HOME": home, "APPDATA": home}
        command = [sys.executable, "-c", QUERY, name]
        try:
            answer = subprocess.run(
                command, env=environment, capture_output=True, timeout=SECONDS, check=True
            )
            return json.loads(answer.stdout)
        except (subprocess.SubprocessError, OSError, ValueError):
            return []


def _copy_own_index(home: Path) -> None:
    """Copy the user's index of ssgetpy, if there is one."""
    stored = Path.home() / ".ssgetpy" / "index.db"
    if stored.is_file():
        (home / ".ssgetpy").mkdir()
        shutil.copyfile(stored, home / ".ssgetpy" / "index.db")
