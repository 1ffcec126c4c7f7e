"""The entries of a partitioned matrix's transpose that other ranks hold."""

from __future__ import annotations

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.distributed.partition.owners import owners_of, send_to


def entry_rows(A: Matrix) -> Array:
    """The local row of each stored entry."""
    return np.repeat(np.arange(A.n_local), np.diff(A.rows.indptr))


def mirrored_from_ranks(A: Matrix, values: Array, chosen: Array | None = None) -> tuple[Array, Array, Array]:
    """The mirror images, in own rows, of entries of other ranks' rows: local rows, global columns, values.

    `values` has one number for each stored entry. Of these, the `chosen` ones are sent, all by default.
    Of each row that they mirror, entries arrive in ascending order.
    """
    columns = A.columns[A.rows.indices]
    sent = A.rows.indices >= A.n_local
    sent = sent if chosen is None else sent & chosen
    owners = owners_of(A.offsets, columns[sent])
    rows, others, found = send_to(A.comm, owners, columns[sent], A.first + entry_rows(A)[sent], values[sent])
    return rows - A.first, others, found


def slots_of(A: Matrix, rows: Array, columns: Array) -> Array:
    """Where the entries (local row, global column) are stored; -1 for those that are not."""
    keys = entry_rows(A) * A.shape[0] + A.columns[A.rows.indices]  # ascending
    wanted = rows * A.shape[0] + columns
    found = np.searchsorted(keys, wanted)
    stored = np.append(keys, -1)[found] == wanted
    return np.where(stored, found, -1)
