"""Where matrices lie: the cache this package writes to, and the folder of the user's that it only reads."""

from __future__ import annotations

import contextlib
import os
import re
import time
import uuid
from pathlib import Path

from .errors import UnknownMatrix
from .files import declared_name

# The order in which forms of one matrix are preferred: the fastest to read first.
PLACED_SUFFIXES = (".mtx", ".npz", ".mtx.gz", ".mtx.bz2", ".mat", ".rb", ".rb.gz", ".tar.gz")
NAME_PART = re.compile(r"[A-Za-z0-9_.+-]+")
# A process in work writes every few seconds; what is older was left by one that was killed.
ABANDONED_SECONDS = 3600
NO = ("", "0", "false", "no", "off")


def cache_folder(cache=None) -> Path:
    """``cache``, else ``LINFOREST_CACHE``, else ``linforest_precond/matrices`` in the user's cache folder."""
    chosen = os.environ.get("LINFOREST_CACHE") if cache is None else cache
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification ignores relative paths.
    parent = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return parent / "linforest_precond" / "matrices"


def search_folders(cache=None) -> list[Path]:
    """The folders that may hold matrices, the user's own before the cache."""
    own = os.environ.get("LINFOREST_MATRICES")
    return ([Path(own).expanduser()] if own else []) + [cache_folder(cache)]


def is_offline(offline=None) -> bool:
    """``offline``, else what ``LINFOREST_OFFLINE`` says."""
    if offline is not None:
        return bool(offline)
    return os.environ.get("LINFOREST_OFFLINE", "").strip().lower() not in NO


def is_name_part(part: str) -> bool:
    """Whether a group's or a matrix's name may become a part of a path or an address."""
    return NAME_PART.fullmatch(part) is not None and part not in (".", "..")


def split_name(name) -> tuple[str | None, str]:
    """The group, or None, and the name."""
    parts = name.split("/")
    if len(parts) > 2 or not all(map(is_name_part, parts)):
        raise ValueError(
            f'name must be a matrix ("ecology1"), a group and a matrix ("McRae/ecology1"), a generator '
            f'("aniso2:300") or a path ("A.mtx"), got {name!r}'
        )
    return (None, *parts) if len(parts) == 1 else tuple(parts)


def find_placed(group, name, folders) -> Path | None:
    """The first file of this matrix in the folders: in the group's folder, at the top, or in its own."""
    places = [(), (name,)] if group is None else [(group,), (group, name), (), (name,)]
    candidates = (
        (path, place) for folder in folders for place in places for path in _files(folder, place, name)
    )
    for path, place in candidates:
        if group is None or place[:1] == (group,) or not _is_of_another_group(path, group):
            return path
    return None


def find_in_any_group(name, folders) -> Path | None:
    """A file of this matrix in any subfolder; two groups that have one are told apart by the user."""
    for folder in folders:
        groups = {group: _files(folder, (group,), name) for group in sorted(_listing(folder))}
        held = {group: paths[0] for group, paths in groups.items() if paths}
        if len(held) > 1:
            choices = ", ".join(f"{group}/{name}" for group in held)
            raise UnknownMatrix(f"name {name!r} is ambiguous in {folder}: give one of {choices}")
        if held:
            return next(iter(held.values()))
    return None


def temporary_beside(target: Path) -> Path:
    """A name of this call's own in the target's folder, so that processes never share a file in progress."""
    return target.with_name(f"{target.name}.{uuid.uuid4().hex}.tmp")


def remove_abandoned(target: Path) -> None:
    """Remove temporary files of the target that nobody works on any more."""
    for path in target.parent.glob(f"{target.name}.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                path.unlink()


def make_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            error.errno,
            "cannot make the cache folder; cache= or LINFOREST_CACHE name another",
            str(folder),
        ) from error
    return folder


def _files(folder, place, name):
    """The files of this name in one folder, preferred forms first. Upper and lower case always differ."""
    for part in place:
        if part not in _listing(folder):
            return []
        folder = folder / part
    present = _listing(folder)
    wanted = (name + suffix for suffix in PLACED_SUFFIXES)
    return [folder / file for file in wanted if file in present and (folder / file).is_file()]


def _listing(folder):
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def _is_of_another_group(path, group):
    """Whether a Matrix Market file says of itself that it belongs to another group."""
    declared = declared_name(path)
    return declared is not None and declared.split("/")[0] != group
