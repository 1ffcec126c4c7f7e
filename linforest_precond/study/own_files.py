"""A study overwrites only what a study has written."""

from __future__ import annotations

import json
from pathlib import Path

from linforest_precond.study.report.document import GENERATED

REPORT_FILES = ("study.json", "report.html", "figures")


def require_own(folder: Path, page: Path | None, force: bool) -> None:
    """
    Raise where the files of a study would overwrite others.

    Parameters
    ----------
    folder : Path
        Of the report.
    page : Path, optional
        The Markdown page to write, too.
    force : bool
        Whether to overwrite them all the same.

    Raises
    ------
    FileExistsError
        Names the first such file.
    """
    found = [*_foreign_files(folder), *_foreign_page(page)]
    if found and not force:
        raise FileExistsError(
            f"{found[0]} exists and was not written by a study; --force (force=True) overwrites it, --out "
            "takes another folder"
        )


def _foreign_files(folder: Path) -> list[Path]:
    """What the report would replace, unless the folder holds a study."""
    if _is_study(folder / "study.json"):
        return []
    named = [path for name in REPORT_FILES if (path := folder / name).exists()]
    return named + sorted(folder.glob("*.csv"))


def _foreign_page(page: Path | None) -> list[Path]:
    if page is None or not page.exists():
        return []
    text = page.read_text(encoding="utf-8", errors="replace")
    return [] if GENERATED in text else [page]


def _is_study(path: Path) -> bool:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {"schema", "study", "cases"} <= found.keys()
    except (OSError, ValueError, AttributeError, RecursionError):
        return False
