"""Preconditioners as .npz files: host arrays and a JSON header."""

from __future__ import annotations

import contextlib
import json
import os
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from linforest_precond.precond.operators import Preconditioner, packed, restore

FORMAT = "linforest_precond preconditioner"
VERSION = 1
HEADER = "header"


def save_preconditioner(M: Preconditioner, path: str | os.PathLike[str]) -> None:
    """Write a preconditioner to a file.

    Parameters
    ----------
    M : Preconditioner
        From any of the functions that make one.
    path : str or path-like
        The file, under exactly this name (no suffix is added); it appears only when complete.

    See Also
    --------
    load_preconditioner

    Examples
    --------
    >>> import os, tempfile
    >>> import linforest_precond as lf
    >>> M = lf.jacobi(lf.matrices.poisson((4, 4)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "jacobi.npz")
    ...     lf.save_preconditioner(M, path)
    ...     lf.load_preconditioner(path).shape
    (16, 16)
    """
    if not isinstance(M, Preconditioner):
        raise TypeError(f"M must be a preconditioner of linforest_precond, got {type(M).__name__}")
    header, arrays = packed(M)
    header = {"format": FORMAT, "version": VERSION, "kind": M.kind, **header}
    path = os.fspath(path)
    with _complete_or_absent(path) as file:
        members: dict[str, Any] = {HEADER: np.array(json.dumps(header)), **arrays}
        np.savez(file, **members)


def load_preconditioner(path: str | os.PathLike[str]) -> Preconditioner:
    """Read a preconditioner that `save_preconditioner` wrote.

    One that was on a GPU is restored on the GPU, or on the CPU with a RuntimeWarning where none is usable.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Preconditioner

    Raises
    ------
    ValueError
        For a file that is no such preconditioner, is truncated, or has a later format version.

    See Also
    --------
    save_preconditioner
    """
    path = os.fspath(path)
    try:
        # Opened here, since np.load leaves the file open where the archive is broken.
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop(HEADER)))
        known = header["format"] == FORMAT
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a complete preconditioner file ({error})") from error
    if not known:
        raise ValueError(f"{path} is not a preconditioner file")
    if header["version"] != VERSION:
        raise ValueError(
            f"{path} has format version {header['version']}, and this linforest_precond reads {VERSION}"
        )
    return restore(header["kind"], (header, arrays))


@contextlib.contextmanager
def _complete_or_absent(path: str) -> Iterator[BinaryIO]:
    """A file to write to, which is renamed to `path` when complete (atomic replacement)."""
    unfinished = f"{path}.{os.getpid()}.part"
    try:
        with open(unfinished, "wb") as file:
            yield file
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise
