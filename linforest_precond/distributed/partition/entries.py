"""Entries of a partitioned matrix: assembly from any ranks, and mirror images on other ranks."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.distributed.partition.owners import owners_of, send_to


def entry_rows(A: Matrix) -> Array:
    """The local row of each stored entry."""
    return np.repeat(np.arange(A.n_local), np.diff(A.rows.indptr))


def matrix_of_entries(comm: Communicator, offsets: Array, rows: Array, columns: Array, data: Array) -> Matrix:
    """The square matrix of entries with global rows and columns, of which each rank has some.

    Rank r gets the rows ``offsets[r]:offsets[r + 1]``. Duplicates are summed in the order of the ranks that
    had them, then left to right. All ranks call it together.
    """
    rows, columns, data = send_to(comm, owners_of(offsets, rows), rows, columns, data)
    rows -= offsets[comm.rank]
    count = int(offsets[comm.rank + 1] - offsets[comm.rank])
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
    parts = data[order], columns[order], indptr
    return Matrix(scipy.sparse.csr_array(parts, shape=(count, int(offsets[-1]))), comm)


def is_hermitian(A: Matrix) -> bool:
    """Whether each entry is the conjugate of its mirror image; a zero may lack it."""
    slots, values = conjugate_mirrors(A, np.ones(A.rows.nnz, bool))
    expected = np.append(A.rows.data, A.dtype.type(0))[slots]
    return not A.comm.allreduce(np.array([np.count_nonzero(values != expected)]))[0]


def mirror_upper(A: Matrix) -> None:
    """Copy the conjugates of the entries above the diagonal below it, and make the diagonal real, in place.

    As on one rank: an entry whose mirror image is not stored stays.
    """
    rows, columns, data = A.first + entry_rows(A), A.columns[A.rows.indices], A.rows.data
    slots, values = conjugate_mirrors(A, columns > rows)
    stored = slots >= 0
    data[slots[stored]] = values[stored]
    data[rows == columns] = data[rows == columns].real


def conjugate_mirrors(A: Matrix, chosen: Array) -> tuple[Array, Array]:
    """The conjugates of the chosen entries of all ranks, and the slots in own rows of their mirror images.

    The slot is -1 where the mirror image is not stored.
    """
    rows, columns = A.first + entry_rows(A), A.columns[A.rows.indices]
    own, values = A.rows.indices < A.n_local, A.rows.data.conj()
    inside, outside = chosen & own, chosen & ~own
    owners = owners_of(A.offsets, columns[outside])
    sent = send_to(A.comm, owners, columns[outside], rows[outside], values[outside])
    kept = columns[inside], rows[inside], values[inside]
    mirrored_rows, mirrored_columns, values = (np.concatenate(pair) for pair in zip(kept, sent, strict=True))
    keys = rows * A.shape[0] + columns  # ascending
    wanted = mirrored_rows * A.shape[0] + mirrored_columns
    found = np.searchsorted(keys, wanted)
    return np.where(np.append(keys, -1)[found] == wanted, found, -1), values
