"""Preconditioners are saved as .npz files with host arrays and a JSON header."""

from __future__ import annotations

import hashlib
import json
import os
import reprlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_path
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.matrices.readers.atomic_files import replacing
from linforest_precond.matrices.readers.bounded_streams import open_regular, size_of
from linforest_precond.matrices.readers.npz_files import NpzArrays
from linforest_precond.precond.preconditioner import Preconditioner, packed, restore
from linforest_precond.precond.storage.schema import PreconditionerFileError

FORMAT = "linforest_precond preconditioner"
VERSION = 1
# Members of the archive besides the arrays of the preconditioner.
HEADER, DIGEST = "header", "digest"
# The digest distinguishes a damaged file from contradictory contents.
ALGORITHM = "sha256"
# The arrays of a file may have at most MOST_EXPANSION times its length, or ALWAYS_ALLOWED bytes.
MOST_EXPANSION = 100
ALWAYS_ALLOWED = 2**20


@named_arguments
def save_preconditioner(M: Any, path: str | os.PathLike[str]) -> None:
    """Write a preconditioner to a file.

    Parameters
    ----------
    M : Preconditioner, Hierarchy or Solver
        From any of the functions that make one; of a hierarchy the cycle that it applies, of a
        `linforest_precond.Solver` what it chose.
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
    if hasattr(M, "solve") and hasattr(M, "M"):
        M = M.M
        if M is None:
            raise ValueError("M must be a preconditioner, got a Solver that has not solved anything yet")
    M = M.aspreconditioner() if hasattr(M, "aspreconditioner") else M
    if not isinstance(M, Preconditioner):
        raise TypeError(f"M must be a preconditioner of linforest_precond, got {type(M).__name__}")
    header, arrays = packed(M)
    text = json.dumps({"format": FORMAT, "version": VERSION, "kind": M.kind, "digest": ALGORITHM, **header})
    with replacing(Path(as_path("path", path))) as unfinished, open(unfinished, "wb") as file:
        members: dict[str, Any] = {HEADER: np.array(text), **arrays, DIGEST: np.array(_digest(text, arrays))}
        np.savez(file, **members)


@named_arguments
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
    PreconditionerFileError
        A ValueError for a file that is no such preconditioner, is damaged or cut off, has a later format
        version, or whose contents contradict each other. It names the file and the field.
    FileNotFoundError
        If there is no such file, or not a regular one.

    See Also
    --------
    save_preconditioner
    """
    path = as_path("path", path)
    with open_regular(path) as file, _named_errors(path, "the archive"):
        arrays = _read_arrays(file)
    with _named_errors(path, HEADER):
        text = str(arrays.pop(HEADER, "{}"))
        header = {**json.loads(text)}
    _check_format(header, path)
    digest = header.pop("digest", None), str(arrays.pop(DIGEST, ""))
    # Older files have no digest.
    if digest != (None, "") and digest != (ALGORITHM, _digest(text, arrays)):
        raise PreconditionerFileError(
            f"{path} is damaged: its digest must be the SHA-256 of header and arrays, and is not"
        )
    return restore(header.pop("kind", None), (header, arrays), path)


@contextmanager
def _named_errors(source: str, what: str) -> Iterator[None]:
    """Turn any exception of a reader into a `PreconditionerFileError` that names the file."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise PreconditionerFileError(
            f"{source} is not a complete preconditioner file: {what} cannot be read ({error})"
        ) from error


def _read_arrays(file: BinaryIO) -> dict[str, Array]:
    """All arrays by name; the length of the file bounds the memory, before any of them is allocated."""
    with zipfile.ZipFile(file) as archive:
        members, length = archive.infolist(), size_of(file)
        total = sum(member.file_size for member in members)
        if total > max(ALWAYS_ALLOWED, MOST_EXPANSION * length):
            raise ValueError(f"it promises {total:,} bytes in a file of {length:,}")
        arrays = NpzArrays(archive, length)
        if len(arrays.names) != len(members):
            raise ValueError("its members must be arrays, no two of the same name")
        return {name: arrays[name] for name in arrays.names}


def _check_format(header: dict[str, Any], path: str) -> None:
    """Take the keys of the format out of the header."""
    if header.pop("format", None) != FORMAT:
        raise PreconditionerFileError(f"{path} is not a preconditioner file")
    version = header.pop("version", None)
    if version != VERSION:
        raise PreconditionerFileError(
            f"{path} has format version {reprlib.repr(version)}, and this linforest_precond reads {VERSION}"
        )


def _digest(text: str, arrays: dict[str, Array]) -> str:
    """SHA-256 of the header, then name, type, shape and bytes of each array, sorted by name."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
