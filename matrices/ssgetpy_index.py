"""Ask the ssgetpy package which matrices there are, where the collection's own index cannot be had.

On import ssgetpy writes to the home folder and may download without a time limit, so it runs in a process of
its own whose home is a temporary folder. Its search finds parts of names and treats ``_`` as any letter:
callers filter.
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

from .places import is_name_part

SECONDS = 30
QUERY = """
import json, sys, ssgetpy
fields = ("group", "name", "rows", "cols", "nnz", "nsym", "kind")
found = ssgetpy.search(name=sys.argv[1], limit=10000)
print(json.dumps([[getattr(matrix, field) for field in fields] for matrix in found]))
"""


def search(name):
    """(group, name, rows, columns, nonzeros, symmetric, kind) of the matrices whose names contain ``name``.

    Empty where ssgetpy is not installed or gives no answer.
    """
    if importlib.util.find_spec("ssgetpy") is None:
        return []
    return [
        (group, matrix, rows, columns, nnz, symmetry == 1, kind)
        for group, matrix, rows, columns, nnz, symmetry, kind in _ask(name)
        if is_name_part(group) and is_name_part(matrix)
    ]


def _ask(name):
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


def _copy_own_index(home):
    """Give ssgetpy the index that the user's own use of it has stored, if any."""
    stored = Path.home() / ".ssgetpy" / "index.db"
    if stored.is_file():
        (home / ".ssgetpy").mkdir()
        shutil.copyfile(stored, home / ".ssgetpy" / "index.db")
