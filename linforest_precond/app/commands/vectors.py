"""Right-hand sides and solutions: generated, or read from and written to files."""

from __future__ import annotations

import io
import math
import os
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array, SparseMatrix
from linforest_precond.matrices.readers.atomic_files import check_writable, replaced_by, replacing
from linforest_precond.matrices.readers.bounded_streams import (
    MOST_ROWS,
    ROWS_PER_ENTRY,
    open_regular,
    size_of,
    text_lines,
)
from linforest_precond.matrices.readers.npz_files import read_array

# The longest line of text: a million numbers with all digits.
LONGEST_LINE = 2**25
SUFFIXES = (".npy", ".mtx", ".txt")


def sine(n: int) -> Array:
    """The solution of the paper's systems: sin(16 π i / n)."""
    return np.sin(16 * np.pi * np.arange(n) / max(n, 1))


def right_hand_side(text: str, A: SparseMatrix, seed: int) -> tuple[Array, Array | None]:
    """The right-hand side for the option --rhs, and the solution where it is known."""
    n = A.shape[0]
    if text == "ones":
        return np.ones(n), None
    if text == "random":
        return np.random.default_rng(seed).standard_normal(n), None
    if text == "sine":
        return A @ sine(n), sine(n)
    return read_vector(text, "--rhs", n), None


def read_vector(path: str, option: str, rows: int) -> Array:
    """One vector, or several as columns, from a file of NumPy, Matrix Market or plain text."""
    suffix = _known_suffix(Path(path.removesuffix(".gz")), option)
    try:
        vectors = np.asarray(_READERS[suffix](path, rows))
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{option}: {error}") from error
    except (ValueError, OSError, EOFError, MemoryError) as error:
        raise ValueError(f"{option}: {path} is not a vector in {suffix} format: {error}") from error
    if vectors.ndim not in (1, 2) or len(vectors) != rows:
        raise ValueError(
            f"{option}: {path} must have {rows:,} rows, as A has, got an array of shape {vectors.shape}"
        )
    if vectors.dtype.kind not in "biufc":
        raise ValueError(f"{option}: {path} must hold numbers, got {vectors.dtype}")
    if vectors.dtype.kind in "fc" and not np.isfinite(vectors).all():
        row, *_ = np.argwhere(~np.isfinite(vectors))[0]
        raise ValueError(
            f"{option}: {path} must hold finite numbers in the range of {vectors.dtype}, got "
            f"{vectors[row].tolist()} in row {row + 1}"
        )
    return vectors[:, 0] if vectors.ndim == 2 and vectors.shape[1] == 1 else vectors


def write_vector(path: Path, x: Array) -> None:
    """Write the file atomically."""
    with replacing(path) as unfinished:
        _WRITERS[path.suffix](unfinished, x)


def check_output(
    path: Path, suffixes: tuple[str, ...], option: str, force: bool, inputs: Iterable[str | None]
) -> Path:
    """The path, if it can be written to later and is none of the inputs; raises otherwise."""
    if suffixes and path.suffix not in suffixes:
        raise ValueError(f"{option} must end with one of {', '.join(suffixes)}, got {path}")
    if not path.parent.is_dir():
        raise ValueError(f"{option}: there is no folder {path.parent}")
    try:
        folder = replaced_by(path).parent
    except OSError as error:
        raise ValueError(f"{option}: {path}: {error.strerror}; {option} FILE takes another name") from error
    if path.exists() and not force:
        raise ValueError(f"{option}: {path} exists; --force overwrites it, {option} FILE takes another name")
    if path.exists() and any(given and os.path.exists(given) and path.samefile(given) for given in inputs):
        raise ValueError(
            f"{option}: {path} is read by this command and is not replaced; {option} FILE takes another name"
        )
    try:
        check_writable(folder)
    except OSError as error:
        raise ValueError(f"{option}: {path} cannot be written: {error}") from error
    return path


def _known_suffix(path: Path, option: str) -> str:
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{option}: a file must end with one of {', '.join(SUFFIXES)}, got {path}")
    return path.suffix


def _read_npy(path: str, _: int) -> Array:
    with open_regular(path) as file:
        return read_array(file, size_of(file))


def _read_text(path: str, rows: int) -> Array:
    """Numbers in the columns of lines, as NumPy's `loadtxt` reads them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*contained no data")  # comments, and a shape that is refused
        vectors = np.loadtxt(text_lines(path, LONGEST_LINE), ndmin=1, max_rows=rows + 1)
    if len(vectors) > rows:
        raise ValueError(f"it must have {rows:,} rows, and has more")
    return vectors


def _read_matrix_market(path: str, _: int) -> Any:
    from linforest_precond.matrices.readers.matrix_market import (
        read_entries,  # imported late because it is slow
    )

    vectors = read_entries(path)
    if not hasattr(vectors, "toarray"):
        return vectors
    if math.prod(vectors.shape) > max(MOST_ROWS, ROWS_PER_ENTRY * vectors.nnz):
        raise ValueError(f"it has the shape {vectors.shape}, and stores {vectors.nnz} entries")
    return vectors.toarray()


def _write_matrix_market(path: Path, x: Array) -> None:
    import scipy.io

    text = io.BytesIO()  # given a path, SciPy's writer reports no error of a full disk
    scipy.io.mmwrite(text, x.reshape(x.shape[0], -1), precision=17)
    path.write_bytes(text.getvalue())


_READERS: dict[str, Callable[[str, int], Any]] = {
    ".npy": _read_npy,
    ".mtx": _read_matrix_market,
    ".txt": _read_text,
}
_WRITERS: dict[str, Callable[[Path, Array], None]] = {
    ".npy": np.save,
    ".mtx": _write_matrix_market,
    ".txt": partial(np.savetxt, fmt="%.17g"),
}
