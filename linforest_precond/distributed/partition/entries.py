"""Matrices over ranks from entries that any rank may have."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from linforest_precond.annotations import Array
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.distributed.partition.owners import owners_of, send_to


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
