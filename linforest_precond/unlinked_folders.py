"""Checkouts without symbolic links, the default of Git on Windows: `matrices` and `solvers` import as well.

`linforest_precond/matrices` and `linforest_precond/solvers` are links to the folders beside the package.
Without symbolic links Git writes text files in their place, which Python does not import from. Installed
packages have the folders themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).parent
FOLDERS = ("matrices", "solvers")


class FolderBeside:
    """An import hook that finds the packages of a checkout beside this one."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, folder = name.rpartition(".")
        if package != __package__ or folder not in FOLDERS:
            return None
        return PathFinder.find_spec(name, [str(PACKAGE.parent)])


def find_unlinked() -> None:
    """Import the folders from where they are, if this is such a checkout.

    The hook comes before those of editable installs, which may belong to another checkout.
    """
    if not all((PACKAGE / folder).is_dir() for folder in FOLDERS) and FolderBeside not in sys.meta_path:
        sys.meta_path.insert(0, FolderBeside)


find_unlinked()
