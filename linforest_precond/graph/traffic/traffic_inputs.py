"""Matrices, packets, files and sequences of these are read as pieces of traffic.

A piece is a tuple of sources, destinations and, unless all are 1, numbers of packets.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from linforest_precond.backends import Backend, backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import refuse_masked_or_ragged
from linforest_precond.graph.traffic.packet_checks import ADDRESSES
from linforest_precond.graph.traffic.packet_files import is_text, read_packets
from linforest_precond.graph.traffic.traffic_records import TrafficMatrix

Piece: TypeAlias = tuple[Any, ...]


def bounds(count: int, batches: int | None, array: Any) -> list[tuple[int, int]]:
    """The bounds of `batches` pieces of `count` entries; by default of what an array's backend takes."""
    size = -(-count // batches) if batches else backend_of(array).csgraph.traffic.AT_ONCE or count
    return [(begin, min(begin + size, count)) for begin in range(0, count, max(size, 1))]


def is_matrix(A: Any) -> bool:
    """Whether A is a sparse matrix, a dense array, or a list of lists of numbers."""
    rows = isinstance(A, list) and bool(A) and isinstance(A[0], list)
    return is_sparse(A) or rows or (hasattr(A, "ndim") and hasattr(A, "dtype"))


def is_sparse(A: Any) -> bool:
    """Whether A is a sparse matrix of SciPy or CuPy."""
    return scipy.sparse.issparse(A) or hasattr(A, "tocoo")


def pieces_of(A: Any, batches: int | None) -> Iterator[Piece]:
    """The pieces of A, at most `batches` of each matrix, list of packets or file in it."""
    if isinstance(A, TrafficMatrix):
        yield links_of(A)
    elif isinstance(A, str | os.PathLike):
        for found in read_packets(A):
            yield from pieces_of(found, None if is_text(A) else batches)
    elif isinstance(A, tuple):
        yield from _cut(_as_packets(A), batches)
    elif is_matrix(A):
        yield from _cut(triplets(A), batches)
    elif isinstance(A, Iterable):
        for each in A:
            yield from pieces_of(each, batches)
    else:
        raise TypeError(
            "A must be a matrix, a tuple (sources, destinations, packets), the path of a file, or an "
            f"iterable of these, got {type(A).__name__}"
        )


def triplets(A: Any) -> Piece:
    """Rows, columns and values of a matrix in any format; duplicates stay."""
    backend = backend_of(A)
    if not is_sparse(A):
        refuse_masked_or_ragged("A", A)
        dense = backend.xp.asarray(A)
        check_shape(dense)
        rows, columns = backend.xp.nonzero(dense)
        return rows, columns, dense[rows, columns]
    check_shape(A)
    if A.format in ("csr", "csc"):
        indptr, majors = compressed(A, backend), A.indices
        minors = backend.matrix.entries.rows_of(indptr, majors.size)
        rows, columns = (minors, majors) if A.format == "csr" else (majors, minors)
        values = A.data
    else:
        coordinates = A.tocoo()
        rows, columns, values = coordinates.row, coordinates.col, coordinates.data
    for name, found, size in (("row", rows, A.shape[0]), ("column", columns, A.shape[1])):
        if found.size and not 0 <= int(found.min()) <= int(found.max()) < size:  # stall: the range
            raise ValueError(f"the {name} indices of A must lie in [0, {size})")
    return rows, columns, values


def compressed(A: Any, backend: Backend) -> Array:
    """The pointers of a CSR or CSC matrix as int64, checked."""
    majors = A.shape[0] if A.format == "csr" else A.shape[1]
    indptr = backend.xp.array(A.indptr, np.int64)
    count = A.indices.size
    ascends = indptr.shape == (majors + 1,) and A.data.shape == A.indices.shape == (count,)
    # stall: one number
    if not ascends or not bool((indptr[0] == 0) & (indptr[-1] == count) & (indptr[1:] >= indptr[:-1]).all()):
        raise ValueError(
            f"A.indptr must have {majors + 1} numbers that rise from 0 to the number of stored entries, "
            "the length of A.indices and A.data"
        )
    return indptr


def check_shape(A: Any) -> None:
    """Raise an error unless A is two-dimensional, with rows and columns that are addresses."""
    refuse_masked_or_ragged("A.data", getattr(A, "data", None))
    if len(A.shape) != 2 or max(A.shape) > ADDRESSES:
        raise ValueError(f"A must have two dimensions of at most 2**32, got shape {tuple(A.shape)}")


def links_of(A: TrafficMatrix) -> Piece:
    """The source, the destination and the packets of every link."""
    rows = A.backend.matrix.entries.rows_of(A.indptr, A.nnz)
    return A.sources[rows], A.destinations[A.indices], A.packets


def _as_packets(A: tuple[Any, ...]) -> Piece:
    if len(A) not in (2, 3):
        raise ValueError(
            f"packets must be given as (sources, destinations) or (sources, destinations, packets), got a "
            f"tuple of {len(A)}; pass matrices and files as a list"
        )
    return tuple(each if hasattr(each, "ndim") or each is None else np.asarray(each) for each in A)


def _cut(piece: Piece, batches: int | None) -> Iterator[Piece]:
    """Equal parts of a piece; arrays on the GPU are one part by default."""
    arrays = [each for each in piece if each is not None]
    count = max((each.shape[0] if each.ndim else 0 for each in arrays), default=0)
    if len({each.shape for each in arrays}) > 1 or arrays[0].ndim != 1:
        yield piece  # arrays that do not match: the checks of packets name them
        return
    for begin, end in bounds(count, batches, arrays[0]):
        yield tuple(each if each is None else each[begin:end] for each in piece)
