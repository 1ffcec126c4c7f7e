"""Load a matrix: by its name in the SuiteSparse collection, from a file, or from a generator."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from . import collection
from .arrays import array_modules, on_device, value_type
from .download import download
from .errors import MatrixOffline
from .files import matrix_suffix, read_matrix
from .places import cache_folder, find_in_any_group, find_placed, is_offline, search_folders, split_name


def load(name, *, device=None, dtype=None, cache=None, offline=None):
    """
    Load a matrix of the SuiteSparse collection, a file or a generated matrix.

    Parameters
    ----------
    name : str or path-like
        A matrix of the SuiteSparse collection, ``"ecology1"`` or ``"McRae/ecology1"``; a file that ends with
        .mtx, .mtx.gz, .mtx.bz2, .rb, .mat or .npz; or a generator and its size, ``"aniso2:300"``.
    device : {None, "cpu", "cuda"}, optional
        Where the matrix shall live; None means the CPU.
    dtype : dtype, optional
        float32, float64, complex64 or complex128. None takes float64, or complex128 for complex matrices.
    cache : path-like, optional
        The folder that downloads are stored in, as ``<group>/<name>.mtx``. None takes the environment's
        ``LINFOREST_CACHE``, else ``linforest_precond/matrices`` in ``XDG_CACHE_HOME`` (``~/.cache``).
    offline : bool, optional
        Whether to leave the network alone. None asks the environment: ``LINFOREST_OFFLINE=1`` means yes.

    Returns
    -------
    csr_array
        SciPy's, or cupyx's for ``device="cuda"`` (its ``csr_matrix`` where it has no ``csr_array``): both
        triangles of symmetric matrices, indices sorted, duplicates summed, explicit zeros as stored.

    Raises
    ------
    MatrixNotAvailable
        Where no matrix has this name, or several have it, or it can neither be found nor downloaded.
    FileNotFoundError
        Where ``name`` is the path of a file that does not exist.
    ValueError
        Where a file is damaged; the message names it.

    Notes
    -----
    Files that were placed by hand are found in the folder that ``LINFOREST_MATRICES`` names, which is never
    written to, and in the cache: ``<name>.mtx`` (.mtx.gz, .mtx.bz2, .rb, .mat, .npz) or the collection's
    ``<name>.tar.gz``, at the top or in a folder ``<group>`` or ``<name>``. ``LINFOREST_SUITESPARSE`` names a
    mirror of the collection. The collection's matrices are licensed CC-BY 4.0 and ask to be cited: see
    `describe`.

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

    With a network, ``matrices.load("ecology1")`` downloads the matrix once and reads it from then on.
    """
    array_modules(device)  # complains before any work is done
    dtype = None if dtype is None else value_type(dtype)
    if is_generated(name):
        from .generators import generate

        return generate(name, device=device, dtype=dtype)
    path = locate(name, cache=cache, offline=offline)
    return on_device(_with_dtype(read_matrix(path), dtype, path), device)


def locate(name, *, cache=None, offline=None, fetch=True) -> Path | None:
    """The file of a matrix, downloaded if need be; None instead of a download without ``fetch``."""
    if is_path(name):
        return _existing(name)
    group, name = split_name(name)
    placed = _placed(group, name, cache)
    if placed is not None or not fetch:
        return placed
    try:
        entry = collection.look_up(group, name, cache=cache, offline=is_offline(offline))
        group = entry.group
        if is_offline(offline):
            raise MatrixOffline(f"{entry.full_name} is not at hand and the network is switched off")
        return download(entry, cache)
    except MatrixOffline as error:
        raise MatrixOffline(f"{error}. {_what_to_do(group, name, cache)}") from error


def is_path(name) -> bool:
    """Whether a name means a file: by its type, its ending, or the look of a path."""
    if isinstance(name, os.PathLike):
        return True
    if not isinstance(name, str):
        raise TypeError(f"name must be a string or a path, got {type(name).__name__}")
    return matrix_suffix(name) is not None or re.match(r"[~/\\]|\.{1,2}[/\\]", name) is not None


def is_generated(name) -> bool:
    """Whether a name means a generated matrix: those have a colon, which no name of the collection has."""
    if is_path(name) or ":" not in name:
        return False
    from .generators import is_generator

    return is_generator(name)


def _existing(path):
    path = Path(path).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist" if not path.exists() else f"{path} is not a file")
    return path


def _placed(group, name, cache):
    """The matrix's file among those at hand; a name without a group is completed by an index at hand."""
    folders = search_folders(cache)
    found = find_placed(group, name, folders)
    if found is not None or group is not None:
        return found
    entry = collection.known(None, name, cache)
    if entry is None:
        return find_in_any_group(name, folders)
    return find_placed(entry.group, name, folders)


def _what_to_do(group, name, cache):
    folder = cache_folder(cache) / (group or "")
    page = f"{collection.server()}/MM/{group or '<group>'}/{name}.tar.gz"
    return (
        f"Download {page} elsewhere and put it, or the {name}.mtx in it, into {folder} or into a folder that "
        "LINFOREST_MATRICES names"
    )


def _with_dtype(A, dtype, path):
    if dtype is None or dtype == A.dtype:
        return A
    if A.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"{path} has complex entries, got dtype={dtype}; complex64 or complex128 holds them")
    with np.errstate(over="ignore"):
        converted = A.astype(dtype)
    if np.isinf(converted.data).any() and not np.isinf(A.data).any():
        raise ValueError(f"{path} has entries too large for dtype={dtype}; a wider one holds them")
    return converted
