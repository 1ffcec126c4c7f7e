"""The cache and the user's read-only folder of matrices; exceptions for missing matrices."""

from __future__ import annotations

import contextlib
import os
import re
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from ..readers.files import declared_name

PathLike: TypeAlias = str | os.PathLike[str]

# File formats in order of preference: the fastest to read first.
PLACED_SUFFIXES = (".mtx", ".npz", ".mtx.gz", ".mtx.bz2", ".mat", ".rb", ".rb.gz", ".tar.gz")
NAME_PART = re.compile(r"[A-Za-z0-9_.+-]+")
# A running download writes every few seconds; older temporary files are leftovers.
ABANDONED_SECONDS = 3600
NO = ("", "0", "false", "no", "off")


class MatrixNotAvailable(LookupError):  # noqa: N818
    """A matrix is not available: its name is unknown, its download failed, or there is no network.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> try:
    ...     A = matrices.load("HB/no_such_matrix", cache="/nowhere", offline=True)
    ... except matrices.MatrixNotAvailable:
    ...     A = matrices.poisson((10, 10))
    >>> A.shape
    (100, 100)
    """


class UnknownMatrix(MatrixNotAvailable):
    """No matrix of the collection has this name, or more than one."""


class MatrixOffline(MatrixNotAvailable):
    """There is no local copy of the matrix, and the network is down or disabled."""


def cache_folder(cache: PathLike | None = None) -> Path:
    """``cache``, else ``LINFOREST_CACHE``, else ``linforest_precond/matrices`` in the user's cache folder."""
    chosen = os.environ.get("LINFOREST_CACHE") if cache is None else cache
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification ignores relative paths.
    parent = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return parent / "linforest_precond" / "matrices"


def search_folders(cache: PathLike | None = None) -> list[Path]:
    """The folders to search for matrices: the user's, then the cache."""
    own = os.environ.get("LINFOREST_MATRICES")
    return ([Path(own).expanduser()] if own else []) + [cache_folder(cache)]


def is_downloaded(path: Path, cache: PathLike | None = None) -> bool:
    """Whether a file is where `download` stores it; such files may be removed and downloaded again."""
    folder = cache_folder(cache)
    own = folder not in search_folders(cache)[:-1]
    return own and path.suffix == ".mtx" and path.parent.parent == folder


def is_offline(offline: bool | None = None) -> bool:
    """``offline``, else the environment variable ``LINFOREST_OFFLINE``."""
    if offline is not None:
        return bool(offline)
    return os.environ.get("LINFOREST_OFFLINE", "").strip().lower() not in NO


def is_name_part(part: str) -> bool:
    """Whether a name is safe as a part of a path or a URL."""
    return NAME_PART.fullmatch(part) is not None and part not in (".", "..")


def split_name(name: str) -> tuple[str | None, str]:
    """The group, or None, and the name."""
    parts = name.split("/")
    if len(parts) > 2 or not all(map(is_name_part, parts)):
        from ..generators.by_name import nearest_name  # slow to import

        nearest = nearest_name(name)
        hint = f"; did you mean {nearest}?" if nearest else ""
        raise ValueError(
            f'name must be a matrix ("ecology1"), a group and a matrix ("McRae/ecology1"), a generator '
            f'("aniso2:300") or a path ("A.mtx"), got {name!r}{hint}'
        )
    return (None, parts[0]) if len(parts) == 1 else (parts[0], parts[1])


def find_placed(group: str | None, name: str, folders: list[Path]) -> Path | None:
    """The first file of this matrix: in the folder of its group, at the top, or in a folder of its name."""
    of_group: list[tuple[str, ...]] = [] if group is None else [(group,), (group, name)]
    subfolders = [*of_group, (), (name,)]
    candidates = (
        (path, subfolder)
        for folder in folders
        for subfolder in subfolders
        for path in _files(folder, subfolder, name)
    )
    for path, subfolder in candidates:
        if group is None or subfolder[:1] == (group,) or not _is_of_another_group(path, group):
            return path
    return None


def find_in_any_group(name: str, folders: list[Path]) -> Path | None:
    """A file of this matrix in any subfolder; raises if two groups have one."""
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
    """A unique name in the target's folder, so that processes never share an unfinished file."""
    return target.with_name(f"{target.name}.{uuid.uuid4().hex}.tmp")


def remove_abandoned(target: Path) -> None:
    """Remove leftover temporary files of the target."""
    for path in target.parent.glob(f"{target.name}.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                path.unlink()


@contextlib.contextmanager
def naming(target: Path) -> Iterator[None]:
    """Name the target in errors of the system that name no file, as of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, str(target)) from error


def make_folder(folder: Path) -> Path:
    """Create a folder of the cache if necessary."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            error.errno,
            "cannot create the cache folder; choose another by cache= or LINFOREST_CACHE",
            str(folder),
        ) from error
    return folder


def _files(folder: Path, subfolder: tuple[str, ...], name: str) -> list[Path]:
    """The files of this name in one subfolder, preferred formats first; case-sensitive everywhere."""
    for part in subfolder:
        if part not in _listing(folder):
            return []
        folder = folder / part
    present = _listing(folder)
    wanted = (name + suffix for suffix in PLACED_SUFFIXES)
    return [folder / file for file in wanted if file in present and (folder / file).is_file()]


def _listing(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def _is_of_another_group(path: Path, group: str) -> bool:
    """Whether a Matrix Market file declares another group in its comments."""
    declared = declared_name(path)
    return declared is not None and declared.split("/")[0] != group
