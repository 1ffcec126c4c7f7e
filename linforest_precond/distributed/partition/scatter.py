"""Scatter a matrix from rank 0, or from copies on all ranks."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import device_name
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.distributed.partition import host
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.local_rows import checked_rows
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.distributed.partition.mpi import communicator_of
from linforest_precond.distributed.partition.owners import send_to_owners
from linforest_precond.matrix.rectangles import RectangularCSR

rows_of = host.matrix.entries.rows_of


@named_arguments
def scatter(A: Any, comm: Any = None, offsets: Any = None) -> Matrix:
    """Partition a matrix that rank 0, or every rank, holds as a whole.

    For tests and small matrices: an application makes each rank's rows where they belong, see `Matrix`.

    Parameters
    ----------
    A : sparse matrix of SciPy or CuPy, or None
        The whole matrix on rank 0, which sends the rows of the others; they pass None. Or the same on all
        ranks, each of which takes its rows. Rows of a matrix of CuPy are copied to each rank's current
        device.
    comm : communicator, optional
        Of mpi4py, petsc4py or `simulate`; all ranks by default.
    offsets : (size + 1,) array of int, optional
        Rank r gets rows ``offsets[r]:offsets[r + 1]``; equal shares by default.

    Returns
    -------
    Matrix
        The partitioned matrix.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.distributed import scatter, simulate
    >>> A = lf.matrices.poisson((10, 10))
    >>> simulate(3, lambda comm: scatter(A, comm).rows.shape)
    [(33, 43), (33, 53), (34, 44)]
    """
    comm = communicator_of(comm)
    with comm.checking():
        whole = None if A is None else checked_rows(A)
        if comm.rank == 0 and whole is None:
            raise ValueError("A must be the matrix on rank 0, got None")
    with comm.together():
        described = None if whole is None else (whole.width, whole.data.dtype, device_name(A))
        all_described = comm.allgather(described)
        n, dtype, device = all_described[0]
        offsets = checked_offsets(comm, n, offsets)
        if None in all_described:
            own = received_rows(comm, whole if comm.rank == 0 else None, n, dtype, offsets)
        else:
            assert whole is not None
            comm.same("A, by a digest of its entries,", digest_of(whole))
            indptr = whole.indptr[offsets[comm.rank] : offsets[comm.rank + 1] + 1]
            entries = slice(indptr[0], indptr[-1])
            own = RectangularCSR(indptr - indptr[0], whole.indices[entries], whole.data[entries], n)
        return Matrix.of_checked(own, comm, device, offsets)


def equal_shares(n: int, size: int) -> Array:
    """Offsets that give each rank the same number of rows, up to one."""
    return np.arange(size + 1, dtype=np.int64) * n // size


def digest_of(rows: RectangularCSR) -> str:
    """A hash of the pattern and the values."""
    found = hashlib.blake2b(digest_size=8)
    for array in (rows.indptr, rows.indices, rows.data):
        found.update(array.data)
    return found.hexdigest()


def checked_offsets(comm: Communicator, n: int, offsets: Any) -> Array:
    """The offsets of an argument, the same on all ranks, or equal shares."""
    with comm.checking():
        found = equal_shares(n, comm.size) if offsets is None else np.asarray(offsets)
        if found.shape != (comm.size + 1,) or found.dtype.kind not in "iu":
            raise ValueError(f"offsets must be {comm.size + 1} integers, got {offsets!r}")
        if found[0] != 0 or found[-1] != n or (np.diff(found) < 0).any():
            raise ValueError(f"offsets must rise from 0 to {n}, got {found.tolist()}")
    comm.same("offsets", found.tolist())
    return found.astype(np.int64)


def received_rows(
    comm: Communicator, whole: RectangularCSR | None, n: int, dtype: Any, offsets: Array
) -> RectangularCSR:
    """This rank's rows, which rank 0 sends."""
    entries = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, dtype)
    if whole is not None:
        entries = rows_of(whole.indptr, whole.indices.size), whole.indices, whole.data
    rows, columns, data = send_to_owners(comm, offsets, *entries)
    indptr = np.searchsorted(rows, np.arange(offsets[comm.rank], offsets[comm.rank + 1] + 1))
    return RectangularCSR(indptr, columns, data, n)
