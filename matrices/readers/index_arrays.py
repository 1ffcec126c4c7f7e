"""Sparse arrays from index arrays of files, with the bounds checks that SciPy's compiled code lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from linforest_precond.backends.annotations import Array


def from_compressed(format: str, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
    """A csr, csc or bsr array."""
    block = data.shape[1:] if format == "bsr" else (1, 1)
    if data.ndim != (3 if format == "bsr" else 1) or any(
        size < 1 or extent % size for size, extent in zip(block, shape)
    ):
        raise ValueError(f"data of shape {data.shape} do not fit to a {format} matrix of shape {shape}")
    major, minor = (extent // size for size, extent in zip(block, shape))
    if format == "csc":
        major, minor = minor, major
    _check_pointers(indptr, major, indices.size)
    _check_indices("indices", indices, minor, data.shape[0])
    return getattr(scipy.sparse, f"{format}_array")((data, indices, indptr), shape=shape)


def from_coordinates(data: Array, rows: Array, columns: Array, shape: tuple[int, int]) -> Any:
    """A coo array."""
    if data.ndim != 1:
        raise ValueError(f"data must have one dimension, got shape {data.shape}")
    _check_indices("row", rows, shape[0], data.size)
    _check_indices("col", columns, shape[1], data.size)
    return scipy.sparse.coo_array((data, (rows, columns)), shape=shape)


def from_diagonals(data: Array, offsets: Array, shape: tuple[int, int]) -> Any:
    """A dia array, without diagonals that lie outside."""
    _check_integers("offsets", offsets)
    if data.ndim != 2 or data.shape[0] != offsets.size:
        raise ValueError(f"data must have a row for each of {offsets.size} offsets, got shape {data.shape}")
    if np.unique(offsets).size < offsets.size:
        raise ValueError("offsets must be distinct")
    inside = (offsets > -min(shape[0], 2**63 - 1)) & (offsets < shape[1])
    return scipy.sparse.dia_array((data[inside], offsets[inside].astype(np.int64)), shape=shape)


MIRRORED: dict[str, Any] = {"symmetric": np.positive, "skew-symmetric": np.negative, "hermitian": np.conj}


def from_triangle(data: Array, rows: Array, columns: Array, symmetry: str, shape: tuple[int, int]) -> Any:
    """A coo array with both triangles of a matrix of which one is given, unless `symmetry` is "general"."""
    if symmetry != "general":
        off_diagonal = rows != columns
        check_diagonal(data[~off_diagonal], symmetry)
        data = np.concatenate((data, MIRRORED[symmetry](data[off_diagonal])))
        rows, columns = (
            np.concatenate((own, other[off_diagonal])) for own, other in ((rows, columns), (columns, rows))
        )
    return scipy.sparse.coo_array((data, (rows, columns)), shape=shape)


def check_square(symmetry: str, shape: tuple[int, int]) -> None:
    if symmetry != "general" and shape[0] != shape[1]:
        raise ValueError(f"a {symmetry} matrix must be square, got shape {shape}")


def check_diagonal(diagonal: Array, symmetry: str) -> None:
    """Raise if the diagonal of a Hermitian matrix is not real, or that of a skew-symmetric one not zero."""
    wrong = {"hermitian": np.imag(diagonal), "skew-symmetric": diagonal}.get(symmetry, diagonal[:0])
    if np.any(wrong):
        expected = "be real" if symmetry == "hermitian" else "be zero"
        raise ValueError(
            f"the diagonal of a {symmetry} matrix must {expected}, got {diagonal[wrong != 0][0]}; "
            "both triangles of another matrix are stored as general"
        )


def complex_from(real: Array, imaginary: Array) -> Array:
    """Complex numbers; real + 1j * imaginary would make NaN of infinities."""
    values = np.empty(real.size, dtype=np.complex128)
    values.real, values.imag = real, imaginary
    return values


def _check_pointers(indptr: Array, major: int, entries: int) -> None:
    _check_integers("indptr", indptr)
    if indptr.size != major + 1:
        raise ValueError(f"indptr must have {major + 1} entries, got {indptr.size}")
    if indptr[0] != 0 or indptr[-1] > entries or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"indptr must increase from 0 to at most the {entries} indices")


def _check_indices(name: str, indices: Array, extent: int, count: int) -> None:
    _check_integers(name, indices)
    if indices.size != count:
        raise ValueError(f"{name} must have as many entries as data, {count}, got {indices.size}")
    if indices.size and (indices.min() < 0 or indices.max() >= extent):
        raise ValueError(f"{name} must lie in 0 to {extent - 1}, got {indices.min()} to {indices.max()}")


def _check_integers(name: str, array: Array) -> None:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be integers in one dimension, got {array.dtype} of shape {array.shape}"
        )
