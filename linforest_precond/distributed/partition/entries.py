"""Assembly of matrices on the host from entries of any rank, transposes, and tests for symmetry."""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
import scipy.sparse

from linforest_precond.backends.annotations import Array
from linforest_precond.distributed.partition import host, readonly
from linforest_precond.distributed.partition.chunk_sums import tree_sum
from linforest_precond.distributed.partition.communicator import Communicator
from linforest_precond.distributed.partition.matrix import Matrix, with_values
from linforest_precond.distributed.partition.owners import send_to_owners
from linforest_precond.matrix.checked import OVERFLOW_SCALE
from linforest_precond.records.forest import magnitudes_of

hermitian = host.matrix.hermitian
weigh_rows, words_of = host.matrix.entries.weigh_rows, host.matrix.entries.words_of


def entry_rows(A: Matrix) -> Array:
    """The local row of each stored entry."""
    return np.repeat(np.arange(A.n_local), np.diff(A.rows.indptr))


def matrix_of_entries(comm: Communicator, offsets: Array, rows: Array, columns: Array, data: Array) -> Matrix:
    """The square matrix of entries with global rows and columns, of which each rank has some.

    Rank r gets the rows ``offsets[r]:offsets[r + 1]``. Duplicates are summed in the order of the ranks that
    had them, then left to right. All ranks call it together.
    """
    rows, columns, data = send_to_owners(comm, offsets, rows, columns, data)
    rows -= offsets[comm.rank]
    count = int(offsets[comm.rank + 1] - offsets[comm.rank])
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
    parts = data[order], columns[order], indptr
    return Matrix(scipy.sparse.csr_array(parts, shape=(count, int(offsets[-1]))), comm)


def adjoint_of(A: Matrix) -> Matrix:
    """The conjugate transpose, with the same partition: collective."""
    return transpose_of(with_values(A, A.rows.data.conj()) if A.dtype.kind == "c" else A)


def transpose_of(A: Matrix) -> Matrix:
    """The transpose, with the same partition: collective."""
    columns = A.columns[A.rows.indices]
    return matrix_of_entries(A.comm, A.offsets, columns, A.first + entry_rows(A), A.rows.data)


def is_hermitian(A: Matrix) -> bool:
    """Whether each entry is the conjugate of its mirror image; a zero may lack it."""
    known = A.__dict__.get("_weights")
    if known is not None and known.symmetric and A.dtype.kind != "c":
        return True
    slots, values = conjugate_mirrors(A, np.ones(A.rows.nnz, bool))
    expected = np.append(A.rows.data, A.dtype.type(0))[slots]
    return not A.comm.total(np.count_nonzero(values != expected))


class EntryWeights(NamedTuple):
    """Symmetry and sums of the magnitudes of all ranks' entries, as in `matrix.checked.CheckedMatrix`."""

    symmetric: bool
    total_weight: float
    adjacent_weight: float
    scale: float


def weights_of(A: Matrix) -> EntryWeights:
    """The weights of a matrix: collective; those that `without_rounding` has found, where it made A."""
    known: EntryWeights | None = A.__dict__.get("_weights")
    if known is not None:
        return known
    indptr, columns, data = A.rows.indptr, A.rows.indices, A.rows.data
    weights = magnitudes_of(data) if data.dtype.kind == "c" else data
    return weights_of_rows(A.comm, A.columns, indptr, columns, weights)


def weights_of_rows(
    comm: Communicator, ids: Array, indptr: Array, columns: Array, weights: Array
) -> EntryWeights:
    """The weights of own rows whose columns have these ids: in float64, scaled where a sum would overflow."""
    off_diagonal, beside = np.empty_like(weights), np.empty_like(weights)
    words, without_sign = words_of(weights)
    arrays = map(readonly, (ids, indptr, columns, weights, words))
    balance = weigh_rows(*arrays, without_sign, off_diagonal, beside)
    symmetric = int(comm.allreduce(np.array([balance], np.uint64))[0]) == 0
    for scale in (1.0, OVERFLOW_SCALE):
        total = tree_sum(comm, off_diagonal, scale)
        if np.isfinite(2.0 * total):
            break
    return EntryWeights(symmetric, total, tree_sum(comm, beside, scale), scale)


