"""Load a matrix: by its name in the SuiteSparse collection, from a file, or from a generator."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.annotations import DType
from linforest_precond.backends.user_warnings import named_arguments

from .arrays import CsrArray, Device, array_modules, on_device, value_type
from .download import collection
from .download.fetch import server
from .download.into_cache import check_last_line, download
from .download.places import (
    MatrixNotAvailable,
    MatrixOffline,
    PathLike,
    UnknownMatrix,
    cache_folder,
    find_in_any_group,
    find_placed,
    is_downloaded,
    is_offline,
    search_folders,
    split_name,
)
from .readers.bounded_streams import open_regular
from .readers.files import matrix_suffix, read_matrix


@named_arguments
def load(
    name: str | os.PathLike[str],
    *,
    device: Device = None,
    dtype: npt.DTypeLike | None = None,
    cache: PathLike | None = None,
    offline: bool | None = None,
) -> CsrArray:
    """Load a matrix of the SuiteSparse collection, a file or a generated matrix.

    Parameters
    ----------
    name : str or path-like
        A matrix of the SuiteSparse collection, ``"ecology1"`` or ``"McRae/ecology1"``; a file .mtx, .mtx.gz,
        .mtx.bz2, .rb, .mat or .npz; or a generator and its size, ``"aniso2:300"``.
    device : {None, "cpu", "cuda"}, optional
        Where to create the matrix; None means the CPU.
    dtype : dtype, optional
        float32, float64, complex64 or complex128. None means float64, or complex128 for complex matrices.
    cache : path-like, optional
        The folder for downloads, stored as ``<group>/<name>.mtx``. None means the environment variable
        ``LINFOREST_CACHE``, else ``linforest_precond/matrices`` in ``XDG_CACHE_HOME`` (``~/.cache``).
    offline : bool, optional
        Whether to download nothing. None means the environment variable ``LINFOREST_OFFLINE`` (1: yes).

    Returns
    -------
    csr_array
        SciPy's, or cupyx's for ``device="cuda"`` (its ``csr_matrix`` where it has no ``csr_array``): both
        triangles of symmetric matrices, indices sorted, duplicates summed, explicit zeros as stored.

    Raises
    ------
    MatrixNotAvailable
        If no matrix or several matrices have this name, or it can be neither found nor downloaded.
    FileNotFoundError
        If ``name`` is the path of a file that does not exist, or is no regular file.
    ValueError
        If a file is damaged; the message names it.

    Notes
    -----
    Local files are searched in the folder ``LINFOREST_MATRICES``, which is never written to, and in the
    cache: ``<name>.mtx`` (.mtx.gz, .mtx.bz2, .rb, .mat, .npz) or the collection's ``<name>.tar.gz``, at the
    top or in a folder ``<group>`` or ``<name>``. ``LINFOREST_SUITESPARSE`` may be set to a mirror of the
    collection. A download is parsed and compared with the index before it is stored; a damaged file of an
    earlier version in the cache is removed and downloaded again. The collection's matrices are licensed CC-BY
    4.0 and should be cited: see `describe`.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> matrices.load("aniso2:100").shape
    (10000, 10000)

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "A.mtx")
    >>> text = "%%MatrixMarket matrix coordinate real symmetric\\n2 2 2\\n1 1 4\\n2 1 -1\\n"
    >>> _ = path.write_text(text)
    >>> matrices.load(path, dtype="float32").toarray()
    array([[ 4., -1.],
           [-1.,  0.]], dtype=float32)
    >>> folder.cleanup()

    With network access, ``matrices.load("ecology1")`` downloads the matrix once and caches it.
    """
    array_modules(device)  # raises for an unusable device before any work
    value_dtype = None if dtype is None else value_type(dtype)
    if is_generated(name):
        from .generators.by_name import generate

        return generate(str(name), device=device, dtype=value_dtype)
    A, path = _read(name, cache, offline)
    return on_device(_with_dtype(A, value_dtype, path), device)


def _read(
    name: str | os.PathLike[str], cache: PathLike | None, offline: bool | None
) -> tuple[CsrArray, Path]:
    """The matrix and its file; a damaged file of an earlier download is removed and downloaded again."""
    path = cast(Path, locate(name, cache=cache, offline=offline))
    if is_path(name) or not is_downloaded(path, cache):
        return read_matrix(path), path
    try:
        check_last_line(path)
        return read_matrix(path), path
    except ValueError as error:
        return _read_again(str(name), path, cache, offline, error)


def _read_again(
    name: str, path: Path, cache: PathLike | None, offline: bool | None, damage: ValueError
) -> tuple[CsrArray, Path]:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        raise damage from None
    try:
        fresh = cast(Path, locate(name, cache=cache, offline=offline))
        return read_matrix(fresh), fresh
    except MatrixNotAvailable as error:
        raise type(error)(f"{path} was damaged ({damage}) and is removed. {error}") from damage


def locate(
    name: str | os.PathLike[str],
    *,
    cache: PathLike | None = None,
    offline: bool | None = None,
    fetch: bool = True,
) -> Path | None:
    """The file of a matrix, downloaded if necessary; without ``fetch`` None if there is no local file."""
    if is_path(name):
        return _existing(name)
    group, name = split_name(str(name))
    placed = _placed(group, name, cache)
    if placed is not None or not fetch:
        return placed
    try:
        entry = collection.look_up(group, name, cache=cache, offline=is_offline(offline))
        group = entry.group
        if is_offline(offline):
            raise MatrixOffline(f"there is no local copy of {entry.full_name}, and downloads are disabled")
        return download(entry, cache)
    except UnknownMatrix as error:
        raise UnknownMatrix(f"{error}{_instead(name)}") from None
    except MatrixOffline as error:
        raise MatrixOffline(f"{error}. {_what_to_do(group, name, cache)}") from error


def is_path(name: str | os.PathLike[str]) -> bool:
    """Whether a name is a file: a path object, a known suffix, the beginning of a path, or it exists."""
    if isinstance(name, os.PathLike):
        return True
    if not isinstance(name, str):
        raise TypeError(f"name must be a string or a path, got {type(name).__name__}")
    if matrix_suffix(name) is not None or re.match(r"[~/\\]|\.{1,2}[/\\]", name) is not None:
        return True
    return bool(os.path.splitext(name)[1]) and os.path.isfile(name)


def is_generated(name: str | os.PathLike[str]) -> bool:
    """Whether a name is that of a generated matrix: it has a colon, unlike names of the collection."""
    if is_path(name) or ":" not in str(name):
        return False
    from .generators.by_name import is_generator

    return is_generator(str(name))


def _existing(name: str | os.PathLike[str]) -> Path:
    path = Path(name).expanduser()
    open_regular(path).close()
    return path


def _placed(group: str | None, name: str, cache: PathLike | None) -> Path | None:
    """The local file of a matrix; a missing group is looked up in a local index."""
    folders = search_folders(cache)
    found = find_placed(group, name, folders)
    if found is not None or group is not None:
        return found
    entry = collection.known(None, name, cache)
    if entry is None:
        return find_in_any_group(name, folders)
    return find_placed(entry.group, name, folders)


def _what_to_do(group: str | None, name: str, cache: PathLike | None) -> str:
    group, name = _in_catalogue(group, name)
    folder = cache_folder(cache) / (group or "")
    page = f"{server()}/MM/{group or '<group>'}/{name}.tar.gz"
    return (
        f"Download {page} elsewhere and put it, or the {name}.mtx in it, into {folder} or into a folder, and "
        f"set LINFOREST_MATRICES to that folder{_instead(name)}"
    )


def _in_catalogue(group: str | None, name: str) -> tuple[str | None, str]:
    """The group and the spelling of a matrix of the papers, where there is no index of the collection."""
    from .catalogue import find  # imported late because it is slow

    try:
        found = find(name)
    except LookupError:
        return group, name
    return (found.group, found.name) if group in (None, found.group) else (group, name)


def _instead(name: str) -> str:
    """The stand-in of a matrix, or the generator of this name, where there is one."""
    from .generators.by_name import names  # imported late because they are slow
    from .generators.standins import standins

    known = next((known for known in standins() if known.lower() == name.lower()), None)
    if known is not None:
        return f"; or take standin:{known}, a generated matrix like it"
    example = next((example for example in names() if example.partition(":")[0] == name.lower()), None)
    return "" if example is None else f"; or take {example}, a generated matrix"


def _with_dtype(A: CsrArray, dtype: DType | None, path: Path) -> CsrArray:
    if dtype is None or dtype == A.dtype:
        return A
    if A.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"{path} has complex entries, got dtype={dtype}; complex64 or complex128 holds them")
    with np.errstate(over="ignore"):
        converted = A.astype(dtype)
    if np.isinf(converted.data).any() and not np.isinf(A.data).any():
        raise ValueError(f"{path} has entries too large for dtype={dtype}; a wider one holds them")
    return converted
