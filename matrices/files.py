"""Read a matrix from a file, whatever its format."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import os
import warnings
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse

from . import archive, matrix_market, rutherford_boeing

# What stands in the way of a file is the system's to say, and so is a lack of memory.
NOT_THE_CONTENT = (FileNotFoundError, PermissionError, IsADirectoryError, MemoryError)


def matrix_suffix(path) -> str | None:
    """The ending that says how to read a file, or None."""
    name = os.path.basename(os.fspath(path)).lower()
    fitting = [suffix for suffix in READERS if name.endswith(suffix)]
    return max(fitting, key=len, default=None)


def read_matrix(path):
    """
    Read a sparse matrix; the file's ending says in which format.

    Parameters
    ----------
    path : str or path-like
        Ends with .mtx (Matrix Market), .rb, .hb, .rua, .rsa ... (Rutherford- and Harwell-Boeing), each as it
        is or as .gz or .bz2, .mat (MATLAB up to version 7), .npz (`scipy.sparse.save_npz`) or .tar.gz (an
        archive of the SuiteSparse collection).

    Returns
    -------
    csr_array
        float64 or complex128, both triangles of symmetric matrices, indices sorted, duplicates summed,
        explicit zeros as stored.

    Raises
    ------
    ValueError
        Where the file is cut off, damaged or of an unknown format; the message names the file.

    Examples
    --------
    >>> import os, tempfile
    >>> from linforest_precond.matrices.files import read_matrix
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "A.mtx")
    ...     with open(path, "w") as file:
    ...         _ = file.write("%%MatrixMarket matrix coordinate pattern symmetric\\n3 3 2\\n2 1\\n3 3\\n")
    ...     A = read_matrix(path)
    >>> A.toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 1.]])
    """
    path = Path(path)
    suffix = matrix_suffix(path)
    if suffix is None:
        raise ValueError(f"{path} must end with one of {', '.join(READERS)}")
    with _naming(path):
        return _canonical(READERS[suffix](path))


def read_header(path) -> matrix_market.Header | None:
    """The header of a Matrix Market file or archive, None for other formats."""
    suffix = matrix_suffix(path) or ""
    if suffix == ".tar.gz":
        opened = archive.open_matrix(path, _name_in_archive(path), whole=False)
    elif suffix.startswith(".mtx"):
        opened = _open(path)
    else:
        return None
    with _naming(path), opened as stream:
        return matrix_market.read_header(stream)


def declared_name(path) -> str | None:
    """The group and name a Matrix Market file gives itself, None where it gives none or is not readable."""
    try:
        header = read_header(path)
    except (OSError, ValueError):
        return None
    return header and header.comment("name")


@contextlib.contextmanager
def _naming(path):
    """Whatever is wrong with a file's content, the error names it; readers raise errors of all kinds."""
    try:
        yield
    except NOT_THE_CONTENT:
        raise
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read: {error or type(error).__name__}; if it is cut off or damaged, delete it "
            "and fetch it again"
        ) from error


def _read_matrix_market(path):
    with _open(path) as stream:
        matrix_market.read_header(stream)
    _warn_of_an_open_end(path)
    return matrix_market.read_entries(path)


def _warn_of_an_open_end(path):
    """Compressed files carry a checksum; in plain text a cut within the last number goes unseen."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        if path.suffix != ".mtx" or not size:
            return
        file.seek(size - 1)
        if file.read() not in (b"\n", b"\r"):
            warnings.warn(f"{path} does not end with a line break; its last entry may be cut", stacklevel=5)


def _read_rutherford_boeing(path):
    with _open(path) as stream:
        return rutherford_boeing.read_rutherford_boeing(stream.read())


def _read_archive(path):
    with archive.open_matrix(path, _name_in_archive(path)) as stream:
        return matrix_market.read_entries(stream)


def _read_npz(path):
    # SciPy loads with allow_pickle=False.
    return _checked(scipy.sparse.load_npz(path))


def _read_mat(path):
    with open(path, "rb") as file:
        if file.read(10) == b"MATLAB 7.3":
            raise ValueError("MATLAB 7.3 files are HDF5; save with -v7 instead")
    variables = scipy.io.loadmat(path)
    if "Problem" in variables and "A" in (variables["Problem"].dtype.names or ()):
        return _checked(variables["Problem"]["A"][0, 0])
    matrices = {name: value for name, value in variables.items() if scipy.sparse.issparse(value)}
    if len(matrices) != 1:
        found = ", ".join(matrices) or "none"
        raise ValueError(f"expected a Problem with a field A, or one sparse variable, found {found}")
    return _checked(next(iter(matrices.values())))


def _checked(A):
    """A's indices lie within its shape: conversions trust them."""
    if A.format in ("csr", "csc", "bsr"):
        A.check_format(full_check=True)
    return A


def _canonical(A):
    """A csr_array of float64 or complex128, sorted, without duplicates."""
    A = scipy.sparse.csr_array(A)
    if A.dtype.kind not in "biufc":
        raise ValueError(f"the entries must be numbers, got {A.dtype}")
    A = A.astype(np.complex128 if A.dtype.kind == "c" else np.float64, copy=False)
    A.sum_duplicates()
    return A


def _open(path):
    """A file's bytes, uncompressed."""
    openers = {".gz": gzip.open, ".bz2": bz2.open}
    return openers.get(Path(path).suffix.lower(), open)(path, "rb")


def _name_in_archive(path):
    return Path(path).name[: -len(".tar.gz")]


def _with_compressed(suffixes, reader):
    return {suffix + packed: reader for suffix in suffixes for packed in ("", ".gz", ".bz2")}


BOEING_SUFFIXES = (".rb", ".hb", ".rua", ".rsa", ".rza", ".rra", ".pua", ".psa", ".cua", ".csa", ".cha")
READERS = {
    **_with_compressed([".mtx"], _read_matrix_market),
    ".npz": _read_npz,
    ".mat": _read_mat,
    ".tar.gz": _read_archive,
    **_with_compressed(BOEING_SUFFIXES, _read_rutherford_boeing),
}