def without_rounding(A: Matrix) -> Matrix:
    """A on the host with its weights; where it is Hermitian to rounding, exactly Hermitian values.

    Collective; the rule is that of one rank, in `hermitian` of the CPU backend.
    """
    A = A.on(host)
    weights = weights_of(A)
    exact = A if A.dtype.kind != "c" and weights.symmetric else _made_hermitian(A)
    found = copy.copy(exact)
    found.__dict__["_weights"] = weights if exact is A else weights_of(exact)
    return found


def _made_hermitian(A: Matrix) -> Matrix:
    rows, data = A.first + entry_rows(A), A.rows.data
    slots, values = conjugate_mirrors(A, np.ones(data.size, bool))
    stored, scales = slots >= 0, A.halo.with_ghosts(_row_scales(A))
    slots, expected = slots[stored], values[stored]
    here, there = scales[rows[slots] - A.first], scales[A.rows.indices[slots]]
    tolerance = hermitian.ULPS * float(np.finfo(data.dtype).eps)
    far = np.count_nonzero(values[~stored])
    far += hermitian.count_far(*map(readonly, (data[slots], expected.conj(), here, there)), tolerance)
    all_far, different = A.comm.totals(far, np.count_nonzero(data[slots] != expected))
    return A if all_far or not different else with_values(A, mirrored_upper(A))


def _row_scales(A: Matrix) -> Array:
    indptr, data, diagonal = A.rows.indptr, A.rows.data, A.diagonal()
    scales = np.empty(A.n_local)
    hermitian.find_scales(*map(readonly, (indptr, data, diagonal)), scales)
    return scales


def mirrored_upper(A: Matrix) -> Array:
    """The values with the conjugates of entries above the diagonal copied below it, and a real diagonal.

    As on one rank: an entry whose mirror image is not stored stays.
    """
    halo, indptr = A.halo, A.rows.indptr
    data = np.array(A.rows.data)
    # Ghosts have empty rows: the kernel leaves the entries in their columns as they are.
    of_ghosts = np.zeros(halo.lower, indptr.dtype), np.full(halo.ghosts.size - halo.lower, indptr[-1])
    indptr = np.concatenate([of_ghosts[0], indptr, of_ghosts[1]]).astype(indptr.dtype)
    hermitian.mirror_upper(indptr, ascending_columns(A), data)
    slots, values = conjugate_mirrors(A, A.rows.indices >= A.n_local + halo.lower)
    stored = slots >= 0
    data[slots[stored]] = values[stored]
    return data


def conjugate_mirrors(A: Matrix, chosen: Array) -> tuple[Array, Array]:
    """The conjugates of the chosen entries of all ranks, and the slots in own rows of their mirror images.

    The slot is -1 where the mirror image is not stored.
    """
    indices = A.rows.indices
    rows, columns = A.first + entry_rows(A), A.columns[indices]
    own, values = indices < A.n_local, A.rows.data.conj()
    inside, outside = chosen & own, chosen & ~own
    sent = send_to_owners(A.comm, A.offsets, columns[outside], rows[outside], values[outside])
    kept = columns[inside], rows[inside], values[inside]
    mirrored_rows, values = (np.concatenate([kept[i], sent[i]]) for i in (0, 2))
    slots = np.empty(values.size, np.int64)
    halo, indptr = A.halo, A.rows.indptr
    places = np.concatenate([kept[1] - (halo.first - halo.lower), halo.ascending_places(sent[1])])
    # An id without a column here gets the place -1.
    others = places[kept[1].size :]
    others[np.append(halo.ascending_ids, -1)[others] != sent[1]] = -1
    hermitian.find_entries(
        *map(readonly, (indptr, ascending_columns(A), mirrored_rows - A.first, places)), slots
    )
    return slots, values


def ascending_columns(A: Matrix) -> Array:
    """The places of the entries' columns in ascending order of their global ids."""
    halo, indices = A.halo, A.rows.indices
    if not halo.ghosts.size:
        return indices
    return halo.ascending_places(halo.ids).astype(indices.dtype)[indices]
