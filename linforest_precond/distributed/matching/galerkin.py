"""The Galerkin product P^T A P over ranks, for the tentative prolongator P of aggregates."""

from __future__ import annotations

import numpy as np

from linforest_precond.annotations import Array
from linforest_precond.backends import backend_of
from linforest_precond.distributed.partition.entries import matrix_of_entries
from linforest_precond.distributed.partition.matrix import Matrix
from linforest_precond.distributed.partition.mirrors import entry_rows, mirrored_from_ranks, slots_of


def require_host(A: Matrix) -> None:
    """Refuse rows on a GPU; all ranks have theirs on the same kind of device."""
    if backend_of(A.rows.data).name != "cpu":
        raise TypeError("A must have its rows on the host, got those of CuPy; make the Matrix of rows.get()")


def coarse_matrix(A: Matrix, numbers: Array, offsets: Array) -> Matrix:
    """The product, with the bits of one rank; entries that sum to zero stay stored.

    `numbers` are the aggregates of the own unknowns, of which rank r owns ``offsets[r]:offsets[r + 1]``. An
    aggregate is owned by the rank of its lowest unknown, so its other members are of higher ranks. All
    entries are sent to the owners of their aggregates, where they arrive in the (row, column) order of A, and
    are summed in this order.
    """
    everywhere = np.concatenate([numbers, A.halo.fetch(numbers)])
    rows, columns = numbers[entry_rows(A)], everywhere[A.rows.indices]
    return matrix_of_entries(A.comm, offsets, rows, columns, A.rows.data)


def mirror_upper(A: Matrix) -> None:
    """Copy the conjugates of the entries above the diagonal below it, and make the diagonal real, in place.

    As on one rank: an entry whose mirror image is not stored stays.
    """
    rows, columns, data = A.first + entry_rows(A), A.columns[A.rows.indices], A.rows.data
    above, own = columns > rows, A.rows.indices < A.n_local
    conjugates = data.conj()
    local = above & own
    inside = A.rows.indices[local].astype(np.int64), rows[local], conjugates[local]
    outside = mirrored_from_ranks(A, conjugates, above)
    targets, others, values = (np.concatenate(pair) for pair in zip(inside, outside, strict=True))
    slots = slots_of(A, targets, others)
    stored = slots >= 0
    data[slots[stored]] = values[stored]
    data[rows == columns] = data[rows == columns].real


def is_hermitian(A: Matrix) -> bool:
    """Whether each entry is the conjugate of its mirror image; a zero may lack it."""
    rows, own, conjugates = entry_rows(A), A.rows.indices < A.n_local, A.rows.data.conj()
    inside = A.rows.indices[own].astype(np.int64), A.first + rows[own], conjugates[own]
    outside = mirrored_from_ranks(A, conjugates)
    targets, others, values = (np.concatenate(pair) for pair in zip(inside, outside, strict=True))
    slots = slots_of(A, targets, others)
    expected = np.append(A.rows.data, A.dtype.type(0))[slots]
    return not A.comm.allreduce(np.array([np.count_nonzero(values != expected)]))[0]
