"""Read a matrix from a file in any of the supported formats."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import scipy.sparse

from ..arrays import CsrArray
from . import archive, matrix_market, rutherford_boeing
from .bounded_streams import Bounded, check_rows, open_bounded
from .mat_files import read_mat
from .npz_files import read_npz

Reader: TypeAlias = Callable[[Path], Any]

# Errors that do not come from the file's content and are passed on unchanged.
NOT_THE_CONTENT = (FileNotFoundError, PermissionError, IsADirectoryError)


def matrix_suffix(path: str | os.PathLike[str]) -> str | None:
    """The suffix that determines the format of a file, or None."""
    name = os.path.basename(os.fspath(path)).lower()
    fitting = [suffix for suffix in READERS if name.endswith(suffix)]
    return max(fitting, key=len, default=None)


def read_matrix(path: str | os.PathLike[str]) -> CsrArray:
    """Read a sparse matrix; the file's suffix determines the format.

    Parameters
    ----------
    path : str or path-like
        .mtx (Matrix Market), .rb, .hb, .rua, .rsa ... (Rutherford- and Harwell-Boeing), each plain or
        compressed as .gz or .bz2, .mat (MATLAB up to version 7), .npz (`scipy.sparse.save_npz`) or .tar.gz
        (an archive of the SuiteSparse collection).

    Returns
    -------
    csr_array
        float64 or complex128, both triangles of symmetric matrices, indices sorted, duplicates summed,
        explicit zeros as stored.

    Raises
    ------
    ValueError
        If the file is truncated, damaged or of an unknown format; the message names the file.

    Notes
    -----
    The contents are validated, and sizes are compared with the file's length before anything
    is allocated for them. Numbers of text files are correctly rounded; Fortran's exponents (``1.5D+03``,
    ``1.5-100``) are read, and numbers beyond the range of float64 are refused. So are texts that expand more
    than 256 times when they are decompressed (and to more than 64 MiB), and matrices of more than 2**26 rows
    with less than an entry for every 16 rows.
    """
    path = Path(path)
    suffix = matrix_suffix(path)
    if suffix is None:
        plain = ", ".join(name for name in READERS if name.count(".") == 1 or ".tar" in name)
        raise ValueError(f"{path} must end with one of {plain}; text also with .gz or .bz2")
    with naming(path):
        return _canonical(READERS[suffix](path))


def header_of_file(path: str | os.PathLike[str]) -> matrix_market.Header | None:
    """The header of a Matrix Market file or archive, None for other formats."""
    suffix = matrix_suffix(path) or ""
    if suffix == ".tar.gz":
        opened: AbstractContextManager[Bounded | IO[bytes]] = archive.open_matrix(
            path, _name_in_archive(path), whole=False
        )
    elif suffix.startswith(".mtx"):
        opened = open_bounded(path)
    else:
        return None
    with naming(path), opened as stream:
        return matrix_market.read_header(stream)


def declared_name(path: Path) -> str | None:
    """The group and name in a Matrix Market file's comments, None where there is none."""
    try:
        header = header_of_file(path)
    except (OSError, ValueError):
        return None
    return None if header is None else header.comment("name")


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn all errors about a file's content into a ValueError that names the file."""
    try:
        yield
    except NOT_THE_CONTENT:
        raise
    except MemoryError as error:
        raise MemoryError(f"{path} cannot be read: there is not enough memory for its matrix") from error
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read: {str(error) or type(error).__name__}; if it is truncated or damaged, "
            "delete it and download it again"
        ) from error


def _read_rutherford_boeing(path: Path) -> Any:
    with open_bounded(path) as stream:
        return rutherford_boeing.read_rutherford_boeing(stream)


def _read_archive(path: Path) -> Any:
    with archive.open_matrix(path, _name_in_archive(path)) as stream:
        return matrix_market.read_entries(stream, name=str(path))


def _canonical(A: Any) -> CsrArray:
    """A csr_array of float64 or complex128, sorted, without duplicates."""
    if getattr(A, "format", "csr") != "csr":
        check_rows(A.shape[0], A.nnz)
    if A.dtype.kind not in "biufc":
        raise ValueError(f"the entries must be numbers, got {A.dtype}")
    if A.dtype.kind in "iu":
        A = A.astype(np.float64)  # sums of duplicates would wrap around
    A = scipy.sparse.csr_array(A)
    A = A.astype(np.complex128 if A.dtype.kind == "c" else np.float64, copy=False)
    A.sum_duplicates()
    return A


def _name_in_archive(path: str | os.PathLike[str]) -> str:
    return Path(path).name[: -len(".tar.gz")]


def _with_compressed(suffixes: Sequence[str], reader: Reader) -> dict[str, Reader]:
    return {suffix + packed: reader for suffix in suffixes for packed in ("", ".gz", ".bz2")}


BOEING_SUFFIXES = (".rb", ".hb", ".rua", ".rsa", ".rza", ".rra", ".pua", ".psa", ".cua", ".csa", ".cha")
READERS: dict[str, Reader] = {
    **_with_compressed([".mtx"], matrix_market.read_entries),
    ".npz": read_npz,
    ".mat": read_mat,
    ".tar.gz": _read_archive,
    **_with_compressed(BOEING_SUFFIXES, _read_rutherford_boeing),
}
